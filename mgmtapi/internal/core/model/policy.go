package model

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// PolicyType says what a policy of the organisation is about.
type PolicyType string

// The types. There is one policy of each, which belongs to the system.
const (
	PolicyPassword PolicyType = "PASSWORD"
	PolicySignOn   PolicyType = "SVC_SIGN_ON"
	PolicyEnroll   PolicyType = "MFA_ENROLL"
)

// PolicyTypes lists the types.
func PolicyTypes() []PolicyType { return []PolicyType{PolicyPassword, PolicySignOn, PolicyEnroll} }

// OrgPolicy is a policy of the organisation. It applies to everyone.
type OrgPolicy struct {
	Type        PolicyType `json:"type"`
	Description string     `json:"description"`
	// Rule is the id of its one rule.
	Rule string `json:"rule"`
	// Password are the settings of PolicyPassword.
	Password *PasswordSettings `json:"password,omitempty"`
	// PasswordEnroll is what PolicyEnroll says of passwords; empty for PasswordRequired.
	PasswordEnroll PasswordEnrollment `json:"passwordEnroll,omitempty"`
	// SignOn are the rules of PolicySignOn before its own one, in the order in which they are evaluated.
	SignOn []SignOnRule `json:"signOn,omitempty"`
}

// PasswordEnrollment says whether users have passwords.
type PasswordEnrollment string

// Users need a password, may have one, or have none.
const (
	PasswordRequired   PasswordEnrollment = "REQUIRED"
	PasswordOptional   PasswordEnrollment = "OPTIONAL"
	PasswordNotAllowed PasswordEnrollment = "NOT_ALLOWED"
)

// PasswordEnrollment returns what the enrollment policy says of passwords: PasswordRequired, unless Optional Password is enabled.
func (d Deps) PasswordEnrollment(ctx context.Context, q docstore.Reader) (PasswordEnrollment, error) {
	if !d.OptionalPassword {
		return PasswordRequired, nil
	}
	doc, err := d.OrgPolicy(ctx, q, PolicyEnroll)
	return cmp.Or(doc.Value.PasswordEnroll, PasswordRequired), err
}

// SignOnRule is a rule about the sign-ins of some users. The first active one that a user is among decides.
type SignOnRule struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Status  Status     `json:"status"`
	People  RulePeople `json:"people"`
	Access  string     `json:"access"` // AccessAllow or AccessDeny
	Factor  bool       `json:"factor,omitempty"`
	Prompt  string     `json:"prompt,omitempty"` // how often the factor is required
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// What a SignOnRule says of access.
const (
	AccessAllow = "ALLOW"
	AccessDeny  = "DENY"
)

// SignOnRuleFor returns the rule of the sign-on policy that decides about the sign-ins of a user. Without one, the rule of the policy
// itself decides, which allows them with the password alone: nil.
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

// PasswordSettings say which passwords are good, for how long, and how often one may be wrong. The zero value allows everything.
type PasswordSettings struct {
	// MinLength and the others are numbers of characters.
	MinLength, MinLower, MinUpper, MinNumber, MinSymbol int
	// ExcludeLogin refuses passwords with parts of the login, ExcludeAttributes those with the value of such an attribute.
	ExcludeLogin      bool
	ExcludeAttributes []string

	// MaxAge is when a password has to be changed, MinAge how long it cannot be; 0 for never and not at all.
	MaxAge, MinAge time.Duration
	// History is how many of the last passwords, the present one included, a new one must differ from.
	History int

	// MaxAttempts is how many failed attempts in a row lock a user out; 0 for never.
	MaxAttempts int
	// AutoUnlock is when a lock-out ends by itself; 0 for never.
	AutoUnlock time.Duration
	// HideLockout answers locked-out users as if the password were wrong.
	HideLockout bool

	// MinAnswer is the length of the shortest answer to a recovery question, TokenLife how long the link to a new password is good.
	MinAnswer int
	TokenLife time.Duration
}

// DefaultPasswordSettings are the settings that an organisation begins with.
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

// ErrNoPolicy says that an organisation has no policy of a type: it was not set up.
var ErrNoPolicy = errors.New("there is no policy of this type")

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

// SetUpPolicies makes the policies that are not there yet.
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
