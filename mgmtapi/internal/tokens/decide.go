package tokens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Person is the user for whom a token is issued, with the assignment to the application of the client and the groups.
type Person struct {
	User       docstore.Doc[model.User]
	Assignment docstore.Doc[model.AppUser]
	Groups     []docstore.Doc[model.Group]
}

// FindPerson returns the user with the data for tokens in an application, or access_denied if the user is not active or not assigned.
func FindPerson(ctx context.Context, d model.Deps, q docstore.Reader, app string, user docstore.Doc[model.User]) (*Person, error) {
	assignment, err := d.AppUsers.Get(ctx, q, model.AppUserID(app, user.ID))
	missing := errors.Is(err, docstore.ErrNotFound)
	if err != nil && !missing {
		return nil, err
	}
	if missing || !assignment.Value.Listed() || user.Value.Status != model.UserActive {
		return nil, rest.OAuthFail(rest.OAuthAccessDenied, "User is not assigned to the client application.")
	}
	p := &Person{User: user, Assignment: assignment}
	var ids []string
	err = model.Each(ctx, q, d.Memberships, docstore.Eq(model.MembershipByUser, user.ID), func(m docstore.Doc[model.Membership]) error {
		ids = append(ids, m.Value.Group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.Groups, err = d.Groups.GetMany(ctx, q, ids)
	return p, err
}

// in reports whether a rule applies to the user.
func (p *Person) in(people *model.RulePeople) bool {
	member := func(id string) bool {
		return id == model.EveryoneToken || slices.ContainsFunc(p.Groups, func(g docstore.Doc[model.Group]) bool { return g.ID == id })
	}
	return people.Has(p.User.ID, member)
}

// RequestedScopes splits and validates the scope parameter. If it is empty, the result is the default scopes.
func RequestedScopes(s *model.AuthServer, asked string) ([]string, error) {
	var scopes []string
	for _, name := range strings.Fields(asked) {
		if s.Scope(name) == nil {
			return nil, rest.OAuthFail(rest.OAuthInvalidScope, fmt.Sprintf("The scope %.100q is not one of this authorization server.", name))
		}
		if !slices.Contains(scopes, name) {
			scopes = append(scopes, name)
		}
	}
	if len(scopes) > 0 {
		return scopes, nil
	}
	for _, scope := range s.Scopes {
		if scope.Default {
			scopes = append(scopes, scope.Name)
		}
	}
	if len(scopes) == 0 {
		return nil, rest.OAuthFail(rest.OAuthInvalidScope, "The request names no scope, and the authorization server has no default scopes.")
	}
	return scopes, nil
}

// KnownScopes returns the given scopes without those that the server no longer has.
func KnownScopes(s *model.AuthServer, scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(name string) bool { return s.Scope(name) == nil })
}

// Decision is the policy and the rule that permit the issue of a token.
type Decision struct {
	Policy *model.AuthPolicy
	Rule   *model.AuthRule
}

// Decide returns the first active rule that applies, from the first active policy for the client. person is nil for a token of the client
// itself.
func Decide(s *model.AuthServer, client, grant string, person *Person, scopes []string) (Decision, error) {
	i := slices.IndexFunc(s.Policies, func(p model.AuthPolicy) bool { return p.Status == model.Active && covers(&p, client) })
	if i < 0 {
		return Decision{}, rest.OAuthFail(rest.OAuthAccessDenied, "No policy of the authorization server applies to the client.")
	}
	p := &s.Policies[i]
	for j := range p.Rules {
		if r := &p.Rules[j]; r.Status == model.Active && fits(r, grant, person, scopes) {
			return Decision{p, r}, nil
		}
	}
	return Decision{}, rest.OAuthFail(rest.OAuthAccessDenied,
		"Policy evaluation failed for this request, please check the policy configurations.")
}

func covers(p *model.AuthPolicy, client string) bool {
	return slices.Contains(p.Clients, model.AllClients) || slices.Contains(p.Clients, client)
}

func fits(r *model.AuthRule, grant string, person *Person, scopes []string) bool {
	if !slices.Contains(r.Grants, grant) || person != nil && !person.in(&r.People) {
		return false
	}
	return slices.Contains(r.Scopes, model.AnyScope) ||
		!slices.ContainsFunc(scopes, func(name string) bool { return !slices.Contains(r.Scopes, name) })
}

// DecideAgain reports whether the policy and the rule of a refresh token still permit a token for the client. It ignores all other policies
// and rules.
func DecideAgain(s *model.AuthServer, t *model.RefreshToken, person *Person, scopes []string) (Decision, error) {
	refused := rest.OAuthFail(rest.OAuthInvalidGrant,
		"The policy or the rule that the refresh token was issued under no longer permits the request.")
	p := s.Policy(t.Policy)
	if p == nil || p.Status != model.Active || !covers(p, t.ClientID) {
		return Decision{}, refused
	}
	r := p.Rule(t.Rule)
	if r == nil || r.Status != model.Active || !fits(r, t.Grant, person, scopes) {
		return Decision{}, refused
	}
	return Decision{p, r}, nil
}
