package main

import (
	"fmt"
	"slices"

	"github.com/okta/okta-sdk-golang/v5/okta"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

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
		_, err := w.create("hash@v5.example.com", "Hash",
			&okta.UserCredentials{Password: &okta.PasswordCredential{Hash: &okta.PasswordCredentialHash{
				Algorithm: new("BCRYPT"), WorkFactor: new(int32(10)), Salt: new("rwh3vH166HCH/NT9XV5FYu"),
				Value: new("qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna"),
			}}}, true)
		return err
	})
	w.step("reject a duplicate login", func() error {
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
		"search for users": api.ListUsers(w.ctx).Search(`profile.lastName eq "five" and status eq "ACTIVE"`).SortBy("profile.login").SortOrder(
			"desc"),
		"filter users":    api.ListUsers(w.ctx).Filter(`profile.login eq "ada@v5.example.com"`),
		"find users by q": api.ListUsers(w.ctx).Q("ada"),
	} {
		w.step(name, func() error {
			users, _, err := request.Execute()
			if err != nil {
				return err
			}
			return walk.Same("Ada is there", true, slices.ContainsFunc(users, func(u okta.User) bool { return u.GetId() == w.ada }))
		})
	}
	w.step("replace a user with the values that were read", func() error {
		u, _, err := api.GetUser(w.ctx, w.ada).Execute()
		if err != nil {
			return err
		}
		u.Profile.SetNickName("Countess")
		replaced, _, err := api.ReplaceUser(w.ctx,
			w.ada).User(okta.User{Id: u.Id, Profile: u.Profile, Status: u.Status, Type: u.Type, Links: u.Links}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("nickName", "Countess", replaced.Profile.GetNickName())
	})
	w.step("update a part of a user", func() error {
		u, _, err := api.UpdateUser(w.ctx,
			w.ada).User(okta.UpdateUserRequest{Profile: &okta.UserProfile{Title: *okta.NewNullableString(new("Analyst"))}}).Execute()
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
	w.step("reject the unlock of a user who is not active", func() error {
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
	w.step("get an unknown user", func() error {
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
	w.step("reject a password change with a wrong password", func() error {
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
	w.step("forgotten password: get a link", func() error {
		f, _, err := api.ForgotPassword(w.ctx, w.ada).SendEmail(false).Execute()
		if err != nil {
			return err
		}
		return walk.Same("there is a link", true, f.GetResetPasswordUrl() != "")
	})
	w.step("forgotten password: answer the question", func() error {
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
		_, _, err := api.UpdateUser(w.ctx,
			w.ada).User(okta.UpdateUserRequest{Credentials: &okta.UserCredentials{Password: secret(password + "-5")}}).Execute()
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
		o, _, err := owners.AssignGroupOwner(w.ctx,
			w.group).AssignGroupOwnerRequestBody(okta.AssignGroupOwnerRequestBody{Id: &w.ada, Type: new("USER")}).Execute()
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
		schema.Definitions.Custom.Properties = &map[string]okta.GroupSchemaAttribute{
			"costCenterV5": {Title: new("Cost center"), Type: new("string")}}
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
			Conditions: &okta.GroupRuleConditions{
				Expression: &okta.GroupRuleExpression{Type: new("urn:svc:expression:1.0"), Value: new(`user.lastName=="Five"`)}},
			Actions: &okta.GroupRuleAction{AssignUserToGroups: &okta.GroupRuleGroupAssignment{GroupIds: []string{w.group}}},
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
	w.step("members that a rule added are removed with the rule", func() error {
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
		// The model of a user type in this major version has only the id. All other members are additional properties.
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
		t, _, err = types.ReplaceUserType(w.ctx,
			kind).UserType(okta.UserTypePutRequest{Name: "guestV5", DisplayName: "Visitor", Description: "seldom"}).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("types", true, len(all) > 1), walk.Same[any]("description", "seldom", t.AdditionalProperties["description"]))
	})
	w.step("read and change the schema of users", func() error {
		if _, _, err := schemas.GetUserSchema(w.ctx, "default").Execute(); err != nil {
			return err
		}
		schema, _, err := schemas.UpdateUserProfile(w.ctx,
			"default").UserSchema(okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: new("#custom"), Type: new("object"), Properties: &map[string]okta.UserSchemaAttribute{
				"badgeV5": {
					Title: new("Badge"), Type: new("string"), MinLength: *okta.NewNullableInt32(new(int32(1))),
					MaxLength:   *okta.NewNullableInt32(new(int32(20))),
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
	w.step("set a custom attribute of a user", func() error {
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
