// Command v5 does the usual work of an administrator with the Go client library, major 5, against the sandbox at the base URL and with the
// token of its two arguments.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/okta/okta-sdk-golang/v5/okta"

	"github.com/scimwright/scimwright/internal/sandbox/clients/go/walk"
)

const password = "Correct-horse-7-battery"

// work is what the steps share.
type work struct {
	*walk.Walk
	ctx    context.Context
	client *okta.APIClient

	ada, ben, group, bookmark string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: v5 BASE-URL TOKEN")
		os.Exit(2)
	}
	configuration, err := okta.NewConfiguration(okta.WithOrgUrl(os.Args[1]), okta.WithToken(os.Args[2]),
		okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	base, err := url.Parse(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	configuration.Host = base.Host // the library drops the port of the URL
	ctx, cancel := context.WithTimeout(configuration.Context, 3*time.Minute)
	defer cancel()
	configuration.Context = ctx
	w := &work{Walk: walk.New(), ctx: ctx, client: okta.NewAPIClient(configuration)}
	w.users()
	w.passwords()
	w.groups()
	w.rules()
	w.types()
	w.applications()
	w.assignments()
	w.mappings()
	w.provisioning()
	w.logs()
	w.tokens()
	w.endings()
	os.Exit(w.End())
}

// told is an error with what the API has said: the library gives that apart from the error's text.
func told(err error) error {
	var api *okta.GenericOpenAPIError
	if errors.As(err, &api) {
		return fmt.Errorf("%w: %s", err, api.Body())
	}
	return err
}

// code is the error code of an answer.
func code(err error) string {
	var api *okta.GenericOpenAPIError
	if errors.As(err, &api) {
		if e, ok := api.Model().(okta.Error); ok {
			return e.GetErrorCode()
		}
	}
	return ""
}

func (w *work) create(login, first string, credentials *okta.UserCredentials, activate bool) (*okta.User, error) {
	u, _, err := w.client.UserAPI.CreateUser(w.ctx).Activate(activate).Body(okta.CreateUserRequest{
		Credentials: credentials,
		Profile: okta.UserProfile{
			Login: &login, Email: &login, FirstName: *okta.NewNullableString(&first), LastName: *okta.NewNullableString(new("Five")),
		},
	}).Execute()
	return u, err
}

func secret(value string) *okta.PasswordCredential { return &okta.PasswordCredential{Value: &value} }

func (w *work) status(id, want string) error {
	u, _, err := w.client.UserAPI.GetUser(w.ctx, id).Execute()
	if err != nil {
		return told(err)
	}
	return walk.Same("status", want, u.GetStatus())
}

// step is Step with what the API has said.
func (w *work) step(name string, do func() error) { w.Step(name, func() error { return told(do()) }) }

func (w *work) users() {
	api := w.client.UserAPI
	w.step("create a user with a password and a recovery question", func() error {
		u, err := w.create("ada@v5.example.com", "Ada", &okta.UserCredentials{
			Password:         secret(password),
			RecoveryQuestion: &okta.RecoveryQuestionCredential{Question: new("Where was it?"), Answer: new("by the old mill")},
		}, true)
		if err != nil {
			return err
		}
		w.ada = u.GetId()
		return w.status(w.ada, "ACTIVE")
	})
	w.step("create a staged user without credentials", func() error {
		u, err := w.create("ben@v5.example.com", "Ben", nil, false)
		if err != nil {
			return err
		}
		w.ben = u.GetId()
		return walk.Same("status", "STAGED", u.GetStatus())
	})
	w.step("create a user with an imported hash", func() error {
		_, err := w.create("hash@v5.example.com", "Hash", &okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
			Algorithm: new("BCRYPT"), WorkFactor: new(int32(10)), Salt: new("rwh3vH166HCH/NT9XV5FYu"), Value: new("qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna"),
		}}}, true)
		return err
	})
	w.step("refuse a login that is taken", func() error {
		_, err := w.create("ADA@v5.example.com", "Twice", nil, false)
		return walk.Same("code", "E0000001", code(err))
	})
	w.step("get a user by login", func() error {
		u, _, err := api.GetUser(w.ctx, "ada@v5.example.com").Execute()
		if err != nil {
			return err
		}
		return walk.Same("id", w.ada, u.GetId())
	})
	w.step("list users page by page", func() error {
		users, res, err := api.ListUsers(w.ctx).Limit(2).Execute()
		seen := map[string]bool{}
		for err == nil {
			for _, u := range users {
				if seen[u.GetId()] {
					return fmt.Errorf("%s twice", u.GetId())
				}
				seen[u.GetId()] = true
			}
			if !res.HasNextPage() {
				return walk.All(walk.Same("Ada is there", true, seen[w.ada]), walk.Same("several pages", true, len(seen) > 2))
			}
			users = nil
			res, err = res.Next(&users)
		}
		return err
	})
	for name, request := range map[string]okta.ApiListUsersRequest{
		"search for users": api.ListUsers(w.ctx).Search(`profile.lastName eq "five" and status eq "ACTIVE"`).SortBy("profile.login").SortOrder("desc"),
		"filter users":     api.ListUsers(w.ctx).Filter(`profile.login eq "ada@v5.example.com"`),
		"find users by q":  api.ListUsers(w.ctx).Q("ada"),
	} {
		w.step(name, func() error {
			users, _, err := request.Execute()
			if err != nil {
				return err
			}
			return walk.Same("Ada is there", true, slices.ContainsFunc(users, func(u okta.User) bool { return u.GetId() == w.ada }))
		})
	}
	w.step("replace a user as it was read", func() error {
		u, _, err := api.GetUser(w.ctx, w.ada).Execute()
		if err != nil {
			return err
		}
		u.Profile.SetNickName("Countess")
		replaced, _, err := api.ReplaceUser(w.ctx, w.ada).User(okta.User{Id: u.Id, Profile: u.Profile, Status: u.Status, Type: u.Type, Links: u.Links}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("nickName", "Countess", replaced.Profile.GetNickName())
	})
	w.step("update a part of a user", func() error {
		u, _, err := api.UpdateUser(w.ctx, w.ada).User(okta.UpdateUserRequest{Profile: &okta.UserProfile{Title: *okta.NewNullableString(new("Analyst"))}}).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("title", "Analyst", u.Profile.GetTitle()), walk.Same("nickName", "Countess", u.Profile.GetNickName()))
	})
	w.step("activate a user and get the token", func() error {
		token, _, err := api.ActivateUser(w.ctx, w.ben).SendEmail(false).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("there is a token", true, token.GetActivationToken() != ""), w.status(w.ben, "PROVISIONED"))
	})
	w.step("reactivate a user", func() error {
		token, _, err := api.ReactivateUser(w.ctx, w.ben).SendEmail(false).Execute()
		if err != nil {
			return err
		}
		return walk.Same("there is a token", true, token.GetActivationToken() != "")
	})
	w.step("suspend and unsuspend a user", func() error {
		if _, err := api.SuspendUser(w.ctx, w.ada).Execute(); err != nil {
			return err
		}
		if err := w.status(w.ada, "SUSPENDED"); err != nil {
			return err
		}
		if _, err := api.UnsuspendUser(w.ctx, w.ada).Execute(); err != nil {
			return err
		}
		return w.status(w.ada, "ACTIVE")
	})
	w.step("refuse to unlock a user who is not active", func() error {
		_, err := api.UnlockUser(w.ctx, w.ben).Execute()
		return walk.Same("code", "E0000032", code(err))
	})
	w.step("reset the factors of a user", func() error {
		_, err := api.ResetFactors(w.ctx, w.ada).Execute()
		return err
	})
	w.step("revoke the sessions of a user", func() error {
		_, err := api.RevokeUserSessions(w.ctx, w.ada).OauthTokens(true).Execute()
		return err
	})
	w.step("list the blocks of a user", func() error {
		_, _, err := api.ListUserBlocks(w.ctx, w.ada).Execute()
		return err
	})
	w.step("list the application links of a user", func() error {
		_, _, err := api.ListAppLinks(w.ctx, w.ada).Execute()
		return err
	})
	w.step("list the clients of a user", func() error {
		_, _, err := api.ListUserClients(w.ctx, w.ada).Execute()
		return err
	})
	w.step("list the grants of a user", func() error {
		_, _, err := api.ListUserGrants(w.ctx, w.ada).Execute()
		return err
	})
	w.step("get a user that is not there", func() error {
		_, _, err := api.GetUser(w.ctx, "nobody@v5.example.com").Execute()
		return walk.Same("code", "E0000007", code(err))
	})
}

