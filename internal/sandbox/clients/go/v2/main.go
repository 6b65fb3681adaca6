// Command v2 does the usual work of an administrator with the Go client library, major 2, against the sandbox at the base URL and with the
// token of its two arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/okta/okta-sdk-golang/v2/okta/query"

	"github.com/scimwright/scimwright/internal/sandbox/clients/go/walk"
)

const password = "Correct-horse-7-battery"

// work is what the steps share.
type work struct {
	*walk.Walk
	ctx    context.Context
	client *okta.Client

	ada, ben *okta.User
	group    *okta.Group
	bookmark string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: v2 BASE-URL TOKEN")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ctx, client, err := okta.NewClient(ctx, okta.WithOrgUrl(os.Args[1]), okta.WithToken(os.Args[2]),
		okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	w := &work{Walk: walk.New(), ctx: ctx, client: client}
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
	w.endings()
	os.Exit(w.End())
}

func profile(login, first, last string) *okta.UserProfile {
	return &okta.UserProfile{"login": login, "email": login, "firstName": first, "lastName": last}
}

func (w *work) create(login, first, last string, credentials *okta.UserCredentials, activate bool) (*okta.User, error) {
	u, _, err := w.client.User.CreateUser(w.ctx, okta.CreateUserRequest{Profile: profile(login, first, last), Credentials: credentials},
		query.NewQueryParams(query.WithActivate(activate)))
	return u, err
}

func (w *work) status(id, want string) error {
	u, _, err := w.client.User.GetUser(w.ctx, id)
	if err != nil {
		return err
	}
	return walk.Same("status", want, u.Status)
}

