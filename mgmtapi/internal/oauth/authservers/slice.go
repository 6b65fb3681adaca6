package authservers

import (
	"context"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// Options configure the slice.
type Options struct {
	// Keys are the signing keys of the servers. Required.
	Keys *tokens.Keys
	// Domains selects the issuers.
	Domains tokens.Domains
}

// Slice serves the authorization servers.
type Slice struct {
	model.Deps
	keys    *tokens.Keys
	domains tokens.Domains
}

// New returns the slice and subscribes its event handlers.
func New(d model.Deps, o Options) *Slice {
	s := &Slice{Deps: d, keys: o.Keys, domains: o.Domains}
	forget := func(ctx context.Context, tx *docstore.Tx, id string) error {
		return s.forget(ctx, tx, id, func(server *model.AuthServer) { server.Forget(id) })
	}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error { return forget(ctx, tx, e.ID) })
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error { return forget(ctx, tx, e.ID) })
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.InlineHookDeleted) error {
		return forget(ctx, tx, e.ID)
	})
	model.On(d.Feed, s.appChanged)
	return s
}

// appChanged removes a deleted client from policies, so that a new client with the same client_id does not inherit its permissions. A
// policy without remaining clients applies to no client. Only clients are removed: clients may choose their ids, which could be equal to
// those of other objects.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if e.Client == "" || e.Client == model.AllClients {
		return nil
	}
	return s.forget(ctx, tx, e.Client, func(server *model.AuthServer) {
		for i := range server.Policies {
			p := &server.Policies[i]
			p.Clients = slices.DeleteFunc(p.Clients, func(id string) bool { return id == e.Client })
		}
	})
}

// forget removes a deleted object from the servers that refer to it.
func (s *Slice) forget(ctx context.Context, tx *docstore.Tx, id string, out func(*model.AuthServer)) error {
	return model.Each(ctx, tx, s.AuthServers, docstore.Eq(model.AuthServerByRef, id), func(doc docstore.Doc[model.AuthServer]) error {
		out(&doc.Value)
		_, err := s.AuthServers.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		return err
	})
}

var (
	readScope  = []string{"svc.authorizationServers.read"}
	writeScope = []string{"svc.authorizationServers.manage"}
)