func (w *work) passwords() {
	api := w.client.UserAPI
	w.step("change a password", func() error {
		_, _, err := api.ChangePassword(w.ctx, w.ada).ChangePasswordRequest(okta.ChangePasswordRequest{
			OldPassword: secret(password), NewPassword: secret(password + "-2"), RevokeSessions: new(true),
		}).Execute()
		return err
	})
	w.step("refuse to change a password with a wrong one", func() error {
		_, _, err := api.ChangePassword(w.ctx, w.ada).ChangePasswordRequest(okta.ChangePasswordRequest{
			OldPassword: secret("not it"), NewPassword: secret(password + "-3"),
		}).Execute()
		return walk.Same("code", "E0000014", code(err))
	})
	w.step("change a recovery question", func() error {
		c, _, err := api.ChangeRecoveryQuestion(w.ctx, w.ada).UserCredentials(okta.UserCredentials{
			Password:         secret(password + "-2"),
			RecoveryQuestion: &okta.RecoveryQuestionCredential{Question: new("Which bird?"), Answer: new("a grey heron")},
		}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("question", "Which bird?", c.RecoveryQuestion.GetQuestion())
	})
	w.step("forgot the password: a link", func() error {
		f, _, err := api.ForgotPassword(w.ctx, w.ada).SendEmail(false).Execute()
		if err != nil {
			return err
		}
		return walk.Same("there is a link", true, f.GetResetPasswordUrl() != "")
	})
	w.step("forgot the password: answer the question", func() error {
		_, _, err := api.ForgotPasswordSetNewPassword(w.ctx, w.ada).UserCredentials(okta.UserCredentials{
			Password: secret(password + "-4"), RecoveryQuestion: &okta.RecoveryQuestionCredential{Answer: new("a grey heron")},
		}).Execute()
		return err
	})
	w.step("reset a password", func() error {
		r, _, err := api.GenerateResetPasswordToken(w.ctx, w.ada).SendEmail(false).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("there is a link", true, r.GetResetPasswordUrl() != ""), w.status(w.ada, "RECOVERY"))
	})
	w.step("set a password with an update", func() error {
		_, _, err := api.UpdateUser(w.ctx, w.ada).User(okta.UpdateUserRequest{Credentials: &okta.UserCredentials{Password: secret(password + "-5")}}).Execute()
		return err
	})
	w.step("expire passwords", func() error {
		u, err := w.create("late@v5.example.com", "Late", &okta.UserCredentials{Password: secret(password)}, true)
		if err != nil {
			return err
		}
		u, _, err = api.ExpirePassword(w.ctx, u.GetId()).Execute()
		if err != nil {
			return err
		}
		if err := walk.Same("status", "PASSWORD_EXPIRED", u.GetStatus()); err != nil {
			return err
		}
		temp, _, err := api.ExpirePasswordAndGetTemporaryPassword(w.ctx, u.GetId()).Execute()
		if err != nil {
			return err
		}
		return walk.Same("there is a password", true, temp.GetTempPassword() != "")
	})
}