func (w *work) users() {
	w.Step("create a user with a password and a recovery question", func() (err error) {
		w.ada, err = w.create("ada@v2.example.com", "Ada", "Two", &okta.UserCredentials{
			Password:         &okta.PasswordCredential{Value: password},
			RecoveryQuestion: &okta.RecoveryQuestionCredential{Question: "Where was it?", Answer: "by the old mill"},
		}, true)
		if err != nil {
			return err
		}
		return w.status(w.ada.Id, "ACTIVE")
	})
	w.Step("create a staged user without credentials", func() (err error) {
		w.ben, err = w.create("ben@v2.example.com", "Ben", "Two", nil, false)
		if err != nil {
			return err
		}
		return walk.Same("status", "STAGED", w.ben.Status)
	})
	w.Step("create users with imported hashes", func() error {
		_, err := w.create("hash@v2.example.com", "Hash", "Two", &okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
			Algorithm: "BCRYPT", WorkFactorPtr: okta.Int64Ptr(10), Salt: "rwh3vH166HCH/NT9XV5FYu", Value: "qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna",
		}}}, true)
		if err != nil {
			return err
		}
		_, err = w.create("sha@v2.example.com", "Sha", "Two", &okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
			Algorithm: "SHA-256", Salt: "UEO3wsAsgzQ=", SaltOrder: "PREFIX", Value: "xjrauE6J6kbjcvMjWSSc+PsBBls8Pdy5uPL5XbSRnSg=",
		}}}, true)
		return err
	})
	w.Step("create a user of an identity provider elsewhere", func() error {
		u, _, err := w.client.User.CreateUser(w.ctx, okta.CreateUserRequest{Profile: profile("fed@v2.example.com", "Fed", "Two"),
			Credentials: &okta.UserCredentials{Provider: &okta.AuthenticationProvider{Type: "FEDERATION", Name: "FEDERATION"}}},
			query.NewQueryParams(query.WithActivate(true), query.WithProvider(true)))
		if err != nil {
			return err
		}
		return w.status(u.Id, "ACTIVE")
	})
	w.Step("refuse a login that is taken", func() error {
		_, err := w.create("ADA@v2.example.com", "Ada", "Twice", nil, false)
		e, ok := err.(*okta.Error)
		if !ok {
			return fmt.Errorf("%T: %w", err, err)
		}
		return walk.All(walk.Same("code", "E0000001", e.ErrorCode), walk.Same("causes", 1, len(e.ErrorCauses)))
	})
	w.Step("get a user by login", func() error {
		u, _, err := w.client.User.GetUser(w.ctx, "ada@v2.example.com")
		if err != nil {
			return err
		}
		return walk.Same("id", w.ada.Id, u.Id)
	})
	w.Step("list users page by page", func() error {
		users, res, err := w.client.User.ListUsers(w.ctx, query.NewQueryParams(query.WithLimit(2)))
		seen := map[string]bool{}
		for err == nil {
			for _, u := range users {
				if seen[u.Id] {
					return fmt.Errorf("%s twice", u.Id)
				}
				seen[u.Id] = true
			}
			if !res.HasNextPage() {
				return walk.All(walk.Same("Ada is there", true, seen[w.ada.Id]), walk.Same("several pages", true, len(seen) > 2))
			}
			users = nil
			res, err = res.Next(w.ctx, &users)
		}
		return err
	})
	for name, params := range map[string]*query.Params{
		"search for users": query.NewQueryParams(query.WithSearch(`profile.lastName eq "two" and status eq "ACTIVE"`), query.WithSortBy("profile.login"), query.WithSortOrder("desc")),
		"filter users":     query.NewQueryParams(query.WithFilter(`profile.login eq "ada@v2.example.com"`)),
		"find users by q":  query.NewQueryParams(query.WithQ("ada")),
	} {
		w.Step(name, func() error {
			users, _, err := w.client.User.ListUsers(w.ctx, params)
			if err != nil {
				return err
			}
			return walk.Same("Ada is there", true, slices.ContainsFunc(users, func(u *okta.User) bool { return u.Id == w.ada.Id }))
		})
	}
	w.Step("update a user as it was read", func() error {
		(*w.ada.Profile)["nickName"] = "Countess"
		(*w.ada.Profile)["mobilePhone"] = "+49 30 555 0100"
		u, _, err := w.client.User.UpdateUser(w.ctx, w.ada.Id, okta.User{Profile: w.ada.Profile}, nil)
		if err != nil {
			return err
		}
		return walk.Same[any]("nickName", "Countess", (*u.Profile)["nickName"])
	})
	w.Step("update the whole user that was read", func() error {
		u, _, err := w.client.User.GetUser(w.ctx, w.ada.Id)
		if err != nil {
			return err
		}
		u.Credentials = nil
		u, _, err = w.client.User.UpdateUser(w.ctx, u.Id, *u, nil)
		if err != nil {
			return err
		}
		return walk.Same[any]("nickName", "Countess", (*u.Profile)["nickName"])
	})
	w.Step("update the whole user that was read, its credentials too", func() error {
		u, _, err := w.client.User.GetUser(w.ctx, w.ben.Id)
		if err != nil {
			return err
		}
		_, _, err = w.client.User.UpdateUser(w.ctx, u.Id, *u, nil)
		return err
	})
	w.Step("update a part of a user", func() error {
		u, _, err := w.client.User.PartialUpdateUser(w.ctx, w.ada.Id, okta.User{Profile: &okta.UserProfile{"title": "Analyst"}}, nil)
		if err != nil {
			return err
		}
		return walk.All(walk.Same[any]("title", "Analyst", (*u.Profile)["title"]), walk.Same[any]("nickName", "Countess", (*u.Profile)["nickName"]))
	})
	w.Step("activate a user and get the token", func() error {
		token, _, err := w.client.User.ActivateUser(w.ctx, w.ben.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("there is a token", true, token.ActivationToken != "" && token.ActivationUrl != ""), w.status(w.ben.Id, "PROVISIONED"))
	})
	w.Step("reactivate a user", func() error {
		token, _, err := w.client.User.ReactivateUser(w.ctx, w.ben.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.Same("there is a token", true, token.ActivationToken != "")
	})
	w.Step("suspend and unsuspend a user", func() error {
		_, err := w.client.User.SuspendUser(w.ctx, w.ada.Id)
		if err != nil {
			return err
		}
		if err := w.status(w.ada.Id, "SUSPENDED"); err != nil {
			return err
		}
		if _, err = w.client.User.UnsuspendUser(w.ctx, w.ada.Id); err != nil {
			return err
		}
		return w.status(w.ada.Id, "ACTIVE")
	})
	w.Step("reset the factors of a user", func() error {
		_, err := w.client.User.ResetFactors(w.ctx, w.ada.Id)
		return err
	})
	w.Step("clear the sessions of a user", func() error {
		_, err := w.client.User.ClearUserSessions(w.ctx, w.ada.Id, nil)
		return err
	})
	w.Step("list what a user has: links, clients, grants", func() error {
		if _, _, err := w.client.User.ListAppLinks(w.ctx, w.ada.Id); err != nil {
			return fmt.Errorf("links: %w", err)
		}
		if _, _, err := w.client.User.ListUserClients(w.ctx, w.ada.Id); err != nil {
			return fmt.Errorf("clients: %w", err)
		}
		if _, _, err := w.client.User.ListUserGrants(w.ctx, w.ada.Id, nil); err != nil {
			return fmt.Errorf("grants: %w", err)
		}
		return nil
	})
	w.Step("get a user that is not there", func() error {
		_, _, err := w.client.User.GetUser(w.ctx, "nobody@v2.example.com")
		e, ok := err.(*okta.Error)
		if !ok {
			return fmt.Errorf("%T: %w", err, err)
		}
		return walk.Same("code", "E0000007", e.ErrorCode)
	})
}

