package authservers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// policyType is the only type of policy.
const policyType = "OAUTH_AUTHORIZATION_POLICY"

// Limits of a server, which bound the size of its document.
const (
	maxPolicies = 50
	maxRules    = 50 // maximum number of rules of a policy
	maxScopes   = 500
	maxClaims   = 500
	maxNamed    = 100 // clients of a policy; users, groups or scopes of a rule
)

// Policy is a policy in JSON.
type Policy struct {
	ID          string       `json:"id" readOnly:"true" doc:"Id of the policy."`
	Type        string       `json:"type" readOnly:"true" enum:"OAUTH_AUTHORIZATION_POLICY" doc:"Always OAUTH_AUTHORIZATION_POLICY."`
	Status      model.Status `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"Whether the policy is in force."`
	Name        string       `json:"name" readOnly:"true" doc:"Name of the policy."`
	Description string       `json:"description" readOnly:"true" doc:"Description of the policy."`
	Priority    int          `json:"priority" readOnly:"true" doc:"Position among the policies of the server, from 1."`
	System      bool         `json:"system" readOnly:"true" doc:"Whether the policy is built in and cannot be deleted."`
	Conditions  PolicyPeople `json:"conditions" readOnly:"true" doc:"Clients that the policy applies to."`
	Created     rest.Time    `json:"created" readOnly:"true" doc:"When the policy was created."`
	LastUpdated rest.Time    `json:"lastUpdated" readOnly:"true" doc:"When the policy last changed."`
	Links       rest.Links   `json:"_links" readOnly:"true" doc:"Links to the operations on the policy."`
}

// PolicyPeople are the clients that a policy applies to.
type PolicyPeople struct {
	Clients Included `json:"clients" doc:"Clients."`
}

// Included lists the objects of a condition.
type Included struct {
	Include []string `json:"include" doc:"Names or ids."`
}

// PolicyInput is the body of a new or replaced policy.
type PolicyInput struct {
	ID string `json:"id" empty:"absent" doc:"Id of the policy. A replacement must name it; a new policy receives one."`

	Type string `json:"type" empty:"absent" enum:"OAUTH_AUTHORIZATION_POLICY" doc:"Always OAUTH_AUTHORIZATION_POLICY; may be omitted."`

	Status      model.Status `json:"status" empty:"absent" enum:"ACTIVE,INACTIVE" doc:"Whether the policy is in force. Default: ACTIVE."`
	Name        string       `json:"name" max:"255" required:"true" doc:"Name of the policy."`
	Description string       `json:"description" max:"1024" required:"true" doc:"Description of the policy."`
	Priority    int          `json:"priority" min:"0" required:"true"`
	Conditions  PolicyPeople `json:"conditions"`
}

// MoreTags implements rest.Described.
func (PolicyInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"priority": `doc:"Position among the policies, from 1. The other policies are renumbered. 0 appends a new policy and retains the ` +
			`position of an existing one."`,
		"conditions": `doc:"Clients that the policy applies to: ALL_CLIENTS or ids. A policy whose clients were deleted names none and ` +
			`applies to no client."`,
	}
}

// showPolicy renders the policy at a position.
func showPolicy(ctx context.Context, server string, at int, p *model.AuthPolicy) Policy {
	url := func(segments ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "authorizationServers", server, "policies", p.ID}, segments...)...)
	}
	out := Policy{
		ID: p.ID, Type: policyType, Status: p.Status, Name: p.Name, Description: p.Description, Priority: at + 1, System: p.System,
		Conditions: PolicyPeople{Included{append([]string{}, p.Clients...)}}, Created: rest.TimeOf(p.Created),
		LastUpdated: rest.TimeOf(p.Updated),
		Links:       rest.Links{"self": rest.To(url(), get, put, remove), "rules": rest.To(url("rules"), get)},
	}
	lifecycle(out.Links, p.Status, url)
	return out
}