func (w *work) groups() {
	api := w.client.GroupAPI
	named := func(name string) okta.Group {
		return okta.Group{Profile: &okta.GroupProfile{Name: &name, Description: new("count")}}
	}
	w.step("create, read and replace a group", func() error {
		g, _, err := api.CreateGroup(w.ctx).Group(named("Analysts of v5")).Execute()
		if err != nil {
			return err
		}
		w.group = g.GetId()
		if g, _, err = api.GetGroup(w.ctx, w.group).Execute(); err != nil {
			return err
		}
		if err := walk.Same("name", "Analysts of v5", g.Profile.GetName()); err != nil {
			return err
		}
		_, _, err = api.ReplaceGroup(w.ctx, w.group).Group(named("Counters of v5")).Execute()
		return err
	})
	w.step("list groups page by page", func() error {
		groups, res, err := api.ListGroups(w.ctx).Limit(1).Execute()
		n := 0
		for err == nil {
			n += len(groups)
			if !res.HasNextPage() {
				return walk.Same("several pages", true, n > 1)
			}
			groups = nil
			res, err = res.Next(&groups)
		}
		return err
	})
	w.step("find groups by q, search and filter", func() error {
		for name, request := range map[string]okta.ApiListGroupsRequest{
			"q":      api.ListGroups(w.ctx).Q("Counters of v5"),
			"search": api.ListGroups(w.ctx).Search(`profile.name eq "Counters of v5"`).SortBy("created").SortOrder("asc"),
			"filter": api.ListGroups(w.ctx).Filter(`id eq "` + w.group + `"`),
		} {
			found, _, err := request.Execute()
			if err == nil {
				err = walk.Same("groups", 1, len(found))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	w.step("add members to a group, list them, remove one", func() error {
		for _, u := range []string{w.ada, w.ben} {
			if _, err := api.AssignUserToGroup(w.ctx, w.group, u).Execute(); err != nil {
				return err
			}
		}
		members, res, err := api.ListGroupUsers(w.ctx, w.group).Limit(1).Execute()
		if err != nil {
			return err
		}
		var more []okta.GroupMember
		if _, err := res.Next(&more); err != nil {
			return err
		}
		if err := walk.Same("members", 2, len(members)+len(more)); err != nil {
			return err
		}
		_, err = api.UnassignUserFromGroup(w.ctx, w.group, w.ben).Execute()
		return err
	})
	w.step("list the groups of a user", func() error {
		groups, _, err := w.client.UserAPI.ListUserGroups(w.ctx, w.ada).Execute()
		if err != nil {
			return err
		}
		return walk.Same("groups", 2, len(groups))
	})
	w.step("add, list and remove an owner of a group", func() error {
		owners := w.client.GroupOwnerAPI
		o, _, err := owners.AssignGroupOwner(w.ctx, w.group).AssignGroupOwnerRequestBody(okta.AssignGroupOwnerRequestBody{Id: &w.ada, Type: new("USER")}).Execute()
		if err != nil {
			return err
		}
		all, _, err := owners.ListGroupOwners(w.ctx, w.group).Execute()
		if err != nil {
			return err
		}
		if err := walk.Same("owners", 1, len(all)); err != nil {
			return err
		}
		_, err = owners.DeleteGroupOwner(w.ctx, w.group, o.GetId()).Execute()
		return err
	})
	w.step("read and change the schema of groups", func() error {
		schema, _, err := w.client.SchemaAPI.GetGroupSchema(w.ctx).Execute()
		if err != nil {
			return err
		}
		schema.Definitions.Custom.Properties = &map[string]okta.GroupSchemaAttribute{"costCenterV5": {Title: new("Cost center"), Type: new("string")}}
		_, _, err = w.client.SchemaAPI.UpdateGroupSchema(w.ctx).GroupSchema(*schema).Execute()
		return err
	})
}

func (w *work) rules() {
	api := w.client.GroupAPI
	var rule *okta.GroupRule
	w.step("create and replace a group rule", func() (err error) {
		rule, _, err = api.CreateGroupRule(w.ctx).GroupRule(okta.GroupRule{
			Type: new("group_rule"), Name: new("Five of v5"),
			Conditions: &okta.GroupRuleConditions{Expression: &okta.GroupRuleExpression{Type: new("urn:svc:expression:1.0"), Value: new(`user.lastName=="Five"`)}},
			Actions:    &okta.GroupRuleAction{AssignUserToGroups: &okta.GroupRuleGroupAssignment{GroupIds: []string{w.group}}},
		}).Execute()
		if err != nil {
			return err
		}
		rule.SetName("Five of major 5")
		rule, _, err = api.ReplaceGroupRule(w.ctx, rule.GetId()).GroupRule(*rule).Execute()
		return err
	})
	w.step("activate, list, read, deactivate and delete a group rule", func() error {
		if _, err := api.ActivateGroupRule(w.ctx, rule.GetId()).Execute(); err != nil {
			return err
		}
		rules, _, err := api.ListGroupRules(w.ctx).Search("Five of").Expand("groupIdToGroupNameMap").Execute()
		if err != nil {
			return err
		}
		one, _, err := api.GetGroupRule(w.ctx, rule.GetId()).Execute()
		if err != nil {
			return err
		}
		if err := walk.All(walk.Same("rules", 1, len(rules)), walk.Same("status", "ACTIVE", one.GetStatus())); err != nil {
			return err
		}
		if _, err := api.DeactivateGroupRule(w.ctx, rule.GetId()).Execute(); err != nil {
			return err
		}
		_, err = api.DeleteGroupRule(w.ctx, rule.GetId()).RemoveUsers(true).Execute()
		return err
	})
	w.step("members that a rule has brought are gone with it", func() error {
		members, _, err := api.ListGroupUsers(w.ctx, w.group).Execute()
		if err != nil {
			return err
		}
		return walk.Same("members", 1, len(members))
	})
}

func (w *work) types() {
	types, schemas := w.client.UserTypeAPI, w.client.SchemaAPI
	kind := ""
	w.step("create, list, read, change and replace user types", func() error {
		// This major knows no member of a type but its id; the others go as what it does not know.
		t, _, err := types.CreateUserType(w.ctx).UserType(okta.UserType{AdditionalProperties: map[string]any{
			"name": "guestV5", "displayName": "Guest", "description": "comes and goes",
		}}).Execute()
		if err != nil {
			return err
		}
		kind = t.GetId()
		all, _, err := types.ListUserTypes(w.ctx).Execute()
		if err != nil {
			return err
		}
		if _, _, err = types.GetUserType(w.ctx, kind).Execute(); err != nil {
			return err
		}
		if _, _, err = types.UpdateUserType(w.ctx, kind).UserType(okta.UserTypePostRequest{DisplayName: new("Visitor")}).Execute(); err != nil {
			return err
		}
		t, _, err = types.ReplaceUserType(w.ctx, kind).UserType(okta.UserTypePutRequest{Name: "guestV5", DisplayName: "Visitor", Description: "seldom"}).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("types", true, len(all) > 1), walk.Same[any]("description", "seldom", t.AdditionalProperties["description"]))
	})
	w.step("read and change the schema of users", func() error {
		if _, _, err := schemas.GetUserSchema(w.ctx, "default").Execute(); err != nil {
			return err
		}
		schema, _, err := schemas.UpdateUserProfile(w.ctx, "default").UserSchema(okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: new("#custom"), Type: new("object"), Properties: &map[string]okta.UserSchemaAttribute{
				"badgeV5": {
					Title: new("Badge"), Type: new("string"), MinLength: *okta.NewNullableInt32(new(int32(1))), MaxLength: *okta.NewNullableInt32(new(int32(20))),
					Permissions: []okta.UserSchemaAttributePermission{{Principal: new("SELF"), Action: new("READ_WRITE")}},
				},
			},
		}}}).Execute()
		if err != nil {
			return err
		}
		_, there := (*schema.Definitions.Custom.Properties)["badgeV5"]
		return walk.Same("the attribute is there", true, there)
	})
	w.step("give a user a custom attribute", func() error {
		u, _, err := w.client.UserAPI.UpdateUser(w.ctx, w.ada).User(okta.UpdateUserRequest{Profile: &okta.UserProfile{
			AdditionalProperties: map[string]any{"badgeV5": "A-1"},
		}}).Execute()
		if err != nil {
			return err
		}
		return walk.Same[any]("badge", "A-1", u.Profile.AdditionalProperties["badgeV5"])
	})
	w.step("delete a user type", func() error {
		_, err := types.DeleteUserType(w.ctx, kind).Execute()
		return err
	})
}