func (w *work) passwords() {
	w.Step("change a password", func() error {
		_, _, err := w.client.User.ChangePassword(w.ctx, w.ada.Id, okta.ChangePasswordRequest{
			OldPassword: &okta.PasswordCredential{Value: password}, NewPassword: &okta.PasswordCredential{Value: password + "-2"},
		}, nil)
		return err
	})
	w.Step("refuse to change a password with a wrong one", func() error {
		_, _, err := w.client.User.ChangePassword(w.ctx, w.ada.Id, okta.ChangePasswordRequest{
			OldPassword: &okta.PasswordCredential{Value: "not it"}, NewPassword: &okta.PasswordCredential{Value: password + "-3"},
		}, nil)
		e, ok := err.(*okta.Error)
		if !ok {
			return fmt.Errorf("%T: %w", err, err)
		}
		return walk.Same("code", "E0000014", e.ErrorCode)
	})
	w.Step("change a recovery question", func() error {
		c, _, err := w.client.User.ChangeRecoveryQuestion(w.ctx, w.ada.Id, okta.UserCredentials{
			Password:         &okta.PasswordCredential{Value: password + "-2"},
			RecoveryQuestion: &okta.RecoveryQuestionCredential{Question: "Which bird?", Answer: "a grey heron"},
		})
		if err != nil {
			return err
		}
		return walk.Same("question", "Which bird?", c.RecoveryQuestion.Question)
	})
	w.Step("forgot the password: a link", func() error {
		f, _, err := w.client.User.ForgotPasswordGenerateOneTimeToken(w.ctx, w.ada.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.Same("there is a link", true, f.ResetPasswordUrl != "")
	})
	w.Step("forgot the password: answer the question", func() error {
		_, _, err := w.client.User.ForgotPasswordSetNewPassword(w.ctx, w.ada.Id, okta.UserCredentials{
			Password:         &okta.PasswordCredential{Value: password + "-4"},
			RecoveryQuestion: &okta.RecoveryQuestionCredential{Answer: "a grey heron"},
		}, nil)
		return err
	})
	w.Step("reset a password", func() error {
		r, _, err := w.client.User.ResetPassword(w.ctx, w.ada.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("there is a link", true, r.ResetPasswordUrl != ""), w.status(w.ada.Id, "RECOVERY"))
	})
	w.Step("set a password with an update", func() error {
		_, _, err := w.client.User.PartialUpdateUser(w.ctx, w.ada.Id, okta.User{Credentials: &okta.UserCredentials{
			Password: &okta.PasswordCredential{Value: password + "-5"},
		}}, nil)
		return err
	})
	w.Step("expire passwords", func() error {
		u, err := w.create("late@v2.example.com", "Late", "Two", &okta.UserCredentials{Password: &okta.PasswordCredential{Value: password}}, true)
		if err != nil {
			return err
		}
		u, _, err = w.client.User.ExpirePassword(w.ctx, u.Id)
		if err != nil {
			return err
		}
		if err := walk.Same("status", "PASSWORD_EXPIRED", u.Status); err != nil {
			return err
		}
		temp, _, err := w.client.User.ExpirePasswordAndGetTemporaryPassword(w.ctx, u.Id)
		if err != nil {
			return err
		}
		return walk.Same("there is a password", true, temp.TempPassword != "")
	})
}

func (w *work) groups() {
	w.Step("create a group", func() (err error) {
		w.group, _, err = w.client.Group.CreateGroup(w.ctx, okta.Group{Profile: &okta.GroupProfile{Name: "Analysts of v2", Description: "count"}})
		return err
	})
	w.Step("get a group", func() error {
		g, _, err := w.client.Group.GetGroup(w.ctx, w.group.Id)
		if err != nil {
			return err
		}
		return walk.Same("name", "Analysts of v2", g.Profile.Name)
	})
	w.Step("update a group", func() error {
		g, _, err := w.client.Group.UpdateGroup(w.ctx, w.group.Id, okta.Group{Profile: &okta.GroupProfile{Name: "Counters of v2", Description: "count"}})
		if err != nil {
			return err
		}
		return walk.Same("name", "Counters of v2", g.Profile.Name)
	})
	w.Step("list groups page by page", func() error {
		groups, res, err := w.client.Group.ListGroups(w.ctx, query.NewQueryParams(query.WithLimit(1)))
		n := 0
		for err == nil {
			n += len(groups)
			if !res.HasNextPage() {
				return walk.Same("several pages", true, n > 1)
			}
			groups = nil
			res, err = res.Next(w.ctx, &groups)
		}
		return err
	})
	w.Step("find groups by q and search", func() error {
		byQ, _, err := w.client.Group.ListGroups(w.ctx, query.NewQueryParams(query.WithQ("Counters of")))
		if err != nil {
			return err
		}
		bySearch, _, err := w.client.Group.ListGroups(w.ctx, query.NewQueryParams(query.WithSearch(`profile.name eq "Counters of v2"`)))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("by q", 1, len(byQ)), walk.Same("by search", 1, len(bySearch)))
	})
	w.Step("add members to a group and list them", func() error {
		for _, u := range []*okta.User{w.ada, w.ben} {
			if _, err := w.client.Group.AddUserToGroup(w.ctx, w.group.Id, u.Id); err != nil {
				return err
			}
		}
		members, res, err := w.client.Group.ListGroupUsers(w.ctx, w.group.Id, query.NewQueryParams(query.WithLimit(1)))
		if err != nil {
			return err
		}
		more := []*okta.User{}
		if _, err := res.Next(w.ctx, &more); err != nil {
			return err
		}
		return walk.Same("members", 2, len(members)+len(more))
	})
	w.Step("list the groups of a user", func() error {
		groups, _, err := w.client.User.ListUserGroups(w.ctx, w.ada.Id)
		if err != nil {
			return err
		}
		return walk.Same("groups", 2, len(groups))
	})
	w.Step("remove a member", func() error {
		_, err := w.client.Group.RemoveUserFromGroup(w.ctx, w.group.Id, w.ben.Id)
		return err
	})
	w.Step("read and change the schema of groups", func() error {
		schema, _, err := w.client.GroupSchema.GetGroupSchema(w.ctx)
		if err != nil {
			return err
		}
		schema.Definitions.Custom.Properties = map[string]*okta.GroupSchemaAttribute{"costCenterV2": {Title: "Cost center", Type: "string", Scope: "NONE"}}
		_, _, err = w.client.GroupSchema.UpdateGroupSchema(w.ctx, *schema)
		return err
	})
}

