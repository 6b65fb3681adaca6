package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/okta/okta-sdk-golang/v5/okta"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

// read decodes a value of the library from JSON.
func read[T any](text string) T {
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		panic(err)
	}
	return out
}

// refused reports whether the API rejected a request as invalid.
func refused(err error) bool { return err != nil && strings.Contains(apiErr(err).Error(), "E0000001") }

// administration tests roles, authorization servers and hooks. credentials is the kind of credentials of the client, such as
// private_key_jwt; the names of the steps contain it.
func (w *work) administration(credentials string) {
	name := func(what string) string { return what + " (" + credentials + ")" }
	label := "Desk of v5, " + credentials
	var admin, group, role, set, server, policy, hook, key string
	w.Step(name("assign a standard role with a target"), func() error {
		u, _, err := w.client.UserAPI.CreateUser(w.ctx).Body(read[okta.CreateUserRequest](
			`{"profile":{"login":"desk-` + credentials +
				`@v5.example.com","email":"desk@v5.example.com","firstName":"D","lastName":"V"}}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		admin = u.GetId()
		g, _, err := w.client.GroupAPI.CreateGroup(w.ctx).Group(read[okta.Group](`{"profile":{"name":"` + label + `"}}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		group = g.GetId()
		r, _, err := w.client.RoleAssignmentAPI.AssignRoleToUser(w.ctx,
			admin).AssignRoleRequest(read[okta.AssignRoleRequest](`{"type":"USER_ADMIN"}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		if _, err := w.client.RoleTargetAPI.AssignGroupTargetToUserRole(w.ctx, admin, r.GetId(), group).Execute(); err != nil {
			return apiErr(err)
		}
		targets, _, err := w.client.RoleTargetAPI.ListGroupTargetsForRole(w.ctx, admin, r.GetId()).Execute()
		if err != nil {
			return apiErr(err)
		}
		roles, _, err := w.client.RoleAssignmentAPI.ListAssignedRolesForUser(w.ctx, admin).Execute()
		return walk.All(apiErr(err), walk.Same("targets", 1, len(targets)), walk.Same("roles", 1, len(roles)),
			walk.Same("type", "USER_ADMIN", r.GetType()))
	})
	w.Step(name("create and bind a custom role and a resource set"), func() error {
		r, _, err := w.client.RoleAPI.CreateRole(w.ctx).Instance(
			okta.CreateIamRoleRequest{Label: label, Description: "x", Permissions: []string{"svc.users.read", "svc.groups.manage"}}).Execute()
		if err != nil {
			return apiErr(err)
		}
		role = r.GetId()
		s, _, err := w.client.ResourceSetAPI.CreateResourceSet(w.ctx).Instance(okta.CreateResourceSetRequest{
			Label: &label, Description: &label, Resources: []string{"/api/v1/users", "/api/v1/groups/" + group},
		}).Execute()
		if err != nil {
			return apiErr(err)
		}
		set = s.GetId()
		_, _, err = w.client.ResourceSetAPI.CreateResourceSetBinding(w.ctx, set).Instance(okta.ResourceSetBindingCreateRequest{
			Role: &role, Members: []string{"/api/v1/users/" + admin},
		}).Execute()
		if err != nil {
			return apiErr(err)
		}
		members, _, err := w.client.ResourceSetAPI.ListMembersOfBinding(w.ctx, set, role).Execute()
		if err != nil {
			return apiErr(err)
		}
		resources, _, err := w.client.ResourceSetAPI.ListResourceSetResources(w.ctx, set).Execute()
		if err != nil {
			return apiErr(err)
		}
		permissions, _, err := w.client.RoleAPI.ListRolePermissions(w.ctx, role).Execute()
		return walk.All(apiErr(err), walk.Same("members", 1, len(members.GetMembers())), walk.Same("resources", 2, len(resources.GetResources())),
			walk.Same("permissions", 2, len(permissions.GetPermissions())))
	})
	w.Step(name("list roles and resource sets"), func() error {
		roles, _, err := w.client.RoleAPI.ListRoles(w.ctx).Execute()
		if err != nil {
			return apiErr(err)
		}
		sets, _, err := w.client.ResourceSetAPI.ListResourceSets(w.ctx).Execute()
		return walk.All(apiErr(err), walk.Same("roles", true, len(roles.GetRoles()) > 0),
			walk.Same("sets", true, len(sets.GetResourceSets()) > 0))
	})
	w.Step(name("create an authorization server with a scope, a policy and a rule"), func() error {
		s, _, err := w.client.AuthorizationServerAPI.CreateAuthorizationServer(w.ctx).AuthorizationServer(
			read[okta.AuthorizationServer](`{"name":"` + label + `","description":"d","audiences":["api://v5"]}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		server = s.GetId()
		if _, _, err := w.client.AuthorizationServerScopesAPI.CreateOAuth2Scope(w.ctx,
			server).OAuth2Scope(read[okta.OAuth2Scope](`{"name":"orders"}`)).Execute(); err != nil {
			return apiErr(err)
		}
		p, _, err := w.client.AuthorizationServerPoliciesAPI.CreateAuthorizationServerPolicy(w.ctx,
			server).Policy(read[okta.AuthorizationServerPolicy](
			`{"type":"OAUTH_AUTHORIZATION_POLICY","name":"P","description":"d","priority":1,` +
				`"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		id, ok := p.AdditionalProperties["id"].(string)
		if !ok {
			return fmt.Errorf("no id in %v", p.AdditionalProperties)
		}
		policy = id
		_, _, err = w.client.AuthorizationServerRulesAPI.CreateAuthorizationServerPolicyRule(w.ctx, server,
			policy).PolicyRule(read[okta.AuthorizationServerPolicyRule](
			`{"type":"RESOURCE_ACCESS","name":"R","priority":1,"conditions":{"people":{"groups":{"include":["EVERYONE"]}},
			"grantTypes":{"include":["client_credentials"]},"scopes":{"include":["*"]}},
			  "actions":{"token":{"accessTokenLifetimeMinutes":60,"refreshTokenLifetimeMinutes":0,"refreshTokenWindowMinutes":10080}}}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		all, _, err := w.client.AuthorizationServerAPI.ListAuthorizationServers(w.ctx).Q(label).Execute()
		return walk.All(apiErr(err), walk.Same("servers", 1, len(all)), walk.Same("audience", "api://v5", s.GetAudiences()[0]))
	})
	w.Step(name("create a hook key"), func() error {
		k, _, err := w.client.HookKeyAPI.CreateHookKey(w.ctx).KeyRequest(okta.KeyRequest{Name: &label}).Execute()
		if err != nil {
			return apiErr(err)
		}
		key = k.GetId()
		if _, _, err := w.client.HookKeyAPI.GetPublicKey(w.ctx, k.GetKeyId()).Execute(); err != nil {
			return apiErr(err)
		}
		all, _, err := w.client.HookKeyAPI.ListHookKeys(w.ctx).Execute()
		return walk.All(apiErr(err), walk.Same("keys", true, len(all) > 0))
	})
	w.Step(name("create, change and list inline hooks"), func() error {
		h, _, err := w.client.InlineHookAPI.CreateInlineHook(w.ctx).InlineHook(
			read[okta.InlineHook](`{"name":"` + label + `","type":"com.svc.oauth2.tokens.transform","version":"1.0.0",
			"channel":{"type":"HTTP","version":"1.0.0","config":{"uri":"https://hooks.example.com/v5","method":"POST",
			"authScheme":{"type":"HEADER","key":"X-Key","value":"secret"}}}}`)).Execute()
		if err != nil {
			return apiErr(err)
		}
		hook = h.GetId()
		all, _, err := w.client.InlineHookAPI.ListInlineHooks(w.ctx).Execute()
		return walk.All(apiErr(err), walk.Same("hooks", true, len(all) > 0), walk.Same("status", "ACTIVE", h.GetStatus()))
	})
	w.Step(name("delete the roles, hooks and authorization servers"), func() error {
		if _, err := w.client.InlineHookAPI.DeleteInlineHook(w.ctx, hook).Execute(); !refused(err) {
			return fmt.Errorf("an active hook was deleted: %w", apiErr(err))
		}
		if _, _, err := w.client.InlineHookAPI.DeactivateInlineHook(w.ctx, hook).Execute(); err != nil {
			return apiErr(err)
		}
		if _, err := w.client.RoleAPI.DeleteRole(w.ctx, role).Execute(); !refused(err) {
			return fmt.Errorf("a role that is bound was deleted: %w", apiErr(err))
		}
		for _, remove := range []func() error{
			func() error { _, err := w.client.InlineHookAPI.DeleteInlineHook(w.ctx, hook).Execute(); return err },
			func() error { _, err := w.client.HookKeyAPI.DeleteHookKey(w.ctx, key).Execute(); return err },
			func() error { _, err := w.client.ResourceSetAPI.DeleteResourceSet(w.ctx, set).Execute(); return err },
			func() error { _, err := w.client.RoleAPI.DeleteRole(w.ctx, role).Execute(); return err },
			func() error {
				_, err := w.client.AuthorizationServerAPI.DeleteAuthorizationServer(w.ctx, server).Execute()
				return err
			},
			func() error { _, err := w.client.GroupAPI.DeleteGroup(w.ctx, group).Execute(); return err },
		} {
			if err := remove(); err != nil {
				return apiErr(err)
			}
		}
		return nil
	})
}