func (w *work) applications() {
	api := w.client.ApplicationAPI
	head := func(mode, label string) okta.Application { return okta.Application{SignOnMode: mode, Label: label} }
	type app = okta.ListApplications200ResponseInner
	for _, a := range []struct {
		name string
		app  app
		id   func(*app) string
	}{
		{"bookmark", app{BookmarkApplication: &okta.BookmarkApplication{
			Application: head("BOOKMARK", "Bookmark of v5"), Name: "bookmark",
			Settings: okta.BookmarkApplicationSettings{App: &okta.BookmarkApplicationSettingsApplication{
				RequestIntegration: new(false), Url: new("https://example.com/bookmark.htm"),
			}},
		}}, func(a *app) string { return a.BookmarkApplication.GetId() }},
		{"basic", app{BasicAuthApplication: &okta.BasicAuthApplication{
			Application: head("BASIC_AUTH", "Basic of v5"), Name: "template_basic_auth",
			Settings: okta.BasicApplicationSettings{App: &okta.BasicApplicationSettingsApplication{
				AuthURL: new("https://example.com/auth.html"), Url: new("https://example.com/login.html"),
			}},
		}}, func(a *app) string { return a.BasicAuthApplication.GetId() }},
		{"SWA", app{BrowserPluginApplication: &okta.BrowserPluginApplication{
			Application: head("BROWSER_PLUGIN", "SWA of v5"), Name: "template_swa",
			Settings: okta.SwaApplicationSettings{App: &okta.SwaApplicationSettingsApplication{
				ButtonField: new("btn-login"), PasswordField: new("txtbox-password"), UsernameField: new("txtbox-username"), Url: new("https://example.com/login.html"),
			}},
		}}, func(a *app) string { return a.BrowserPluginApplication.GetId() }},
		{"password store", app{SecurePasswordStoreApplication: &okta.SecurePasswordStoreApplication{
			Application: head("SECURE_PASSWORD_STORE", "Store of v5"), Name: "template_sps",
			Settings: okta.SecurePasswordStoreApplicationSettings{App: &okta.SecurePasswordStoreApplicationSettingsApplication{
				Url: new("https://example.com/login.html"), UsernameField: new("#user"), PasswordField: new("#pw"),
			}},
		}}, func(a *app) string { return a.SecurePasswordStoreApplication.GetId() }},
		{"auto login", app{AutoLoginApplication: &okta.AutoLoginApplication{
			Application: head("AUTO_LOGIN", "Auto of v5"),
			Settings: &okta.AutoLoginApplicationSettings{SignOn: &okta.AutoLoginApplicationSettingsSignOn{
				LoginUrl: new("https://example.com/login"), RedirectUrl: new("https://example.com/home"),
			}},
		}}, func(a *app) string { return a.AutoLoginApplication.GetId() }},
		{"SAML", app{SamlApplication: &okta.SamlApplication{
			Application: head("SAML_2_0", "SAML of v5"),
			Settings: &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
				SsoAcsUrl: new("https://example.com/acs"), Recipient: new("https://example.com/acs"), Destination: new("https://example.com/acs"), Audience: new("urn:example:sp"),
				IdpIssuer: new("http://example.com/${org.externalKey}"), SubjectNameIdTemplate: new("${user.userName}"),
				SubjectNameIdFormat: new("urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"), ResponseSigned: new(true), AssertionSigned: new(true),
				SignatureAlgorithm: new("RSA_SHA256"), DigestAlgorithm: new("SHA256"), HonorForceAuthn: new(true),
				AuthnContextClassRef: new("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"),
			}},
		}}, func(a *app) string { return a.SamlApplication.GetId() }},
		{"OIDC", app{OpenIdConnectApplication: &okta.OpenIdConnectApplication{
			Application: head("OPENID_CONNECT", "OIDC of v5"), Name: "oidc_client",
			Credentials: okta.OAuthApplicationCredentials{OauthClient: &okta.ApplicationCredentialsOAuthClient{
				AutoKeyRotation: new(true), TokenEndpointAuthMethod: new("client_secret_post"),
			}},
			Settings: okta.OpenIdConnectApplicationSettings{OauthClient: &okta.OpenIdConnectApplicationSettingsClient{
				ApplicationType: new("web"), ClientUri: new("https://example.com"), RedirectUris: []string{"https://example.com/callback"},
				ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code", "refresh_token"},
			}},
		}}, func(a *app) string { return a.OpenIdConnectApplication.GetId() }},
	} {
		w.step("create, read and write back an application: "+a.name, func() error {
			created, _, err := api.CreateApplication(w.ctx).Application(a.app).Activate(true).Execute()
			if err != nil {
				return err
			}
			id := a.id(created)
			read, _, err := api.GetApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			if _, _, err := api.ReplaceApplication(w.ctx, id).Application(*read).Execute(); err != nil {
				return fmt.Errorf("writing back: %w", told(err))
			}
			if a.name == "bookmark" {
				w.bookmark = id
				return nil
			}
			if _, err := api.DeactivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := api.ActivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("activating: %w", err)
			}
			if _, err := api.DeactivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := api.DeleteApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deleting: %w", err)
			}
			return nil
		})
	}
	w.step("list applications page by page", func() error {
		apps, res, err := api.ListApplications(w.ctx).Limit(1).Execute()
		n := 0
		for err == nil {
			n += len(apps)
			if !res.HasNextPage() {
				return walk.Same("several pages", true, n > 1)
			}
			apps = nil
			res, err = res.Next(&apps)
		}
		return err
	})
	w.step("filter applications", func() error {
		apps, _, err := api.ListApplications(w.ctx).Filter(`name eq "bookmark"`).Execute()
		if err != nil {
			return err
		}
		found, _, err := api.ListApplications(w.ctx).Q("Bookmark of").Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("by filter", 1, len(apps)), walk.Same("by q", 1, len(found)))
	})
	w.step("read and make keys of an application", func() error {
		created, _, err := api.CreateApplication(w.ctx).Application(app{SamlApplication: &okta.SamlApplication{
			Application: head("SAML_2_0", "SAML with keys of v5"),
			Settings: &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
				SsoAcsUrl: new("https://example.com/acs"), Recipient: new("https://example.com/acs"), Destination: new("https://example.com/acs"), Audience: new("urn:example:sp"),
				SubjectNameIdTemplate: new("${user.userName}"), SubjectNameIdFormat: new("urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"),
				ResponseSigned: new(true), AssertionSigned: new(true), SignatureAlgorithm: new("RSA_SHA256"), DigestAlgorithm: new("SHA256"),
				HonorForceAuthn: new(true), AuthnContextClassRef: new("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"),
			}},
		}}).Execute()
		if err != nil {
			return err
		}
		id := created.SamlApplication.GetId()
		key, _, err := w.client.ApplicationCredentialsAPI.GenerateApplicationKey(w.ctx, id).ValidityYears(3).Execute()
		if err != nil {
			return fmt.Errorf("making: %w", err)
		}
		keys, _, err := w.client.ApplicationCredentialsAPI.ListApplicationKeys(w.ctx, id).Execute()
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.All(walk.Same("there is a kid", true, key.GetKid() != ""), walk.Same("keys", 2, len(keys)))
	})
}