func (w *work) rules() {
	var rule *okta.GroupRule
	w.Step("create a group rule", func() (err error) {
		rule, _, err = w.client.Group.CreateGroupRule(w.ctx, okta.GroupRule{
			Type: "group_rule", Name: "Two of v2",
			Conditions: &okta.GroupRuleConditions{
				People:     &okta.GroupRulePeopleCondition{Users: &okta.GroupRuleUserCondition{Exclude: []string{w.ada.Id}}},
				Expression: &okta.GroupRuleExpression{Type: "urn:svc:expression:1.0", Value: `user.lastName=="Two"`},
			},
			Actions: &okta.GroupRuleAction{AssignUserToGroups: &okta.GroupRuleGroupAssignment{GroupIds: []string{w.group.Id}}},
		})
		if err != nil {
			return err
		}
		return walk.Same("status", "INACTIVE", rule.Status)
	})
	w.Step("change a group rule", func() error {
		rule.Name = "Two of major 2"
		changed, _, err := w.client.Group.UpdateGroupRule(w.ctx, rule.Id, *rule)
		if err != nil {
			return err
		}
		return walk.Same("name", rule.Name, changed.Name)
	})
	w.Step("activate a group rule, whose members come", func() error {
		if _, err := w.client.Group.ActivateGroupRule(w.ctx, rule.Id); err != nil {
			return err
		}
		for {
			members, _, err := w.client.Group.ListGroupUsers(w.ctx, w.group.Id, nil)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(members, func(u *okta.User) bool { return u.Id == w.ben.Id }) {
				return nil
			}
		}
	})
	w.Step("list and get group rules", func() error {
		rules, _, err := w.client.Group.ListGroupRules(w.ctx, query.NewQueryParams(query.WithSearch("Two of")))
		if err != nil {
			return err
		}
		one, _, err := w.client.Group.GetGroupRule(w.ctx, rule.Id, query.NewQueryParams(query.WithExpand("groupIdToGroupNameMap")))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("rules", 1, len(rules)), walk.Same("status", "ACTIVE", one.Status))
	})
	w.Step("deactivate and delete a group rule", func() error {
		if _, err := w.client.Group.DeactivateGroupRule(w.ctx, rule.Id); err != nil {
			return err
		}
		_, err := w.client.Group.DeleteGroupRule(w.ctx, rule.Id, nil)
		return err
	})
}

