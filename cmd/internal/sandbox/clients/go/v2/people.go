package main

import (
	"fmt"
	"slices"

	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/okta/okta-sdk-golang/v2/okta/query"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

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
		_, err := w.create("hash@v2.example.com", "Hash", "Two",
			&okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
				Algorithm: "BCRYPT", WorkFactorPtr: okta.Int64Ptr(10), Salt: "rwh3vH166HCH/NT9XV5FYu", Value: "qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna",
			}}}, true)
		if err != nil {
			return err
		}
		_, err = w.create("sha@v2.example.com", "Sha", "Two",
			&okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
				Algorithm: "SHA-256", Salt: "UEO3wsAsgzQ=", SaltOrder: "PREFIX", Value: "xjrauE6J6kbjcvMjWSSc+PsBBls8Pdy5uPL5XbSRnSg=",
			}}}, true)
		return err
	})
	w.Step("create a user of an external identity provider", func() error {
		u, _, err := w.client.User.CreateUser(w.ctx, okta.CreateUserRequest{Profile: profile("fed@v2.example.com", "Fed", "Two"),
			Credentials: &okta.UserCredentials{Provider: &okta.AuthenticationProvider{Type: "FEDERATION", Name: "FEDERATION"}}},
			query.NewQueryParams(query.WithActivate(true), query.WithProvider(true)))
		if err != nil {
			return err
		}
		return w.status(u.Id, "ACTIVE")
	})
	w.Step("reject a duplicate login", func() error {
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
		"search for users": query.NewQueryParams(query.WithSearch(`profile.lastName eq "two" and status eq "ACTIVE"`),
			query.WithSortBy("profile.login"), query.WithSortOrder("desc")),
		"filter users":    query.NewQueryParams(query.WithFilter(`profile.login eq "ada@v2.example.com"`)),
		"find users by q": query.NewQueryParams(query.WithQ("ada")),
	} {
		w.Step(name, func() error {
			users, _, err := w.client.User.ListUsers(w.ctx, params)
			if err != nil {
				return err
			}
			return walk.Same("Ada is there", true, slices.ContainsFunc(users, func(u *okta.User) bool { return u.Id == w.ada.Id }))
		})
	}
	w.Step("write back a user that was read", func() error {
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
	w.Step("update the whole user that was read, including its credentials", func() error {
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
		return walk.All(walk.Same[any]("title", "Analyst", (*u.Profile)["title"]),
			walk.Same[any]("nickName", "Countess", (*u.Profile)["nickName"]))
	})
	w.Step("activate a user and get the token", func() error {
		token, _, err := w.client.User.ActivateUser(w.ctx, w.ben.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("there is a token", true, token.ActivationToken != "" && token.ActivationUrl != ""),
			w.status(w.ben.Id, "PROVISIONED"))
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
	w.Step("list the links, clients and grants of a user", func() error {
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
	w.Step("get an unknown user", func() error {
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
	w.Step("reject a password change with a wrong password", func() error {
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
	w.Step("forgotten password: get a link", func() error {
		f, _, err := w.client.User.ForgotPasswordGenerateOneTimeToken(w.ctx, w.ada.Id, query.NewQueryParams(query.WithSendEmail(false)))
		if err != nil {
			return err
		}
		return walk.Same("there is a link", true, f.ResetPasswordUrl != "")
	})
	w.Step("forgotten password: answer the question", func() error {
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
		g, _, err := w.client.Group.UpdateGroup(w.ctx, w.group.Id,
			okta.Group{Profile: &okta.GroupProfile{Name: "Counters of v2", Description: "count"}})
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
		schema.Definitions.Custom.Properties = map[string]*okta.GroupSchemaAttribute{
			"costCenterV2": {Title: "Cost center", Type: "string", Scope: "NONE"}}
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
	w.Step("activate a group rule and check its members", func() error {
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
		kind, _, err = w.client.UserType.CreateUserType(w.ctx,
			okta.UserType{Name: "guestV2", DisplayName: "Guest", Description: "comes and goes"})
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
		replaced, _, err := w.client.UserType.ReplaceUserType(w.ctx, kind.Id,
			okta.UserType{Name: "guestV2", DisplayName: "Visitor", Description: "seldom"})
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
		schema, _, err = w.client.UserSchema.UpdateUserProfile(w.ctx, "default",
			okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
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
	w.Step("set custom attributes of a user", func() error {
		u, _, err := w.client.User.PartialUpdateUser(w.ctx, w.ada.Id,
			okta.User{Profile: &okta.UserProfile{"badgeV2": "A-1", "sizesV2": []int{4, 5}}}, nil)
		if err != nil {
			return err
		}
		return walk.Same[any]("badge", "A-1", (*u.Profile)["badgeV2"])
	})
	w.Step("remove a custom attribute by an update that contains the whole schema", func() error {
		schema, _, err := w.client.UserSchema.GetUserSchema(w.ctx, "default")
		if err != nil {
			return err
		}
		schema.Definitions.Custom.Properties["sizesV2"] = nil
		_, _, err = w.client.UserSchema.UpdateUserProfile(w.ctx, "default",
			okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: schema.Definitions.Custom}})
		return err
	})
	w.Step("delete a user type", func() error {
		_, err := w.client.UserType.DeleteUserType(w.ctx, kind.Id)
		return err
	})
}