func (w *work) assignments() {
	users, groups := w.client.ApplicationUsersAPI, w.client.ApplicationGroupsAPI
	w.step("assign a user to an application", func() error {
		a, _, err := users.AssignUserToApplication(w.ctx, w.bookmark).AppUser(okta.AppUserAssignRequest{Id: w.ben, Scope: new("USER")}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("id", w.ben, a.GetId())
	})
	w.step("read, update and list the users of an application", func() error {
		if _, _, err := users.GetApplicationUser(w.ctx, w.bookmark, w.ben).Expand("user").Execute(); err != nil {
			return err
		}
		a, _, err := users.UpdateApplicationUser(w.ctx, w.bookmark, w.ben).AppUser(okta.AppUserUpdateRequest{
			AppUserCredentialsRequestPayload: &okta.AppUserCredentialsRequestPayload{Credentials: &okta.AppUserCredentials{UserName: new("benny")}},
		}).Execute()
		if err != nil {
			return fmt.Errorf("updating: %w", err)
		}
		all, _, err := users.ListApplicationUsers(w.ctx, w.bookmark).Execute()
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.All(walk.Same("userName", "benny", a.Credentials.GetUserName()), walk.Same("users", 1, len(all)))
	})
	w.step("assign a group without a body, and with a priority", func() error {
		if _, _, err := groups.AssignGroupToApplication(w.ctx, w.bookmark, w.group).Execute(); err != nil {
			return err
		}
		a, _, err := groups.AssignGroupToApplication(w.ctx, w.bookmark, w.group).ApplicationGroupAssignment(okta.ApplicationGroupAssignment{Priority: new(int32(3))}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("id", w.group, a.GetId())
	})
	w.step("read and list the groups of an application", func() error {
		if _, _, err := groups.GetApplicationGroupAssignment(w.ctx, w.bookmark, w.group).Execute(); err != nil {
			return err
		}
		all, _, err := groups.ListApplicationGroupAssignments(w.ctx, w.bookmark).Execute()
		if err != nil {
			return err
		}
		apps, _, err := w.client.GroupAPI.ListAssignedApplicationsForGroup(w.ctx, w.group).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("groups", 1, len(all)), walk.Same("applications", 1, len(apps)))
	})
	w.step("a member of the group has the application", func() error {
		a, _, err := users.GetApplicationUser(w.ctx, w.bookmark, w.ada).Execute()
		if err != nil {
			return err
		}
		return walk.Same("scope", "GROUP", a.GetScope())
	})
	w.step("take the assignments away", func() error {
		if _, err := users.UnassignUserFromApplication(w.ctx, w.bookmark, w.ben).SendEmail(false).Execute(); err != nil {
			return err
		}
		_, err := groups.UnassignApplicationFromGroup(w.ctx, w.bookmark, w.group).Execute()
		return err
	})
	w.step("read and change the schema of an application", func() error {
		if _, _, err := w.client.SchemaAPI.GetApplicationUserSchema(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		schema, _, err := w.client.SchemaAPI.UpdateApplicationUserProfile(w.ctx, w.bookmark).Body(okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: new("#custom"), Type: new("object"), Properties: &map[string]okta.UserSchemaAttribute{"shoeV5": {Title: new("Shoe"), Type: new("string")}},
		}}}).Execute()
		if err != nil {
			return err
		}
		_, there := (*schema.Definitions.Custom.Properties)["shoeV5"]
		return walk.Same("the attribute is there", true, there)
	})
}