func (w *work) types() {
	var kind *okta.UserType
	w.Step("create, list, get, change and replace user types", func() (err error) {
		kind, _, err = w.client.UserType.CreateUserType(w.ctx, okta.UserType{Name: "guestV2", DisplayName: "Guest", Description: "comes and goes"})
		if err != nil {
			return err
		}
		kinds, _, err := w.client.UserType.ListUserTypes(w.ctx)
		if err != nil {
			return err
		}
		if _, _, err = w.client.UserType.GetUserType(w.ctx, kind.Id); err != nil {
			return err
		}
		if _, _, err = w.client.UserType.UpdateUserType(w.ctx, kind.Id, okta.UserType{DisplayName: "Visitor"}); err != nil {
			return err
		}
		replaced, _, err := w.client.UserType.ReplaceUserType(w.ctx, kind.Id, okta.UserType{Name: "guestV2", DisplayName: "Visitor", Description: "seldom"})
		if err != nil {
			return err
		}
		return walk.All(walk.Same("types", true, len(kinds) > 1), walk.Same("description", "seldom", replaced.Description))
	})
	w.Step("read and change the schema of users", func() error {
		schema, _, err := w.client.UserSchema.GetUserSchema(w.ctx, "default")
		if err != nil {
			return err
		}
		if err := walk.Same("login", "string", schema.Definitions.Base.Properties["login"].Type); err != nil {
			return err
		}
		schema, _, err = w.client.UserSchema.UpdateUserProfile(w.ctx, "default", okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: "#custom", Type: "object", Properties: map[string]*okta.UserSchemaAttribute{
				"badgeV2": {
					Title: "Badge", Type: "string", Description: "on the door", MinLengthPtr: okta.Int64Ptr(1), MaxLengthPtr: okta.Int64Ptr(20),
					Permissions: []*okta.UserSchemaAttributePermission{{Principal: "SELF", Action: "READ_WRITE"}},
				},
				"sizesV2": {Title: "Sizes", Type: "array", Items: &okta.UserSchemaAttributeItems{Type: "integer"}},
			},
		}}})
		if err != nil {
			return err
		}
		return walk.Same("the attribute is there", true, schema.Definitions.Custom.Properties["badgeV2"] != nil)
	})
	w.Step("give a user custom attributes", func() error {
		u, _, err := w.client.User.PartialUpdateUser(w.ctx, w.ada.Id, okta.User{Profile: &okta.UserProfile{"badgeV2": "A-1", "sizesV2": []int{4, 5}}}, nil)
		if err != nil {
			return err
		}
		return walk.Same[any]("badge", "A-1", (*u.Profile)["badgeV2"])
	})
	w.Step("remove a custom attribute with the whole schema", func() error {
		schema, _, err := w.client.UserSchema.GetUserSchema(w.ctx, "default")
		if err != nil {
			return err
		}
		schema.Definitions.Custom.Properties["sizesV2"] = nil
		_, _, err = w.client.UserSchema.UpdateUserProfile(w.ctx, "default", okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: schema.Definitions.Custom}})
		return err
	})
	w.Step("delete a user type", func() error {
		_, err := w.client.UserType.DeleteUserType(w.ctx, kind.Id)
		return err
	})
}

