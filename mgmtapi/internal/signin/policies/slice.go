package policies

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the policies.
type Slice struct{ model.Deps }

// New returns the slice and registers its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserDeleted) error { return s.forget(ctx, tx, e.ID) })
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.GroupDeleted) error { return s.forget(ctx, tx, e.ID) })
	return s
}

const tag = "Policies"

var (
	readScope  = []string{"svc.policies.read"}
	writeScope = []string{"svc.policies.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	const one = "/api/v1/policies/{policyId}"
	return append([]rest.Route{
		rest.Op[listRequest, rest.Page[Policy]]{
			ID: "listPolicies", Route: "GET /api/v1/policies", Tag: tag, Scopes: readScope, Summary: "Lists the policies of a type", Do: s.list,
		},
		rest.Op[createRequest, Policy]{
			ID: "createPolicy", Route: "POST /api/v1/policies", Tag: tag, Scopes: writeScope,
			Summary:     "Rejects the creation of a policy",
			Description: "Each type has one policy, which is a system policy. The response to a valid body is always 501.",
			Do: func(context.Context, *createRequest) (Policy, error) {
				return Policy{}, rest.Failf(rest.CodeUnsupported, "Each type has one policy, which is a system policy.")
			},
		},
		rest.Op[target, Policy]{
			ID: "getPolicy", Route: "GET " + one, Tag: tag, Scopes: readScope, Summary: "Reads a policy",
			Find: lookup.In(s.Store, s.find, (*target).self),
			Do:   func(ctx context.Context, r *target) (Policy, error) { return s.render(ctx, r.found, r.org), nil },
		},
		rest.Op[replaceRequest, Policy]{
			ID: "replacePolicy", Route: "PUT " + one, Tag: tag, Scopes: writeScope,
			Summary: "Replaces a policy",
			Description: "The description of every policy and the settings of the password policy can be replaced. Omitted settings " +
				"are set to their defaults.",
			Find:  lookup.In(s.Store, s.find, (*replaceRequest).self),
			Check: checkReplace, Do: s.replace,
		},
	}, s.ruleRoutes()...)
}

type listRequest struct {
	Type string `query:"type" required:"true" enum:"PASSWORD,SVC_SIGN_ON,MFA_ENROLL" doc:"Type of the policies."`
}

type createRequest struct {
	Body struct {
		Type string `json:"type" required:"true" enum:"PASSWORD,SVC_SIGN_ON,MFA_ENROLL" doc:"Type of the policy."`
		Name string `json:"name" required:"true" max:"255" doc:"Name of the policy."`
	} `body:"required"`
}

// target is the policy in a path.
type target struct {
	PolicyID string `path:"policyId" doc:"Id of the policy."`

	found    docstore.Doc[model.OrgPolicy]
	org      model.Org
	optional bool // Optional Password is enabled
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.optional = s.OptionalPassword
	if t.org, err = s.Org(ctx, q); err != nil {
		return err
	}
	t.found, err = s.OrgPolicies.Get(ctx, q, t.PolicyID)
	return rest.Missing(err, "Policy", t.PolicyID)
}

func (s *Slice) list(ctx context.Context, r *listRequest) (rest.Page[Policy], error) {
	org, err := s.Org(ctx, s.Store.Reader())
	if err != nil {
		return rest.Page[Policy]{}, err
	}
	doc, err := s.OrgPolicy(ctx, s.Store.Reader(), model.PolicyType(r.Type))
	if err != nil {
		return rest.Page[Policy]{}, err
	}
	return rest.Page[Policy]{Items: []Policy{s.render(ctx, doc, org)}}, nil
}

type replaceRequest struct {
	target
	Body PolicyInput `body:"required"`
}

// checkReplace rejects changes of the fixed members of a system policy.
func checkReplace(_ context.Context, r *replaceRequest, causes *rest.Causes) error {
	p, b := r.found.Value, r.Body
	fixed := func(member, value string) { causes.Add(member, "The value must stay %s in a system policy", value) }
	if b.Type != string(p.Type) && !causes.Has("type") {
		fixed("type", string(p.Type))
	}
	if b.Name != defaultName && !causes.Has("name") {
		fixed("name", defaultName)
	}
	if b.Status != "" && b.Status != active {
		fixed("status", active)
	}
	if b.Priority != nil && *b.Priority != 1 {
		fixed("priority", "1")
	}
	if b.Settings != nil {
		b.Settings.check(p.Type, r.optional, causes)
	}
	return nil
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (Policy, error) {
	var out Policy
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		p := r.found.Value
		p.Description = r.Body.Description
		switch {
		case p.Type == model.PolicyPassword:
			p.Password = r.Body.Settings.stored()
		case p.Type == model.PolicyEnroll && s.OptionalPassword:
			p.PasswordEnroll = r.Body.Settings.enrollment()
		}
		doc, err := s.OrgPolicies.Update(ctx, tx, r.found.ID, r.found.Rev, p)
		if err != nil {
			return err
		}
		out = s.render(ctx, doc, r.org)
		return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.PolicyUpdate, Targets: []model.LogParty{policyParty(doc)}})
	})
	return out, err
}

// policyParty returns a policy as a target of a log event.
func policyParty(doc docstore.Doc[model.OrgPolicy]) model.LogParty {
	return model.LogParty{ID: doc.ID, Type: audit.TypePolicy, AlternateID: string(doc.Value.Type), DisplayName: defaultName}
}
