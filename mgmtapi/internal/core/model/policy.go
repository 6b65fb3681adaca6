package model

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// PolicyType is the type of a policy of the organization.
type PolicyType string

// The types. Each type has one policy, a system policy.
const (
	PolicyPassword PolicyType = "PASSWORD"
	PolicySignOn   PolicyType = "SVC_SIGN_ON"
	PolicyEnroll   PolicyType = "MFA_ENROLL"
)

// PolicyTypes lists the types.
func PolicyTypes() []PolicyType { return []PolicyType{PolicyPassword, PolicySignOn, PolicyEnroll} }

// OrgPolicy is a policy of the organization. It applies to all users.
type OrgPolicy struct {
	Type        PolicyType `json:"type"`
	Description string     `json:"description"`
	// Rule is the id of its built-in rule.
	Rule string `json:"rule"`
	// Password are the settings of PolicyPassword.
	Password *PasswordSettings `json:"password,omitempty"`
	// PasswordEnroll is the password setting of PolicyEnroll, empty for PasswordRequired.
	PasswordEnroll PasswordEnrollment `json:"passwordEnroll,omitempty"`
	// SignOn holds the rules of PolicySignOn before the built-in rule, in the order of their evaluation.
	SignOn []SignOnRule `json:"signOn,omitempty"`
}

// PasswordEnrollment determines whether users have passwords.
type PasswordEnrollment string

// The values: users need a password, may have one, or have none.
const (
	PasswordRequired   PasswordEnrollment = "REQUIRED"
	PasswordOptional   PasswordEnrollment = "OPTIONAL"
	PasswordNotAllowed PasswordEnrollment = "NOT_ALLOWED"
)

// PasswordEnrollment returns the password setting of the enrollment policy. It is PasswordRequired unless Optional Password is enabled.
func (d Deps) PasswordEnrollment(ctx context.Context, q docstore.Reader) (PasswordEnrollment, error) {
	if !d.OptionalPassword {
		return PasswordRequired, nil
	}
	doc, err := d.OrgPolicy(ctx, q, PolicyEnroll)
	return cmp.Or(doc.Value.PasswordEnroll, PasswordRequired), err
}

// SignOnRule is a rule for the sign-ins of some users. The first active rule that applies to a user decides.
type SignOnRule struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Status  Status     `json:"status"`
	People  RulePeople `json:"people"`
	Access  string     `json:"access"` // AccessAllow or AccessDeny
	Factor  bool       `json:"factor,omitempty"`
	Prompt  string     `json:"prompt,omitempty"` // the interval at which the factor is required
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// The values of SignOnRule.Access.
const (
	AccessAllow = "ALLOW"
	AccessDeny  = "DENY"
)

// SignOnRuleFor returns the rule of the sign-on policy that applies to the sign-ins of a user. It returns nil if no rule applies: then the
// built-in rule applies, which allows a sign-in with the password alone.
func (d Deps) SignOnRuleFor(ctx context.Context, q docstore.Reader, user string) (*SignOnRule, error) {
	policy, err := d.OrgPolicy(ctx, q, PolicySignOn)
	if err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(slices.Clone(policy.Value.SignOn), func(r SignOnRule) bool { return r.Status != Active })
	if len(active) == 0 {
		return nil, nil
	}
	groups := map[string]bool{EveryoneToken: true}
	err = Each(ctx, q, d.Memberships, docstore.Eq(MembershipByUser, user), func(m docstore.Doc[Membership]) error {
		groups[m.Value.Group] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range active {
		if active[i].People.Has(user, func(group string) bool { return groups[group] }) {
			return &active[i], nil
		}
	}
	return nil, nil
}

// PasswordSettings define which passwords are allowed, their lifetime, and the lockout. The zero value allows everything.
type PasswordSettings struct {
	// MinLength and the following members are numbers of characters.
	MinLength, MinLower, MinUpper, MinNumber, MinSymbol int
	// ExcludeLogin rejects passwords with parts of the login, ExcludeAttributes passwords with the value of one of the attributes.
	ExcludeLogin      bool
	ExcludeAttributes []string

	// MaxAge is the age at which a password expires. MinAge is the age before which a password cannot be changed. Zero means no limit.
	MaxAge, MinAge time.Duration
	// History is the number of last passwords, including the current one, that a new password must differ from.
	History int

	// MaxAttempts is the number of consecutive failed attempts that locks a user out. Zero means no limit.
	MaxAttempts int
	// AutoUnlock is the time after which a lockout ends automatically. Zero means never.
	AutoUnlock time.Duration
	// HideLockout makes the response to a locked-out user the same as for a wrong password.
	HideLockout bool

	// MinAnswer is the minimum length of the answer to a recovery question. TokenLife is the lifetime of a password reset link.
	MinAnswer int
	TokenLife time.Duration
}

// DefaultPasswordSettings returns the initial settings of an organization.
func DefaultPasswordSettings() PasswordSettings {
	return PasswordSettings{
		MinLength: 8, MinLower: 1, MinUpper: 1, MinNumber: 1, ExcludeLogin: true, History: 4, MaxAttempts: 10,
		MinAnswer: 4, TokenLife: time.Hour,
	}
}

// OrgPolicyByType is the index of the policies by their type.
const OrgPolicyByType = "type"

func orgPolicyCollection() docstore.Collection[OrgPolicy] {
	return docstore.NewCollection("org_policies",
		docstore.Index[OrgPolicy]{Name: OrgPolicyByType, Unique: true, Values: func(p *OrgPolicy) []any {
			return []any{string(p.Type)}
		}}).Cached()
}

// ErrNoPolicy is returned if an organization has no policy of a type because it was not set up.
var ErrNoPolicy = errors.New("policy of this type not found")

// OrgPolicy reads the policy of a type.
func (d Deps) OrgPolicy(ctx context.Context, q docstore.Reader, of PolicyType) (docstore.Doc[OrgPolicy], error) {
	page, err := d.OrgPolicies.Query(ctx, q, docstore.Query[OrgPolicy]{Where: docstore.Eq(OrgPolicyByType, string(of)), Limit: 1})
	if err != nil {
		return docstore.Doc[OrgPolicy]{}, err
	}
	if len(page.Docs) == 0 {
		return docstore.Doc[OrgPolicy]{}, ErrNoPolicy
	}
	return page.Docs[0], nil
}

// PasswordPolicy reads the settings for passwords.
func (d Deps) PasswordPolicy(ctx context.Context, q docstore.Reader) (PasswordSettings, error) {
	doc, err := d.OrgPolicy(ctx, q, PolicyPassword)
	if err != nil || doc.Value.Password == nil {
		return PasswordSettings{}, err
	}
	return *doc.Value.Password, nil
}

// SetUpPolicies creates the missing policies.
func (d Deps) SetUpPolicies(ctx context.Context, tx *docstore.Tx) error {
	for _, of := range PolicyTypes() {
		_, err := d.OrgPolicy(ctx, tx, of)
		if !errors.Is(err, ErrNoPolicy) {
			if err != nil {
				return err
			}
			continue
		}
		p := OrgPolicy{Type: of, Rule: NewID(KindGroupRule), Description: "The default policy applies in all situations."}
		if of == PolicyPassword {
			p.Password = new(DefaultPasswordSettings())
		}
		if _, err := d.OrgPolicies.Insert(ctx, tx, NewID(KindPolicy), p); err != nil {
			return err
		}
	}
	return nil
}