func (w *work) applications() {
	visible := &okta.ApplicationVisibility{AutoSubmitToolbar: new(false), Hide: &okta.ApplicationVisibilityHide{IOS: new(false), Web: new(false)}}
	bookmark := okta.NewBookmarkApplication()
	bookmark.Label, bookmark.Visibility = "Bookmark of v2", visible
	bookmark.Settings = &okta.BookmarkApplicationSettings{App: &okta.BookmarkApplicationSettingsApplication{RequestIntegration: new(false), Url: "https://example.com/bookmark.htm"}}

	basic := okta.NewBasicAuthApplication()
	basic.Label = "Basic of v2"
	basic.Settings = &okta.BasicApplicationSettings{App: &okta.BasicApplicationSettingsApplication{AuthURL: "https://example.com/auth.html", Url: "https://example.com/login.html"}}

	swa := okta.NewSwaApplication()
	swa.Label = "SWA of v2"
	swa.Settings = &okta.SwaApplicationSettings{App: &okta.SwaApplicationSettingsApplication{
		ButtonField: "btn-login", PasswordField: "txtbox-password", UsernameField: "txtbox-username", Url: "https://example.com/login.html", LoginUrlRegex: "REGEX_EXPRESSION"}}

	three := okta.NewSwaThreeFieldApplication()
	three.Label = "Three fields of v2"
	three.Settings = &okta.SwaThreeFieldApplicationSettings{App: &okta.SwaThreeFieldApplicationSettingsApplication{
		ButtonSelector: "#btn", PasswordSelector: "#pw", UserNameSelector: "#user", TargetURL: "https://example.com/login", ExtraFieldSelector: ".login", ExtraFieldValue: "SOME"}}

	store := okta.NewSecurePasswordStoreApplication()
	store.Label = "Store of v2"
	store.Settings = &okta.SecurePasswordStoreApplicationSettings{App: &okta.SecurePasswordStoreApplicationSettingsApplication{
		Url: "https://example.com/login.html", UsernameField: "#user", PasswordField: "#pw", OptionalField1: "c", OptionalField1Value: "1"}}

	auto := okta.NewAutoLoginApplication()
	auto.Label, auto.Visibility = "Auto of v2", visible
	auto.Settings = &okta.AutoLoginApplicationSettings{SignOn: &okta.AutoLoginApplicationSettingsSignOn{LoginUrl: "https://example.com/login", RedirectUrl: "https://example.com/home"}}

	saml := okta.NewSamlApplication()
	saml.Label, saml.Visibility = "SAML of v2", visible
	saml.Settings = &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
		SsoAcsUrl: "https://example.com/acs", Recipient: "https://example.com/acs", Destination: "https://example.com/acs", Audience: "urn:example:sp",
		IdpIssuer: "http://example.com/${org.externalKey}", SubjectNameIdTemplate: "${user.userName}",
		SubjectNameIdFormat: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified", ResponseSigned: new(true), AssertionSigned: new(true),
		SignatureAlgorithm: "RSA_SHA256", DigestAlgorithm: "SHA256", HonorForceAuthn: new(true),
		AuthnContextClassRef: "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport", RequestCompressed: new(false),
	}}

	code, refresh, answer := okta.OAuthGrantType("authorization_code"), okta.OAuthGrantType("refresh_token"), okta.OAuthResponseType("code")
	oidc := okta.NewOpenIdConnectApplication()
	oidc.Label = "OIDC of v2"
	oidc.Credentials = &okta.OAuthApplicationCredentials{OauthClient: &okta.ApplicationCredentialsOAuthClient{
		AutoKeyRotation: new(true), TokenEndpointAuthMethod: "client_secret_post",
	}}
	oidc.Settings = &okta.OpenIdConnectApplicationSettings{OauthClient: &okta.OpenIdConnectApplicationSettingsClient{
		ApplicationType: "web", ClientUri: "https://example.com", LogoUri: "https://example.com/logo.png", RedirectUris: []string{"https://example.com/callback"},
		ResponseTypes: []*okta.OAuthResponseType{&answer}, GrantTypes: []*okta.OAuthGrantType{&code, &refresh}, ConsentMethod: "REQUIRED",
	}}

	for _, a := range []struct {
		name     string
		app, got okta.App
	}{
		{"bookmark", bookmark, okta.NewBookmarkApplication()},
		{"basic", basic, okta.NewBasicAuthApplication()},
		{"SWA", swa, okta.NewSwaApplication()},
		{"three-field SWA", three, okta.NewSwaThreeFieldApplication()},
		{"password store", store, okta.NewSecurePasswordStoreApplication()},
		{"auto login", auto, okta.NewAutoLoginApplication()},
		{"SAML", saml, okta.NewSamlApplication()},
		{"OIDC", oidc, okta.NewOpenIdConnectApplication()},
	} {
		w.Step("create, read and write back an application: "+a.name, func() error {
			created, _, err := w.client.Application.CreateApplication(w.ctx, a.app, query.NewQueryParams(query.WithActivate(true)))
			if err != nil {
				return err
			}
			id := idOf(created)
			read, _, err := w.client.Application.GetApplication(w.ctx, id, a.got, nil)
			if err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			if _, _, err := w.client.Application.UpdateApplication(w.ctx, id, read); err != nil {
				return fmt.Errorf("writing back: %w", err)
			}
			if a.name == "bookmark" {
				w.bookmark = id
				return nil
			}
			if _, err := w.client.Application.DeactivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := w.client.Application.ActivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("activating: %w", err)
			}
			if _, err := w.client.Application.DeactivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := w.client.Application.DeleteApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deleting: %w", err)
			}
			return nil
		})
	}
	w.Step("list applications page by page", func() error {
		apps, res, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithLimit(1)))
		if err != nil {
			return err
		}
		n := len(apps)
		for res.HasNextPage() {
			var more []*okta.Application
			if res, err = res.Next(w.ctx, &more); err != nil {
				return err
			}
			n += len(more)
		}
		return walk.Same("applications", true, n > 1)
	})
	w.Step("filter applications", func() error {
		apps, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithFilter(`name eq "bookmark"`)))
		if err != nil {
			return err
		}
		found, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithQ("Bookmark of")))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("by filter", 1, len(apps)), walk.Same("by q", 1, len(found)))
	})
	w.Step("read and make keys of an application", func() error {
		signed := okta.NewSamlApplication() // the library writes what is created into the one that was given
		signed.Label, signed.Visibility, signed.Settings = "SAML with keys of v2", saml.Visibility, saml.Settings
		created, _, err := w.client.Application.CreateApplication(w.ctx, signed, nil)
		if err != nil {
			return err
		}
		id := idOf(created)
		key, _, err := w.client.Application.GenerateApplicationKey(w.ctx, id, query.NewQueryParams(query.WithValidityYears(3)))
		if err != nil {
			return fmt.Errorf("making: %w", err)
		}
		keys, _, err := w.client.Application.ListApplicationKeys(w.ctx, id)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		one, _, err := w.client.Application.GetApplicationKey(w.ctx, id, key.Kid)
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		return walk.All(walk.Same("keys", 2, len(keys)), walk.Same("kid", key.Kid, one.Kid), walk.Same("there is a certificate", 1, len(one.X5c)))
	})
}