const (
	root     = " /api/v1/authorizationServers"
	one      = root + "/{authServerId}"
	policies = one + "/policies"
	policy   = policies + "/{policyId}"
	rules    = policy + "/rules"
	rule     = rules + "/{ruleId}"
	scopes   = one + "/scopes"
	scope    = scopes + "/{scopeId}"
	claims   = one + "/claims"
	claim    = claims + "/{claimId}"
	keys     = one + "/credentials/keys"

	get        = http.MethodGet
	post       = http.MethodPost
	put        = http.MethodPut
	remove     = http.MethodDelete
	activate   = "/lifecycle/activate"
	deactivate = "/lifecycle/deactivate"

	serverTag = "Authorization servers"
	policyTag = "Authorization server policies"
	scopeTag  = "Authorization server scopes"
	claimTag  = "Authorization server claims"
	keyTag    = "Authorization server keys"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[createRequest, AuthorizationServer]{ID: "createAuthorizationServer", Route: post + root, Tag: serverTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Adds an authorization server", Description: "The server is active. It issues no tokens until it has a policy.",
			Check: s.checkCreate, Do: s.create},
		rest.Op[listRequest, rest.Page[AuthorizationServer]]{ID: "listAuthorizationServers", Route: get + root, Tag: serverTag, Scopes: readScope,
			Summary: "Lists the authorization servers", Do: s.list},
		rest.Op[target, AuthorizationServer]{ID: "getAuthorizationServer", Route: get + one, Tag: serverTag, Scopes: readScope,
			Summary: "Reads an authorization server", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.get},
		rest.Op[replaceRequest, AuthorizationServer]{ID: "replaceAuthorizationServer", Route: put + one, Tag: serverTag, Scopes: writeScope,
			Summary: "Replaces the settings of an authorization server", Find: lookup.In(s.Store, s.find, (*replaceRequest).self),
			Check: s.checkReplace, Do: s.replace},
		rest.Op[target, rest.NoContent]{ID: "deleteAuthorizationServer", Route: remove + one, Tag: serverTag, Scopes: writeScope,
			Summary: "Deletes an authorization server, its keys and its tokens", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete},
		rest.Op[target, rest.NoContent]{ID: "activateAuthorizationServer", Route: post + one + activate, Tag: serverTag, Scopes: writeScope,
			Summary: "Activates an authorization server", Find: lookup.In(s.Store, s.find, (*target).self),
			Do: s.enter(model.Active, audit.AuthServerActivate)},
		rest.Op[target, rest.NoContent]{ID: "deactivateAuthorizationServer", Route: post + one + deactivate, Tag: serverTag, Scopes: writeScope,
			Summary: "Deactivates an authorization server", Find: lookup.In(s.Store, s.find, (*target).self),
			Do: s.enter(model.Inactive, audit.AuthServerDeactivate)},

		rest.Op[target, []Policy]{ID: "listAuthorizationServerPolicies", Route: get + policies, Tag: policyTag, Scopes: readScope,
			Summary: "Lists the policies of a server by priority", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.listPolicies},
		rest.Op[createPolicyRequest, Policy]{ID: "createAuthorizationServerPolicy", Route: post + policies, Tag: policyTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Adds a policy", Find: lookup.In(s.Store, s.find, (*createPolicyRequest).self), Do: s.createPolicy},
		rest.Op[policyTarget, Policy]{ID: "getAuthorizationServerPolicy", Route: get + policy, Tag: policyTag, Scopes: readScope,
			Summary: "Reads a policy", Find: lookup.In(s.Store, s.findPolicy, (*policyTarget).self), Do: s.getPolicy},
		rest.Op[replacePolicyRequest, Policy]{ID: "replaceAuthorizationServerPolicy", Route: put + policy, Tag: policyTag, Scopes: writeScope,
			Summary: "Replaces a policy", Find: lookup.In(s.Store, s.findPolicy, (*replacePolicyRequest).self), Check: checkReplacePolicy,
			Do: s.replacePolicy},
		rest.Op[policyTarget, rest.NoContent]{ID: "deleteAuthorizationServerPolicy", Route: remove + policy, Tag: policyTag, Scopes: writeScope,
			Summary: "Deletes a policy and its rules", Find: lookup.In(s.Store, s.findPolicy, (*policyTarget).self), Do: s.deletePolicy},
		rest.Op[policyTarget, rest.NoContent]{ID: "activateAuthorizationServerPolicy", Route: post + policy + activate, Tag: policyTag,
			Scopes:  writeScope,
			Summary: "Activates a policy", Find: lookup.In(s.Store, s.findPolicy, (*policyTarget).self),
			Do: enterPart[model.AuthPolicy, *policyTarget](s, model.Active, audit.PolicyActivate, policyStatus)},
		rest.Op[policyTarget, rest.NoContent]{ID: "deactivateAuthorizationServerPolicy", Route: post + policy + deactivate, Tag: policyTag,
			Scopes:  writeScope,
			Summary: "Deactivates a policy", Find: lookup.In(s.Store, s.findPolicy, (*policyTarget).self),
			Do: enterPart[model.AuthPolicy, *policyTarget](s, model.Inactive, audit.PolicyDeactivate, policyStatus)},

		rest.Op[policyTarget, []Rule]{ID: "listAuthorizationServerPolicyRules", Route: get + rules, Tag: policyTag, Scopes: readScope,
			Summary: "Lists the rules of a policy by priority", Find: lookup.In(s.Store, s.findPolicy, (*policyTarget).self), Do: s.listRules},
		rest.Op[createRuleRequest, Rule]{ID: "createAuthorizationServerPolicyRule", Route: post + rules, Tag: policyTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Adds a rule to a policy", Find: lookup.In(s.Store, s.findPolicy, (*createRuleRequest).self), Do: s.createRule},
		rest.Op[ruleTarget, Rule]{ID: "getAuthorizationServerPolicyRule", Route: get + rule, Tag: policyTag, Scopes: readScope,
			Summary: "Reads a rule", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self), Do: s.getRule},
		rest.Op[replaceRuleRequest, Rule]{ID: "replaceAuthorizationServerPolicyRule", Route: put + rule, Tag: policyTag, Scopes: writeScope,
			Summary: "Replaces a rule", Find: lookup.In(s.Store, s.findRule, (*replaceRuleRequest).self), Do: s.replaceRule},
		rest.Op[ruleTarget, rest.NoContent]{ID: "deleteAuthorizationServerPolicyRule", Route: remove + rule, Tag: policyTag, Scopes: writeScope,
			Summary: "Deletes a rule", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self), Do: s.deleteRule},
		rest.Op[ruleTarget, rest.NoContent]{ID: "activateAuthorizationServerPolicyRule", Route: post + rule + activate, Tag: policyTag,
			Scopes:  writeScope,
			Summary: "Activates a rule", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self),
			Do: enterPart[model.AuthRule, *ruleTarget](s, model.Active, audit.PolicyRuleActivate, ruleStatus)},
		rest.Op[ruleTarget, rest.NoContent]{ID: "deactivateAuthorizationServerPolicyRule", Route: post + rule + deactivate, Tag: policyTag,
			Scopes:  writeScope,
			Summary: "Deactivates a rule", Find: lookup.In(s.Store, s.findRule, (*ruleTarget).self),
			Do: enterPart[model.AuthRule, *ruleTarget](s, model.Inactive, audit.PolicyRuleDeactivate, ruleStatus)},

		rest.Op[listScopesRequest, rest.Page[Scope]]{ID: "listOAuth2Scopes", Route: get + scopes, Tag: scopeTag, Scopes: readScope,
			Summary: "Lists the scopes of a server", Find: lookup.In(s.Store, s.find, (*listScopesRequest).self), Do: s.listScopes},
		rest.Op[createScopeRequest, Scope]{ID: "createOAuth2Scope", Route: post + scopes, Tag: scopeTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Adds a scope", Find: lookup.In(s.Store, s.find, (*createScopeRequest).self), Check: checkCreateScope, Do: s.createScope},
		rest.Op[scopeTarget, Scope]{ID: "getOAuth2Scope", Route: get + scope, Tag: scopeTag, Scopes: readScope,
			Summary: "Reads a scope", Find: lookup.In(s.Store, s.findScope, (*scopeTarget).self), Do: s.getScope},
		rest.Op[replaceScopeRequest, Scope]{ID: "replaceOAuth2Scope", Route: put + scope, Tag: scopeTag, Scopes: writeScope,
			Summary: "Replaces a scope", Find: lookup.In(s.Store, s.findScope, (*replaceScopeRequest).self), Check: checkReplaceScope,
			Do: s.replaceScope},
		rest.Op[scopeTarget, rest.NoContent]{ID: "deleteOAuth2Scope", Route: remove + scope, Tag: scopeTag, Scopes: writeScope,
			Summary: "Deletes a scope", Find: lookup.In(s.Store, s.findScope, (*scopeTarget).self), Do: s.deleteScope},

		rest.Op[listClaimsRequest, []Claim]{ID: "listOAuth2Claims", Route: get + claims, Tag: claimTag, Scopes: readScope,
			Summary: "Lists the claims of a server", Find: lookup.In(s.Store, s.find, (*listClaimsRequest).self), Do: s.listClaims},
		rest.Op[createClaimRequest, Claim]{ID: "createOAuth2Claim", Route: post + claims, Tag: claimTag, Scopes: writeScope,
			Status:  http.StatusCreated,
			Summary: "Adds a claim", Find: lookup.In(s.Store, s.find, (*createClaimRequest).self), Do: s.createClaim},
		rest.Op[claimTarget, Claim]{ID: "getOAuth2Claim", Route: get + claim, Tag: claimTag, Scopes: readScope,
			Summary: "Reads a claim", Find: lookup.In(s.Store, s.findClaim, (*claimTarget).self), Do: s.getClaim},
		rest.Op[replaceClaimRequest, Claim]{ID: "replaceOAuth2Claim", Route: put + claim, Tag: claimTag, Scopes: writeScope,
			Summary: "Replaces a claim", Find: lookup.In(s.Store, s.findClaim, (*replaceClaimRequest).self), Do: s.replaceClaim},
		rest.Op[claimTarget, rest.NoContent]{ID: "deleteOAuth2Claim", Route: remove + claim, Tag: claimTag, Scopes: writeScope,
			Summary: "Deletes a claim", Find: lookup.In(s.Store, s.findClaim, (*claimTarget).self), Do: s.deleteClaim},

		rest.Op[target, []Key]{ID: "listAuthorizationServerKeys", Route: get + keys, Tag: keyTag, Scopes: readScope,
			Summary: "Lists the signing keys of a server", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.listKeys},
		rest.Op[keyTarget, Key]{ID: "getAuthorizationServerKey", Route: get + keys + "/{kid}", Tag: keyTag, Scopes: readScope,
			Summary: "Reads a signing key of a server", Find: lookup.In(s.Store, s.findKey, (*keyTarget).self), Do: s.getKey},
		rest.Op[rotateRequest, []Key]{ID: "rotateAuthorizationServerKeys", Route: post + one + "/credentials/lifecycle/keyRotate", Tag: keyTag,
			Scopes:  writeScope,
			Summary: "Rotates the signing keys: the next key becomes active", Find: lookup.In(s.Store, s.find, (*rotateRequest).self), Do: s.rotate},
	}
}