func (w *work) mappings() {
	w.step("list, read and change a profile mapping", func() error {
		api := w.client.ProfileMappingAPI
		all, _, err := api.ListProfileMappings(w.ctx).SourceId(w.bookmark).Execute()
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("no mapping of %s", w.bookmark)
		}
		if _, _, err := api.GetProfileMapping(w.ctx, all[0].GetId()).Execute(); err != nil {
			return err
		}
		_, _, err = api.UpdateProfileMapping(w.ctx, all[0].GetId()).ProfileMapping(okta.ProfileMappingRequest{Properties: map[string]okta.ProfileMappingProperty{
			"nickName": {Expression: new("appuser.userName"), PushStatus: new("PUSH")},
		}}).Execute()
		return err
	})
}

func (w *work) provisioning() {
	w.step("read the connection and the features of an application that has them", func() error {
		apps, _, err := w.client.ApplicationAPI.ListApplications(w.ctx).Limit(200).Execute()
		if err != nil {
			return err
		}
		for _, a := range apps {
			if a.SamlApplication == nil || len(a.SamlApplication.Features) == 0 {
				continue
			}
			id := a.SamlApplication.GetId()
			c, _, err := w.client.ApplicationConnectionsAPI.GetDefaultProvisioningConnectionForApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("connection: %w", err)
			}
			features, _, err := w.client.ApplicationFeaturesAPI.ListFeaturesForApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("features: %w", err)
			}
			for _, f := range features {
				if p := f.UserProvisioningApplicationFeature; p != nil {
					if _, _, err := w.client.ApplicationFeaturesAPI.UpdateFeatureForApplication(w.ctx, id, "USER_PROVISIONING").UpdateFeatureForApplicationRequest(
						okta.UpdateFeatureForApplicationRequest{CapabilitiesObject: p.Capabilities}).Execute(); err != nil {
						return fmt.Errorf("writing the feature back: %w", err)
					}
					return walk.Same("connection", "ENABLED", c.GetStatus())
				}
			}
			return fmt.Errorf("none of %d features provisions", len(features))
		}
		return fmt.Errorf("none of %d applications has features", len(apps))
	})
}