// checkPolicy records the errors of a policy that its tags do not detect. A new policy must name a client. A policy whose last client was
// deleted has none, applies to no client, and can be sent back as it was read.
func (s *Slice) checkPolicy(ctx context.Context, q docstore.Reader, in *PolicyInput, isNew bool, causes *rest.Causes) error {
	const member = "conditions.clients.include"
	switch include := in.Conditions.Clients.Include; {
	case include == nil || isNew && len(include) == 0:
		causes.Blank(member)
	case len(include) > maxNamed:
		causes.Add(member, "The field must have at most %d elements", maxNamed)
		return nil
	}
	for i, id := range in.Conditions.Clients.Include {
		if id == model.AllClients {
			continue
		}
		_, err := s.FindOAuthClient(ctx, q, id)
		if errors.Is(err, docstore.ErrNotFound) {
			causes.Add(fmt.Sprintf("%s[%d]", member, i), "Unknown client id %.100q", id)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// place inserts an element at its priority, counted from 1. With the priority 0, or a priority past the end, the element becomes the last
// one.
func place[T any](list []T, element T, priority int) []T {
	at := len(list)
	if priority > 0 && priority <= at {
		at = priority - 1
	}
	return slices.Insert(list, at, element)
}

// policyTarget is the policy in a path.
type policyTarget struct {
	target
	Policy string `path:"policyId" doc:"Id of the policy."`
}

func (t *policyTarget) self() *policyTarget { return t }

func (s *Slice) findPolicy(ctx context.Context, q docstore.Reader, t *policyTarget) error {
	return findPart(ctx, s, q, t)
}

func (t *policyTarget) at(server *model.AuthServer) (spot[model.AuthPolicy], error) {
	return locate(&server.Policies, "Policy", t.Policy, func(p *model.AuthPolicy) bool { return p.ID == t.Policy }, policyParties)
}

func policyParties(p *model.AuthPolicy) []model.LogParty {
	return []model.LogParty{audit.Part(audit.TypePolicy, p.ID, p.Name)}
}

func (s *Slice) listPolicies(ctx context.Context, t *target) ([]Policy, error) {
	out := []Policy{}
	for i := range t.found.Value.Policies {
		out = append(out, showPolicy(ctx, t.found.ID, i, &t.found.Value.Policies[i]))
	}
	return out, nil
}

func (s *Slice) getPolicy(ctx context.Context, t *policyTarget) (Policy, error) {
	at, err := t.at(&t.found.Value)
	if err != nil {
		return Policy{}, err
	}
	return showPolicy(ctx, t.found.ID, at.i, at.part()), nil
}

type createPolicyRequest struct {
	target
	Body PolicyInput `body:"required"`
}

func (s *Slice) createPolicy(ctx context.Context, r *createPolicyRequest) (Policy, error) {
	p := model.AuthPolicy{ID: model.NewID(model.KindPolicy), Status: model.Active, Rules: []model.AuthRule{}}
	err := s.change(ctx, &r.target, audit.PolicyCreate, func(tx *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		if len(server.Policies) >= maxPolicies {
			return nil, rest.Invalid("policies", "An authorization server can have at most %d policies", maxPolicies)
		}
		p.Created = s.Now()
		if err := s.applyPolicy(ctx, tx, &r.Body, &p); err != nil {
			return nil, err
		}
		server.Policies = place(server.Policies, p, r.Body.Priority)
		return policyParties(&p), nil
	})
	if err != nil {
		return Policy{}, err
	}
	return s.getPolicy(ctx, &policyTarget{target: r.target, Policy: p.ID})
}

// applyPolicy validates a body and applies it to a policy.
func (s *Slice) applyPolicy(ctx context.Context, tx *docstore.Tx, in *PolicyInput, p *model.AuthPolicy) error {
	var causes rest.Causes
	if err := s.checkPolicy(ctx, tx, in, p.Updated.IsZero(), &causes); err != nil {
		return err
	}
	if err := causes.Err(); err != nil {
		return err
	}
	p.Name, p.Description, p.Clients, p.Updated = in.Name, in.Description, unique(in.Conditions.Clients.Include), s.Now()
	if in.Status != "" {
		p.Status = in.Status
	}
	return nil
}

// unique returns the texts without repetitions, in their order.
func unique(texts []string) []string {
	out := []string{}
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

type replacePolicyRequest struct {
	policyTarget
	Body PolicyInput `body:"required"`
}

// checkReplacePolicy requires the id of the policy.
func checkReplacePolicy(_ context.Context, r *replacePolicyRequest, causes *rest.Causes) error {
	switch r.Body.ID {
	case "":
		causes.Blank("id")
	case r.Policy:
	default:
		causes.Add("id", "The id must be the same as in the path")
	}
	return nil
}

func (s *Slice) replacePolicy(ctx context.Context, r *replacePolicyRequest) (Policy, error) {
	err := replacePart(ctx, s, r, audit.PolicyUpdate, r.Body.Priority,
		func(tx *docstore.Tx, _ *model.AuthServer, p *model.AuthPolicy) error {
			return s.applyPolicy(ctx, tx, &r.Body, p)
		})
	if err != nil {
		return Policy{}, err
	}
	return s.getPolicy(ctx, &r.policyTarget)
}

func (s *Slice) deletePolicy(ctx context.Context, t *policyTarget) (rest.NoContent, error) {
	return rest.NoContent{}, deletePart(ctx, s, t, audit.PolicyDelete, "policy", "policyId",
		func(p *model.AuthPolicy) bool { return p.System })
}

func policyStatus(p *model.AuthPolicy) (*model.Status, *time.Time) { return &p.Status, &p.Updated }