// target is the server in a path.
type target struct {
	Server string `path:"authServerId" doc:"Id of the authorization server, or default."`

	found docstore.Doc[model.AuthServer]
}

func (t *target) self() *target { return t }

// base returns the server of targets below a server.
func (t *target) base() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.FindAuthServer(ctx, q, t.Server)
	return rest.Missing(err, "AuthorizationServer", t.Server)
}

// change changes a server in a transaction, and logs the changed parts and the server. Rejections are logged as well.
func (s *Slice) change(ctx context.Context, t *target, event audit.Type,
	fn func(tx *docstore.Tx, server *model.AuthServer) (parts []model.LogParty, err error)) error {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		server := t.found.Value
		parts, err := fn(tx, &server)
		if err != nil {
			if err == errUnchanged { //nolint:errorlint // errUnchanged is never wrapped
				return nil
			}
			return err
		}
		if t.found, err = s.AuthServers.Update(ctx, tx, t.found.ID, t.found.Rev, server); err != nil {
			return err
		}
		targets := append(parts, audit.AuthServer(t.found.ID, &server))
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: targets})
	})
	return s.refused(ctx, t, event, err)
}

// refused logs that a change of the server was rejected.
func (s *Slice) refused(ctx context.Context, t *target, event audit.Type, err error) error {
	return audit.Refused(ctx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.AuthServer(t.found.ID, &t.found.Value)}}, err)
}
