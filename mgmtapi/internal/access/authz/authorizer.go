package authz

import (
	"context"
	"errors"
	"sync"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Authorizer decides for every operation whether the caller may run it. It is an callers.Authorizer.
type Authorizer struct {
	*Loader
	deps  model.Deps
	needs sync.Map // ruling by method and path template
}

// ruling is what the table says of an operation.
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

// New makes an authorizer.
func New(d model.Deps) *Authorizer { return &Authorizer{Loader: NewLoader(d), deps: d} }

// Authorize returns nil when the caller may run the operation on what the path of the request names, and an error with
// rest.CodeForbidden when not. What the caller may do stays with the request, see From.
func (a *Authorizer) Authorize(ctx context.Context, p rest.Principal, op rest.Info) error {
	if role, ok := p.Standing.(*superAdminRole); ok { // it may do everything, which needs no snapshot
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

// Standing tells that a user is a SUPER_ADMIN itself. What others may do depends on their groups too.
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
	// Roles are those of the application, whose id need not be the client_id.
	app, err := a.deps.FindOAuthClient(ctx, q, p.ClientID)
	if err != nil {
		return nil, rest.Missing(err, "OAuth2Client", p.ClientID)
	}
	return a.Client(ctx, q, app.ID)
}

// Decision says whether an operation may run, and why.
type Decision struct {
	Allowed bool
	// Known says that the table has a rule for the operation.
	Known bool
	// Checks are the needs of the operation, up to the first one that is not met.
	Checks []Check
}

// Check is what became of a need.
type Check struct {
	Need Need
	// Resource is what it is about; Missing says that it does not exist.
	Resource Resource
	Missing  bool
	Met      bool
	// Grants says for each grant of the caller how it stands to the need, in their order.
	Grants []Why
}

// Explain is Authorize with its reasons, for a caller that may be somebody else. value gives the path variables by name.
func (a *Authorizer) Explain(
	ctx context.Context, q docstore.Reader, access *Access, op rest.Info, value func(name string) string,
) (Decision, error) {
	return a.decide(ctx, q, access, op, value, true)
}

// decide is the decision function: everything else asks it, or Access.Meets for what is only known later.
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
				check.Need.Later, check.Need.Into, check.Need.OutOf = true, 0, 0 // "not found" is the answer to whoever may do it elsewhere
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
			gains := !check.Met && check.Need.moves() && access.gains(&check.Resource)
			for i := range access.Grants {
				why := access.Grants[i].meets(&check.Need, &check.Resource)
				if gains && why == WhyMet {
					why = WhyGains
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

// resource reads what a decision has to know of a resource, and whether it exists.
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
		if server, err = a.deps.FindAuthServer(ctx, q, ref); err == nil { // a path may call one by another name than its id
			r.ID = server.ID
		}
	case KindIAM, KindNone:
	}
	if errors.Is(err, docstore.ErrNotFound) {
		return r, false, nil
	}
	return r, true, err
}

// me is how callers name themselves in paths.
const me = "me"

// describeUser reads the groups of a user, and how far its roles protect it: not from itself.
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

// superAdmin says whether a user is a SUPER_ADMIN, itself or through one of its groups.
func superAdmin(ctx context.Context, q docstore.Reader, d model.Deps, user string, groups []string) (bool, error) {
	for _, assignee := range append([]string{user}, groups...) {
		found, err := model.Optional(ctx, q, d.RoleAssignments, model.RoleAssignmentID(assignee, model.RoleSuperAdmin))
		if err != nil || found != nil {
			return found != nil, err
		}
	}
	return false, nil
}
