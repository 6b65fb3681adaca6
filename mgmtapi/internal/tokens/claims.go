package tokens

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Reserved reports whether a name is that of a claim that only the server sets, in all tokens.
func Reserved(claim string) bool { return slices.Contains(reserved, claim) }

var reserved = []string{"iss", "aud", "exp", "iat", "jti", "ver", "cid", "scp", "uid"}

// reservedIdentity are the claims that, in addition to reserved, only the server sets in ID tokens.
var reservedIdentity = []string{"sub", "amr", "auth_time", "at_hash", "nonce", "idp"}

// Names returns the names that the expressions of claims can use.
func Names(ctx context.Context, d model.Deps, q docstore.Reader) (expression.Names, error) {
	user := map[string]expression.Kind{"id": expression.String}
	for _, name := range model.UserAttributes() {
		user[name] = expression.String
	}
	err := model.Each(ctx, q, d.UserSchemas, nil, func(doc docstore.Doc[model.UserSchema]) error {
		for name := range doc.Value.Custom {
			user[name] = expression.Any
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	appuser := map[string]expression.Kind{}
	for name := range new(model.AppSchema).All(true) {
		appuser[name] = expression.Any
	}
	appuser[model.AppUserName] = expression.String
	err = model.Each(ctx, q, d.AppSchemas, nil, func(doc docstore.Doc[model.AppSchema]) error {
		for name := range doc.Value.Custom {
			appuser[name] = expression.Any
		}
		return nil
	})
	return expression.Names{
		"user": user, "appuser": appuser,
		"app": {"id": expression.String, "name": expression.String, "label": expression.String, "clientId": expression.String,
			"profile": expression.Object},
		"org": {"id": expression.String},
	}, err
}

// CheckExpression returns the error in the expression of a claim, nil if it is valid.
func CheckExpression(text string, names expression.Names) error {
	_, err := expression.Compile(text, names)
	return err
}

// maxPrograms is the maximum number of cached compiled expressions.
const maxPrograms = 1000

// programs caches compiled expressions by their source.
type programs struct {
	mu     sync.Mutex
	byText map[string]*expression.Program
}

// get returns a compiled expression. It returns nil for an expression that no longer compiles because an attribute was deleted.
func (p *programs) get(text string, names func() (expression.Names, error)) (*expression.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program, ok := p.byText[text]; ok {
		return program, nil
	}
	known, err := names()
	if err != nil {
		return nil, err
	}
	program, err := expression.Compile(text, known)
	if err != nil {
		return nil, nil
	}
	if p.byText == nil || len(p.byText) >= maxPrograms {
		p.byText = map[string]*expression.Program{}
	}
	p.byText[text] = program
	return program, nil
}

// values returns the values for the expressions of claims.
func (r *Request) values(org string) expression.Values {
	app := r.Client.Value
	v := expression.Values{Objects: map[string]map[string]any{
		"app": {"id": r.Client.ID, "name": app.Name, "label": app.Label, "clientId": r.ClientID()},
		"org": {"id": org},
	}}
	if r.Person == nil {
		return v
	}
	profile := maps.Clone(r.Person.User.Value.Profile)
	if profile == nil {
		profile = map[string]any{}
	}
	for _, name := range r.Person.User.Value.Hidden {
		delete(profile, name)
	}
	profile["id"] = r.Person.User.ID
	v.Objects["user"] = profile
	appuser := maps.Clone(r.Person.Assignment.Value.Profile)
	if appuser == nil {
		appuser = map[string]any{}
	}
	appuser["userName"] = r.Person.Assignment.Value.UserName
	v.Objects["appuser"] = appuser
	for _, g := range r.Person.Groups {
		v.Groups = append(v.Groups, expression.Group{ID: g.ID, Name: g.Value.Name(), App: g.Value.App})
	}
	return v
}

// claims evaluates the claims of a type for the granted scopes. Claims without a value are omitted.
func (i *Issuer) claims(ctx context.Context, r *Request, claimType string, into map[string]any) error {
	names := func() (expression.Names, error) { return Names(ctx, i.Deps, i.Store.Reader()) }
	var values *expression.Values
	for _, c := range r.Server.Value.Claims {
		if c.Status != model.Active || c.ClaimType != claimType || !applies(&c, r.Scopes) {
			continue
		}
		if c.ValueType == model.ValueGroups {
			if r.Person != nil {
				into[c.Name] = matching(&c, r.Person.Groups)
			}
			continue
		}
		program, err := i.programs.get(c.Value, names)
		if err != nil {
			return err
		}
		if program == nil {
			continue
		}
		if values == nil {
			org, err := i.orgID(ctx)
			if err != nil {
				return err
			}
			values = new(r.values(org))
		}
		// An expression that fails for this user yields no value.
		if value, err := program.Eval(*values); err == nil && value != nil {
			into[c.Name] = value
		}
	}
	return nil
}

// applies reports whether a token contains a claim: if the claim has scopes, at least one of them must be granted. An ID token issued
// together with an access token contains only the claims marked as always included.
func applies(c *model.AuthClaim, granted []string) bool {
	if c.ClaimType == model.ClaimIdentity && !c.Always {
		return false
	}
	return len(c.Scopes) == 0 || slices.ContainsFunc(c.Scopes, func(scope string) bool { return slices.Contains(granted, scope) })
}

// matching returns the names of the groups that match a claim.
func matching(c *model.AuthClaim, groups []docstore.Doc[model.Group]) []string {
	match := Comparison(c.Filter, c.Value)
	out := []string{}
	for _, g := range groups {
		if match != nil && match(g.Value.Name()) {
			out = append(out, g.Value.Name())
		}
	}
	slices.Sort(out)
	return out
}

// Comparison returns the function that compares the names of groups with the value of a claim. It is nil if the kind is unknown or the
// value is not a regular expression.
func Comparison(kind, value string) func(name string) bool {
	switch kind {
	case model.GroupsStartWith:
		return func(name string) bool { return strings.HasPrefix(name, value) }
	case model.GroupsEqual:
		return func(name string) bool { return name == value }
	case model.GroupsContain:
		return func(name string) bool { return strings.Contains(name, value) }
	case model.GroupsMatch:
		pattern, err := regexp.Compile("^(?:" + value + ")$")
		if err != nil {
			return nil
		}
		return pattern.MatchString
	}
	return nil
}

// ReservedIdentity reports whether a name is that of a claim that only the server sets in ID tokens. It does not include the claims of
// Reserved.
func ReservedIdentity(claim string) bool { return slices.Contains(reservedIdentity, claim) }

// orgID returns the id of the organization, which changes only by a reset. On PostgreSQL, another process may reset the organization.
func (i *Issuer) orgID(ctx context.Context) (string, error) {
	if id, ok := i.org.Load().(string); ok && !i.Store.Shared() {
		return id, nil
	}
	org, err := i.Org(ctx, i.Store.Reader())
	if err == nil {
		i.org.Store(org.ID)
	}
	return org.ID, err
}
