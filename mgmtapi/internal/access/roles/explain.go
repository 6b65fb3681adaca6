package roles

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Explanation reports whether a request would be permitted, and why.
type Explanation struct {
	Allowed   bool     `json:"allowed" readOnly:"true" doc:"Whether the roles permit the request. An access token also needs the scopes."`
	Operation string   `json:"operation" readOnly:"true" doc:"Id of the operation."`
	Scopes    []string `json:"scopes" readOnly:"true" doc:"Scopes that an access token needs."`
	Reason    string   `json:"reason" readOnly:"true" doc:"The decision in one sentence."`
	// Checks holds the results of the needs, up to the first unmet need.
	Checks []ExplainedCheck `json:"checks" readOnly:"true" doc:"Results of the access checks of the operation, up to the first failed one."`
}

// ExplainedCheck is the result for one need of an operation.
type ExplainedCheck struct {
	Need        string   `json:"need" readOnly:"true" doc:"Access that a standard role must have."`
	Permissions []string `json:"permissions" readOnly:"true" doc:"Permissions, one of which a custom role must have."`
	Resource    string   `json:"resource" readOnly:"true" doc:"Id of the resource, empty for a collection."`

	Exists bool `json:"exists" readOnly:"true" doc:"Whether the resource exists. If not, a role for any resource of its kind meets the need."`

	Met   bool             `json:"met" readOnly:"true" doc:"Whether a role meets the need."`
	Roles []ExplainedGrant `json:"roles" readOnly:"true" doc:"Result for each role of the caller."`
}

// ExplainedGrant is the result for one role assignment.
type ExplainedGrant struct {
	Assignment  string         `json:"assignment" readOnly:"true" doc:"Id of the assignment."`
	Type        model.RoleType `json:"type" readOnly:"true" doc:"Standard role, or CUSTOM."`
	Role        string         `json:"role,omitempty" readOnly:"true" doc:"Id of the custom role."`
	ResourceSet string         `json:"resource-set,omitempty" readOnly:"true" doc:"Id of the resource set."`
	Group       string         `json:"group,omitempty" readOnly:"true" doc:"Group through which the caller has the role."`
	Met         bool           `json:"met" readOnly:"true" doc:"Whether the assignment meets the need."`
	Why         string         `json:"why" readOnly:"true" doc:"Why the assignment does not meet the need."`
}

type explainRequest struct {
	User   string `query:"user" doc:"Id or login of the caller, or me."`
	Client string `query:"client" doc:"Id of the calling client, instead of a user."`
	Method string `query:"method" default:"GET" enum:"GET,POST,PUT,PATCH,DELETE" doc:"Method of the request."`
	Path   string `query:"path" required:"true" doc:"Path of the request, without its query: /api/v1/users/00u1."`
}

// checkExplain checks that the request names exactly one caller.
func checkExplain(_ context.Context, r *explainRequest, causes *rest.Causes) error {
	if (r.User == "") == (r.Client == "") {
		causes.Add("user", "Either a user or a client must be given")
	}
	return nil
}

func (s *Slice) explainRoute() rest.Route {
	return rest.Op[explainRequest, Explanation]{
		ID: "explainAuthorization", Route: "GET /sandbox/v1/authz/explain", Tag: "Sandbox", Scopes: []string{"svc.sandbox.manage"},
		Summary: "Explains which role permits a request, or why no role does", Check: checkExplain, Do: s.explain,
	}
}

func (s *Slice) explain(ctx context.Context, r *explainRequest) (Explanation, error) {
	op, vars, ok := s.route(r.Method, r.Path)
	if !ok {
		return Explanation{}, rest.Invalid("path", "Unknown operation %s %s", r.Method, r.Path)
	}
	out := Explanation{Operation: op.ID, Scopes: op.Scopes, Checks: []ExplainedCheck{}}
	if op.Public {
		out.Allowed, out.Scopes, out.Reason = true, []string{}, "The operation requires no authentication."
		return out, nil
	}
	err := s.Store.View(ctx, func(q docstore.Reader) error {
		access, active, err := s.caller(ctx, q, r)
		if err != nil {
			return err
		}
		d, err := s.authorizer.Explain(ctx, q, access, op, func(name string) string { return vars[name] })
		if err != nil {
			return err
		}
		out.Allowed = d.Allowed && active && (len(access.Grants) > 0 || access.Client != "")
		out.Reason = reason(access, d, active)
		for _, c := range d.Checks {
			out.Checks = append(out.Checks, explained(access, c))
		}
		return nil
	})
	return out, err
}

// caller reads the grants of the named caller, and reports whether the caller is active.
func (s *Slice) caller(ctx context.Context, q docstore.Reader, r *explainRequest) (*authz.Access, bool, error) {
	if r.Client != "" {
		app, err := s.FindClient(ctx, q, r.Client)
		if err != nil {
			return nil, false, rest.Missing(err, "OAuth2Client", r.Client)
		}
		access, err := s.authorizer.Client(ctx, q, app.ID)
		return access, app.Value.Status == model.AppActive, err
	}
	user, err := callers.FindUser(ctx, s.Deps, q, r.User)
	if err != nil {
		return nil, false, err
	}
	access, err := s.authorizer.User(ctx, q, user.ID)
	return access, user.Value.Status == model.UserActive, err
}

func reason(a *authz.Access, d authz.Decision, active bool) string {
	switch {
	case !active:
		return "The caller is not active."
	case len(a.Grants) == 0 && a.Client == "":
		return "The caller has no role."
	case len(a.Grants) == 0 && d.Allowed:
		return "A client without a role is limited by its scopes only."
	case d.Allowed:
		return "A role meets the need of each check."
	case !d.Known:
		return "Only a SUPER_ADMIN may run the operation."
	default:
		return "No role meets the need of the last check: " + d.Checks[len(d.Checks)-1].Need.String() + "."
	}
}

func explained(a *authz.Access, c authz.Check) ExplainedCheck {
	out := ExplainedCheck{
		Need: c.Need.String(), Permissions: append([]string{}, c.Need.Permissions...), Resource: c.Resource.ID, Exists: !c.Missing, Met: c.Met,
		Roles: []ExplainedGrant{},
	}
	for i, why := range c.Grants {
		g := a.Grants[i]
		out.Roles = append(out.Roles, ExplainedGrant{
			Assignment: g.Assignment, Type: g.Type, Role: g.Role, ResourceSet: g.Set, Group: g.Via, Met: why == authz.WhyMet, Why: string(why),
		})
	}
	return out
}

// route finds the operation of a request and its path variables. Literal segments have precedence over variables.
func (s *Slice) route(method, path string) (op rest.Info, vars map[string]string, ok bool) {
	segments := strings.Split(strings.TrimRight(path, "/"), "/")
	fewest := len(segments) + 1
	for _, info := range s.operations() {
		template := strings.Split(info.Path, "/")
		if info.Method != method || len(template) != len(segments) {
			continue
		}
		found := map[string]string{}
		for i, segment := range template {
			if name, isVariable := strings.CutPrefix(segment, "{"); isVariable {
				found[strings.TrimSuffix(name, "}")] = segments[i]
			} else if segment != segments[i] {
				found = nil
				break
			}
		}
		if found != nil && len(found) < fewest {
			op, vars, ok, fewest = info, found, true, len(found)
		}
	}
	return op, vars, ok
}
