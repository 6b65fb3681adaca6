package authz

import (
	"context"
	"errors"
	"sync"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Authorizer decides for every operation whether the caller may run it. It implements callers.Authorizer.
type Authorizer struct {
	*Loader
	deps  model.Deps
	needs sync.Map // from the method and the path template of an operation to its ruling
}

// ruling is the table entry of an operation.
type ruling struct {
	needs     []Need
	known     bool
	variables []string
}

func (a *Authorizer) ruling(op rest.Info) ruling {
	key := op.Method + " " + op.Path
	if kept, ok := a.needs.Load(key); ok {
		return kept.(ruling)
	}
	out := ruling{variables: variablesOf(op.Path)}
	out.needs, out.known = NeedsOf(op.Method, op.Path)
	a.needs.Store(key, out)
	return out
}

// New returns an authorizer.
func New(d model.Deps) *Authorizer { return &Authorizer{Loader: NewLoader(d), deps: d} }

// Authorize returns nil if the caller may run the operation on the resource in the request path, otherwise an error with
// rest.CodeForbidden. The grants of the caller are stored in the request context, see From.
func (a *Authorizer) Authorize(ctx context.Context, p rest.Principal, op rest.Info) error {
	if role, ok := p.Standing.(*superAdminRole); ok { // a SUPER_ADMIN may run every operation, so no data is read
		rest.Admit(ctx, role.access(p.UserID))
		return nil
	}
	return a.deps.Store.View(ctx, func(q docstore.Reader) error {
		access, err := a.of(ctx, q, p)
		if err != nil {
			return err
		}
		d, err := a.decide(ctx, q, access, op, func(name string) string { return rest.PathVar(ctx, name) }, false)
		if err != nil {
			return err
		}
		if !d.Allowed {
			return rest.Fail(rest.CodeForbidden)
		}
		rest.Admit(ctx, access)
		return nil
	})
}

// Standing returns the role of a user who is a SUPER_ADMIN by an assignment of its own, nil for other users: their permissions depend on
// their groups, too.
func (a *Authorizer) Standing(ctx context.Context, q docstore.Reader, user string) (any, []docstore.Version, error) {
	role, versions, err := a.super(ctx, q, user)
	if role == nil {
		return nil, nil, err
	}
	return role, versions, nil
}

func (a *Authorizer) of(ctx context.Context, q docstore.Reader, p rest.Principal) (*Access, error) {
	if p.ClientID == "" {
		return a.User(ctx, q, p.UserID)
	}
	// Roles are assigned to the application, whose id can differ from the client_id.
	app, err := a.deps.FindOAuthClient(ctx, q, p.ClientID)
	if err != nil {
		return nil, rest.Missing(err, "OAuth2Client", p.ClientID)
	}
	return a.Client(ctx, q, app.ID)
}

// Decision is the result for one operation, with its reasons.
type Decision struct {
	Allowed bool
	// Known reports whether the table has a rule for the operation.
	Known bool
	// Checks holds one result per need of the operation, up to the first unmet need.
	Checks []Check
}

// Check is the result for one need.
type Check struct {
	Need Need
	// Resource is the resource of the need; Missing reports that it does not exist.
	Resource Resource
	Missing  bool
	Met      bool
	// Grants holds one result per grant of the caller, in the order of the grants.
	Grants []Why
}

// Explain returns the decision with its reasons, for any caller. The function `value` returns the value of the path variable with a name.
func (a *Authorizer) Explain(
	ctx context.Context, q docstore.Reader, access *Access, op rest.Info, value func(name string) string,
) (Decision, error) {
	return a.decide(ctx, q, access, op, value, true)
}

// decide makes the decision for both Authorize and Explain. Operations check the conditions that depend on the request body later, with
// Access.Meets.
func (a *Authorizer) decide(
	ctx context.Context, q docstore.Reader, access *Access, op rest.Info, value func(name string) string, explain bool,
) (d Decision, err error) {
	table := a.ruling(op)
	d = Decision{Allowed: true, Known: table.known}
	if access.super && !explain {
		return d, nil
	}
	for _, n := range table.needs {
		check := Check{Need: n, Resource: Resource{Kind: n.Kind, Whole: true, OAuth: n.Kind == KindClient}}
		if n.Var > 0 && n.Var <= len(table.variables) {
			if !explain && !protects(&n) && access.meetsAny(&n) {
				continue
			}
			var found bool
			if check.Resource, found, err = a.resource(ctx, q, access, &n, value(table.variables[n.Var-1])); err != nil {
				return d, err
			}
			if found && n.Of != KindNone {
				var of Resource
				if of, found, err = a.resource(ctx, q, access, &Need{Kind: n.Of}, value(table.variables[1])); err != nil {
					return d, err
				}
				check.Resource.Groups = of.Groups
			}
			if check.Missing = !found; check.Missing {
				// a caller with the permission for another resource of the kind passes, so that the operation returns "not found"
				check.Need.Later, check.Need.Into, check.Need.OutOf = true, 0, 0
			}
			if n.Into > 0 {
				check.Resource.Into = value(table.variables[n.Into-1])
			}
			if n.OutOf > 0 {
				check.Resource.OutOf = value(table.variables[n.OutOf-1])
			}
		}
		check.Met = access.Meets(&check.Need, &check.Resource)
		if explain {
			gains := !check.Met && check.Need.moves() && access.escalates(&check.Resource)
			for i := range access.Grants {
				why := access.Grants[i].meets(&check.Need, &check.Resource)
				if gains && why == WhyMet {
					why = WhyEscalates
				}
				check.Grants = append(check.Grants, why)
			}
			d.Checks = append(d.Checks, check)
		}
		if !check.Met {
			d.Allowed = false
			return d, nil
		}
	}
	return d, nil
}

// resource reads the properties of a resource that a decision needs, and reports whether the resource exists.
func (a *Authorizer) resource(ctx context.Context, q docstore.Reader, access *Access, n *Need, ref string) (Resource, bool, error) {
	r := Resource{Kind: n.Kind, ID: ref}
	var err error
	switch n.Kind {
	case KindUser:
		if ref == me {
			ref = access.User
		}
		var user docstore.Doc[model.User]
		if user, err = a.deps.FindUser(ctx, q, ref); err == nil {
			r.ID = user.ID
			err = a.describeUser(ctx, q, access, &r, protects(n))
		}
	case KindToken:
		var token docstore.Doc[model.APIToken]
		if token, err = a.deps.APITokens.Get(ctx, q, ref); err == nil {
			r.ID = token.Value.UserID
			err = a.describeUser(ctx, q, access, &r, protects(n))
		}
	case KindGroup:
		r.Groups = []string{ref}
		if _, err = a.deps.Groups.Get(ctx, q, ref); err == nil && protects(n) {
			r.Protected, err = protectionOfGroup(ctx, q, a.deps, ref)
		}
	case KindApp, KindClient:
		var app docstore.Doc[model.App]
		if n.Kind == KindApp {
			app, err = a.deps.Apps.Get(ctx, q, ref)
		} else {
			app, err = a.deps.FindClient(ctx, q, ref)
		}
		if err == nil {
			r.ID, r.Type, r.OAuth = app.ID, app.Value.Name, app.Value.OAuth()
			if protects(n) {
				r.Protected, err = protectionOfApp(ctx, q, a.deps, app.ID)
			}
		}
	case KindServer:
		var server docstore.Doc[model.AuthServer]
		// a path identifies the default server by its id or by the name "default"
		if server, err = a.deps.FindAuthServer(ctx, q, ref); err == nil {
			r.ID = server.ID
		}
	case KindIAM, KindNone:
	}
	if errors.Is(err, docstore.ErrNotFound) {
		return r, false, nil
	}
	return r, true, err
}

// me identifies the calling user in paths.
const me = "me"

// describeUser sets Groups and, if protect is set, Protected of a user. Protected is not set for the calling user: the roles of callers do
// not prevent them from changing themselves.
func (a *Authorizer) describeUser(ctx context.Context, q docstore.Reader, access *Access, r *Resource, protect bool) (err error) {
	if r.Groups, err = groupsOf(ctx, q, a.deps, r.ID); err != nil || !protect || r.ID == access.User {
		return err
	}
	r.Protected, err = protectionOf(ctx, q, a.deps, r.ID, r.Groups)
	return err
}

// groupsOf lists the groups of a user.
func groupsOf(ctx context.Context, q docstore.Reader, d model.Deps, user string) ([]string, error) {
	var groups []string
	err := model.Each(ctx, q, d.Memberships, docstore.Eq(model.MembershipByUser, user), func(m docstore.Doc[model.Membership]) error {
		groups = append(groups, m.Value.Group)
		return nil
	})
	return groups, err
}

// superAdmin reports whether a user is a SUPER_ADMIN, directly or through one of its groups.
func superAdmin(ctx context.Context, q docstore.Reader, d model.Deps, user string, groups []string) (bool, error) {
	for _, assignee := range append([]string{user}, groups...) {
		found, err := model.Optional(ctx, q, d.RoleAssignments, model.RoleAssignmentID(assignee, model.RoleSuperAdmin))
		if err != nil || found != nil {
			return found != nil, err
		}
	}
	return false, nil
}