func (w *work) logs() {
	api := w.client.SystemLogAPI
	w.step("read the log page by page", func() error {
		events, res, err := api.ListLogEvents(w.ctx).Since(time.Now().Add(-time.Hour).UTC()).Until(time.Now().Add(time.Hour).UTC()).Limit(20).Execute()
		pages := 0
		for err == nil {
			pages++
			for _, e := range events {
				if e.Published == nil || e.GetEventType() == "" || e.Actor == nil {
					return fmt.Errorf("an event without a time, a type or an actor: %+v", e)
				}
			}
			if !res.HasNextPage() {
				return walk.Same("several pages", true, pages > 1)
			}
			events = nil
			res, err = res.Next(&events)
		}
		return err
	})
	w.step("filter the log", func() error {
		events, _, err := api.ListLogEvents(w.ctx).Filter(`eventType eq "user.lifecycle.create" and target.id eq "` + w.ada + `"`).Execute()
		if err != nil {
			return err
		}
		return walk.Same("events", 1, len(events))
	})
}

func (w *work) tokens() {
	w.step("list and read API tokens", func() error {
		tokens, _, err := w.client.ApiTokenAPI.ListApiTokens(w.ctx).Execute()
		if err != nil {
			return err
		}
		if len(tokens) == 0 {
			return errors.New("there is none")
		}
		_, _, err = w.client.ApiTokenAPI.GetApiToken(w.ctx, tokens[0].GetId()).Execute()
		return err
	})
}

func (w *work) endings() {
	w.step("delete what there is", func() error {
		if _, err := w.client.GroupAPI.DeleteGroup(w.ctx, w.group).Execute(); err != nil {
			return err
		}
		if _, err := w.client.ApplicationAPI.DeactivateApplication(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		if _, err := w.client.ApplicationAPI.DeleteApplication(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		for _, u := range []string{w.ada, w.ben} {
			if _, err := w.client.UserAPI.DeactivateUser(w.ctx, u).Execute(); err != nil {
				return err
			}
			if err := w.status(u, "DEPROVISIONED"); err != nil {
				return err
			}
			if _, err := w.client.UserAPI.DeleteUser(w.ctx, u).Execute(); err != nil {
				return err
			}
		}
		return nil
	})
}