func idOf(a okta.App) string {
	switch v := a.(type) {
	case *okta.BookmarkApplication:
		return v.Id
	case *okta.BasicAuthApplication:
		return v.Id
	case *okta.SwaApplication:
		return v.Id
	case *okta.SwaThreeFieldApplication:
		return v.Id
	case *okta.SecurePasswordStoreApplication:
		return v.Id
	case *okta.AutoLoginApplication:
		return v.Id
	case *okta.SamlApplication:
		return v.Id
	case *okta.OpenIdConnectApplication:
		return v.Id
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

func (w *work) assignments() {
	w.Step("assign a user to an application", func() error {
		a, _, err := w.client.Application.AssignUserToApplication(w.ctx, w.bookmark, okta.AppUser{Id: w.ben.Id, Scope: "USER"})
		if err != nil {
			return err
		}
		return walk.All(walk.Same("id", w.ben.Id, a.Id), walk.Same("scope", "USER", a.Scope))
	})
	w.Step("read, update and list the users of an application", func() error {
		a, _, err := w.client.Application.GetApplicationUser(w.ctx, w.bookmark, w.ben.Id, query.NewQueryParams(query.WithExpand("user")))
		if err != nil {
			return err
		}
		if _, _, err := w.client.Application.UpdateApplicationUser(w.ctx, w.bookmark, w.ben.Id, *a); err != nil {
			return fmt.Errorf("updating: %w", err)
		}
		all, _, err := w.client.Application.ListApplicationUsers(w.ctx, w.bookmark, nil)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.Same("users", 1, len(all))
	})
	w.Step("assign a group without a body, and with a priority", func() error {
		if _, _, err := w.client.Application.CreateApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id, okta.ApplicationGroupAssignment{}); err != nil {
			return err
		}
		a, _, err := w.client.Application.CreateApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id, okta.ApplicationGroupAssignment{PriorityPtr: okta.Int64Ptr(0)})
		if err != nil {
			return err
		}
		return walk.Same("id", w.group.Id, a.Id)
	})
	w.Step("read and list the groups of an application", func() error {
		if _, _, err := w.client.Application.GetApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id, nil); err != nil {
			return err
		}
		all, _, err := w.client.Application.ListApplicationGroupAssignments(w.ctx, w.bookmark, nil)
		if err != nil {
			return err
		}
		apps, _, err := w.client.Group.ListAssignedApplicationsForGroup(w.ctx, w.group.Id, nil)
		if err != nil {
			return err
		}
		return walk.All(walk.Same("groups", 1, len(all)), walk.Same("applications", 1, len(apps)))
	})
	w.Step("a member of the group has the application", func() error {
		a, _, err := w.client.Application.GetApplicationUser(w.ctx, w.bookmark, w.ada.Id, nil)
		if err != nil {
			return err
		}
		return walk.Same("scope", "GROUP", a.Scope)
	})
	w.Step("the links of a user", func() error {
		links, _, err := w.client.User.ListAppLinks(w.ctx, w.ada.Id)
		if err != nil {
			return err
		}
		return walk.Same("links", 1, len(links))
	})
	w.Step("take the assignments away", func() error {
		if _, err := w.client.Application.DeleteApplicationUser(w.ctx, w.bookmark, w.ben.Id, nil); err != nil {
			return err
		}
		_, err := w.client.Application.DeleteApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id)
		return err
	})
	w.Step("read and change the schema of an application", func() error {
		schema, _, err := w.client.UserSchema.GetApplicationUserSchema(w.ctx, w.bookmark)
		if err != nil {
			return err
		}
		schema, _, err = w.client.UserSchema.UpdateApplicationUserProfile(w.ctx, w.bookmark, okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: "#custom", Type: "object", Properties: map[string]*okta.UserSchemaAttribute{"shoeV2": {Title: "Shoe", Type: "string"}},
		}}})
		if err != nil {
			return err
		}
		return walk.Same("the attribute is there", true, schema.Definitions.Custom.Properties["shoeV2"] != nil)
	})
}

