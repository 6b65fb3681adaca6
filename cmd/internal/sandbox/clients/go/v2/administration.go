package main

import (
	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/okta/okta-sdk-golang/v2/okta/query"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

// administration tests roles, authorization servers and hooks. credentials is the kind of credentials of the client, such as
// private_key_jwt; the names of the steps contain it. The library does not support custom roles, resource sets and hook keys.
func (w *work) administration(credentials string) {
	name := func(what string) string { return what + " (" + credentials + ")" }
	label := "Desk of v2, " + credentials
	var server, hook string
	w.Step(name("assign a standard role with a target"), func() error {
		u, err := w.create("desk-"+credentials+"@v2.example.com", "D", "V", nil, true)
		if err != nil {
			return err
		}
		g, _, err := w.client.Group.CreateGroup(w.ctx, okta.Group{Profile: &okta.GroupProfile{Name: label}})
		if err != nil {
			return err
		}
		r, _, err := w.client.User.AssignRoleToUser(w.ctx, u.Id, okta.AssignRoleRequest{Type: "USER_ADMIN"}, nil)
		if err != nil {
			return err
		}
		if _, err := w.client.User.AddGroupTargetToRole(w.ctx, u.Id, r.Id, g.Id); err != nil {
			return err
		}
		targets, _, err := w.client.User.ListGroupTargetsForRole(w.ctx, u.Id, r.Id, nil)
		if err != nil {
			return err
		}
		roles, _, err := w.client.User.ListAssignedRolesForUser(w.ctx, u.Id, nil)
		if err != nil {
			return err
		}
		_, err = w.client.User.RemoveRoleFromUser(w.ctx, u.Id, r.Id)
		return walk.All(err, walk.Same("targets", 1, len(targets)), walk.Same("roles", 1, len(roles)), walk.Same("type", "USER_ADMIN", r.Type))
	})
	w.Step(name("create an authorization server with a scope, a claim, a policy and a rule"), func() error {
		s, _, err := w.client.AuthorizationServer.CreateAuthorizationServer(w.ctx,
			okta.AuthorizationServer{Name: label, Description: "d", Audiences: []string{"api://v2"}})
		if err != nil {
			return err
		}
		server = s.Id
		as := w.client.AuthorizationServer
		if _, _, err := as.CreateOAuth2Scope(w.ctx, server, okta.OAuth2Scope{Name: "orders"}); err != nil {
			return err
		}
		if _, _, err := as.CreateOAuth2Claim(w.ctx, server,
			okta.OAuth2Claim{Name: "dept", ClaimType: "RESOURCE", ValueType: "EXPRESSION", Value: "user.department"}); err != nil {
			return err
		}
		p, _, err := as.CreateAuthorizationServerPolicy(w.ctx, server, okta.AuthorizationServerPolicy{
			Type: "OAUTH_AUTHORIZATION_POLICY", Name: "P", Description: "d", PriorityPtr: okta.Int64Ptr(1),
			Conditions: &okta.PolicyRuleConditions{Clients: &okta.ClientPolicyCondition{Include: []string{"ALL_CLIENTS"}}},
		})
		if err != nil {
			return err
		}
		rule, _, err := as.CreateAuthorizationServerPolicyRule(w.ctx, server, p.Id, okta.AuthorizationServerPolicyRule{
			Type: "RESOURCE_ACCESS", Name: "R", Conditions: &okta.AuthorizationServerPolicyRuleConditions{
				GrantTypes: &okta.GrantTypePolicyRuleCondition{Include: []string{"client_credentials"}},
				Scopes:     &okta.OAuth2ScopesMediationPolicyRuleCondition{Include: []string{"*"}},
			},
		})
		if err != nil {
			return err
		}
		keys, _, err := as.RotateAuthorizationServerKeys(w.ctx, server, okta.JwkUse{Use: "sig"})
		return walk.All(err, walk.Same("status", "ACTIVE", rule.Status), walk.Same("keys", 3, len(keys)))
	})
	w.Step(name("deactivate, list and delete an authorization server"), func() error {
		if _, err := w.client.AuthorizationServer.DeactivateAuthorizationServer(w.ctx, server); err != nil {
			return err
		}
		all, _, err := w.client.AuthorizationServer.ListAuthorizationServers(w.ctx, query.NewQueryParams(query.WithQ(label)))
		if err != nil {
			return err
		}
		_, err = w.client.AuthorizationServer.DeleteAuthorizationServer(w.ctx, server)
		return walk.All(err, walk.Same("servers", 1, len(all)), walk.Same("status", "INACTIVE", all[0].Status))
	})
	w.Step(name("create, change, list and delete an inline hook"), func() error {
		channel := &okta.InlineHookChannel{Type: "HTTP", Version: "1.0.0", Config: &okta.InlineHookChannelConfig{
			Uri: "https://hooks.example.com/v2", Method: "POST",
			AuthScheme: &okta.InlineHookChannelConfigAuthScheme{Type: "HEADER", Key: "X-Key", Value: "secret"},
		}}
		h, _, err := w.client.InlineHook.CreateInlineHook(w.ctx,
			okta.InlineHook{Name: label, Type: "com.svc.oauth2.tokens.transform", Version: "1.0.0", Channel: channel})
		if err != nil {
			return err
		}
		hook = h.Id
		h.Name += " again"
		if h, _, err = w.client.InlineHook.UpdateInlineHook(w.ctx, hook, *h); err != nil {
			return err
		}
		all, _, err := w.client.InlineHook.ListInlineHooks(w.ctx, query.NewQueryParams(query.WithType("com.svc.oauth2.tokens.transform")))
		if err != nil {
			return err
		}
		if _, err := w.client.InlineHook.DeleteInlineHook(w.ctx, hook); err == nil {
			return walk.Same("an active hook was deleted", false, true)
		}
		if _, _, err := w.client.InlineHook.DeactivateInlineHook(w.ctx, hook); err != nil {
			return err
		}
		_, err = w.client.InlineHook.DeleteInlineHook(w.ctx, hook)
		return walk.All(err, walk.Same("hooks", 1, len(all)), walk.Same("name", label+" again", h.Name))
	})
}