func (w *work) mappings() {
	w.Step("list, read and change a profile mapping", func() error {
		all, _, err := w.client.ProfileMapping.ListProfileMappings(w.ctx, query.NewQueryParams(query.WithSourceId(w.bookmark)))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("no mapping of %s", w.bookmark)
		}
		one, _, err := w.client.ProfileMapping.GetProfileMapping(w.ctx, all[0].Id)
		if err != nil {
			return err
		}
		_, _, err = w.client.ProfileMapping.UpdateProfileMapping(w.ctx, one.Id, okta.ProfileMapping{Properties: map[string]*okta.ProfileMappingProperty{
			"nickName": {Expression: "appuser.userName", PushStatus: "PUSH"},
		}})
		return err
	})
}

func (w *work) provisioning() {
	w.Step("read the connection and the features of an application that has them", func() error {
		apps, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithLimit(200)))
		if err != nil {
			return err
		}
		for _, app := range apps {
			a, ok := app.(*okta.Application)
			if !ok || len(a.Features) == 0 {
				continue
			}
			c, _, err := w.client.Application.GetDefaultProvisioningConnectionForApplication(w.ctx, a.Id)
			if err != nil {
				return fmt.Errorf("connection of %s: %w", a.Label, err)
			}
			features, _, err := w.client.Application.ListFeaturesForApplication(w.ctx, a.Id)
			if err != nil {
				return fmt.Errorf("features of %s: %w", a.Label, err)
			}
			feature, _, err := w.client.Application.GetFeatureForApplication(w.ctx, a.Id, "USER_PROVISIONING")
			if err != nil {
				return err
			}
			if _, _, err := w.client.Application.UpdateFeatureForApplication(w.ctx, a.Id, "USER_PROVISIONING", *feature.Capabilities); err != nil {
				return fmt.Errorf("writing the feature back: %w", err)
			}
			return walk.All(walk.Same("connection", "ENABLED", c.Status), walk.Same("there are features", true, len(features) > 0))
		}
		return fmt.Errorf("none of %d applications has features", len(apps))
	})
}

func (w *work) logs() {
	w.Step("read the log page by page", func() error {
		since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		events, res, err := w.client.LogEvent.GetLogs(w.ctx, query.NewQueryParams(query.WithSince(since), query.WithUntil(until), query.WithLimit(20)))
		n, pages := 0, 0
		for err == nil {
			n, pages = n+len(events), pages+1
			for _, e := range events {
				if e.Published == nil || e.EventType == "" || e.Actor == nil {
					return fmt.Errorf("an event without a time, a type or an actor: %+v", e)
				}
			}
			if !res.HasNextPage() {
				return walk.Same("pages", true, pages > 1)
			}
			events = nil
			res, err = res.Next(w.ctx, &events)
		}
		return err
	})
	w.Step("filter the log", func() error {
		events, _, err := w.client.LogEvent.GetLogs(w.ctx, query.NewQueryParams(query.WithFilter(`eventType eq "user.lifecycle.create" and target.id eq "`+w.ada.Id+`"`)))
		if err != nil {
			return err
		}
		return walk.Same("events", 1, len(events))
	})
}

func (w *work) endings() {
	w.Step("delete what there is", func() error {
		if _, err := w.client.Group.DeleteGroup(w.ctx, w.group.Id); err != nil {
			return err
		}
		if _, err := w.client.Application.DeactivateApplication(w.ctx, w.bookmark); err != nil {
			return err
		}
		if _, err := w.client.Application.DeleteApplication(w.ctx, w.bookmark); err != nil {
			return err
		}
		for _, u := range []*okta.User{w.ada, w.ben} {
			if _, err := w.client.User.DeactivateUser(w.ctx, u.Id, nil); err != nil {
				return err
			}
			if err := w.status(u.Id, "DEPROVISIONED"); err != nil {
				return err
			}
			if _, err := w.client.User.DeactivateOrDeleteUser(w.ctx, u.Id, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
