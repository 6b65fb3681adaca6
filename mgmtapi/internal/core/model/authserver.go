package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Status determines whether an object is in effect.
type Status string

// The statuses.
const (
	Active   Status = "ACTIVE"
	Inactive Status = "INACTIVE"
)

// AuthServer is a custom authorization server with all settings that affect its tokens. They are one document, so that a token is never
// issued from a partial change.
type AuthServer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Audience    string `json:"audience"`
	Status      Status `json:"status"`
	Default     bool   `json:"default,omitempty"`
	// IssuerMode selects the address that is the issuer. Default: IssuerOrg.
	IssuerMode IssuerMode `json:"issuerMode,omitempty"`
	// ManualRotation disables the automatic rotation: keys only change on request.
	ManualRotation bool `json:"manualRotation,omitempty"`
	// Changed is the time of the last change to the server itself, without its policies, scopes and claims.
	Changed time.Time `json:"changed"`
	// Policies is sorted by priority.
	Policies []AuthPolicy `json:"policies"`
	// Scopes and Claims are in the order of their creation.
	Scopes []AuthScope `json:"scopes"`
	Claims []AuthClaim `json:"claims"`
	// LastSeq is the highest Seq that any scope has had.
	LastSeq int64 `json:"lastSeq"`
}

// IssuerMode selects the address that is the issuer of an authorization server.
type IssuerMode string

// The issuer modes.
const (
	IssuerOrg     IssuerMode = "ORG_URL"    // the URL of the organization
	IssuerCustom  IssuerMode = "CUSTOM_URL" // the URL at the custom domain
	IssuerDynamic IssuerMode = "DYNAMIC"    // the URL at the custom domain for requests to that domain, otherwise the URL of the organization
)

// AllClients in AuthPolicy.Clients matches every client.
const AllClients = "ALL_CLIENTS"

// EveryoneToken in the groups of a rule matches every user.
const EveryoneToken = "EVERYONE"

// AnyScope in the scopes of a rule matches every scope.
const AnyScope = "*"

// AuthPolicy is a list of rules for some clients.
type AuthPolicy struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Status      Status     `json:"status"`
	System      bool       `json:"system,omitempty"`
	Created     time.Time  `json:"created"`
	Updated     time.Time  `json:"updated"`
	Clients     []string   `json:"clients"` // client ids, or AllClients
	Rules       []AuthRule `json:"rules"`   // sorted by priority
}

// AuthRule determines which users receive which tokens under a policy.
type AuthRule struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Status  Status     `json:"status"`
	System  bool       `json:"system,omitempty"`
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
	People  RulePeople `json:"people"`
	Grants  []string   `json:"grants"` // grant types
	Scopes  []string   `json:"scopes"` // names, or AnyScope
	// AccessMinutes is the lifetime of an access token, in minutes.
	AccessMinutes int `json:"accessMinutes"`
	// RefreshMinutes is the lifetime of a refresh token, in minutes. Zero means that a token does not expire while it is used.
	RefreshMinutes int `json:"refreshMinutes"`
	// WindowMinutes is the time after which an unused refresh token expires, in minutes.
	WindowMinutes int `json:"windowMinutes"`
	// Hook is the id of the inline hook that transforms tokens, empty if unset.
	Hook string `json:"hook,omitempty"`
}

// RulePeople selects the users of a rule: the included users without the excluded ones.
type RulePeople struct {
	Users         []string `json:"users,omitempty"`
	ExcludeUsers  []string `json:"excludeUsers,omitempty"`
	Groups        []string `json:"groups,omitempty"` // ids, or EveryoneToken
	ExcludeGroups []string `json:"excludeGroups,omitempty"`
}

// Has reports whether the rule applies to a user. member reports whether the user is a member of a group.
func (p *RulePeople) Has(user string, member func(group string) bool) bool {
	if slices.Contains(p.ExcludeUsers, user) || slices.ContainsFunc(p.ExcludeGroups, member) {
		return false
	}
	return slices.Contains(p.Users, user) || slices.ContainsFunc(p.Groups, member)
}

// Forget removes the id of a deleted user or group.
func (p *RulePeople) Forget(id string) {
	gone := func(other string) bool { return other == id }
	p.Users, p.ExcludeUsers = slices.DeleteFunc(p.Users, gone), slices.DeleteFunc(p.ExcludeUsers, gone)
	p.Groups, p.ExcludeGroups = slices.DeleteFunc(p.Groups, gone), slices.DeleteFunc(p.ExcludeGroups, gone)
}

// AuthScope is a scope that a client can request.
type AuthScope struct {
	ID          string `json:"id"`
	Seq         int64  `json:"seq"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
	Description string `json:"description,omitempty"`
	System      bool   `json:"system,omitempty"`
	Default     bool   `json:"default,omitempty"`
	Consent     string `json:"consent"` // IMPLICIT, REQUIRED or FLEXIBLE
	Optional    bool   `json:"optional,omitempty"`
	Published   bool   `json:"published,omitempty"` // listed in the metadata
}

// The consents of a scope.
const (
	ConsentImplicit = "IMPLICIT"
	ConsentRequired = "REQUIRED"
	ConsentFlexible = "FLEXIBLE"
)

// AuthClaim is a claim of tokens in addition to the mandatory ones.
type AuthClaim struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Status    Status   `json:"status"`
	ClaimType string   `json:"claimType"` // RESOURCE or IDENTITY
	ValueType string   `json:"valueType"` // EXPRESSION, GROUPS or SYSTEM
	Value     string   `json:"value"`
	Filter    string   `json:"filter,omitempty"` // how Value is compared with the names of groups, for GROUPS
	Scopes    []string `json:"scopes,omitempty"`
	Always    bool     `json:"always,omitempty"` // whether every ID token has the claim, even if an access token is issued with it
	System    bool     `json:"system,omitempty"`
}

// The types of claims, of their values, and of group comparisons.
const (
	ClaimResource = "RESOURCE" // in access tokens
	ClaimIdentity = "IDENTITY" // in ID tokens

	ValueExpression = "EXPRESSION"
	ValueGroups     = "GROUPS"
	ValueSystem     = "SYSTEM"

	GroupsStartWith = "STARTS_WITH"
	GroupsEqual     = "EQUALS"
	GroupsContain   = "CONTAINS"
	GroupsMatch     = "REGEX"
)

// ClaimSubject is the name of the one system claim.
const ClaimSubject = "sub"

// The indexes of the authorization servers.
const (
	AuthServerByDefault = "is_default" // has the value true for the default server only, unique
	AuthServerByRef     = "ref"        // index by each id of a client, user, group or hook in policies and rules
)

func authServerCollection() docstore.Collection[AuthServer] {
	return docstore.NewCollection("auth_servers",
		docstore.Index[AuthServer]{Name: AuthServerByDefault, Unique: true, Values: func(s *AuthServer) []any {
			if !s.Default {
				return nil
			}
			return []any{"true"}
		}},
		docstore.Index[AuthServer]{Name: AuthServerByRef, Multi: true, Values: func(s *AuthServer) []any { return anySlice(s.refs()) }},
	)
}

// refs returns the ids that policies and rules refer to, without duplicates.
func (s *AuthServer) refs() []string {
	var out []string
	for _, p := range s.Policies {
		out = append(out, p.Clients...)
		for _, r := range p.Rules {
			out = slices.Concat(out, r.People.Users, r.People.ExcludeUsers, r.People.Groups, r.People.ExcludeGroups)
			if r.Hook != "" {
				out = append(out, r.Hook)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Forget removes the id of a deleted object from all policies and rules.
func (s *AuthServer) Forget(id string) {
	for i := range s.Policies {
		p := &s.Policies[i]
		p.Clients = slices.DeleteFunc(p.Clients, func(other string) bool { return other == id })
		for j := range p.Rules {
			p.Rules[j].People.Forget(id)
			if p.Rules[j].Hook == id {
				p.Rules[j].Hook = ""
			}
		}
	}
}

// Policy returns a pointer to the policy with the id, nil if it does not exist.
func (s *AuthServer) Policy(id string) *AuthPolicy {
	if i := slices.IndexFunc(s.Policies, func(p AuthPolicy) bool { return p.ID == id }); i >= 0 {
		return &s.Policies[i]
	}
	return nil
}

// Rule returns a pointer to the rule with the id, nil if it does not exist.
func (p *AuthPolicy) Rule(id string) *AuthRule {
	if i := slices.IndexFunc(p.Rules, func(r AuthRule) bool { return r.ID == id }); i >= 0 {
		return &p.Rules[i]
	}
	return nil
}

// Scope returns a pointer to the scope with the name, nil if it does not exist.
func (s *AuthServer) Scope(name string) *AuthScope {
	if i := slices.IndexFunc(s.Scopes, func(c AuthScope) bool { return c.Name == name }); i >= 0 {
		return &s.Scopes[i]
	}
	return nil
}

// DefaultServerName is the name of the built-in server. It replaces the server's id in paths and in its issuer.
const DefaultServerName = "default"

// EventAuthServerDeleted is the topic of AuthServerDeleted.
const EventAuthServerDeleted = "authserver.deleted"

// AuthServerDeleted reports that an authorization server was deleted, with its keys and tokens.
type AuthServerDeleted struct {
	ID string `json:"id"`
}

// Topic implements Event.
func (AuthServerDeleted) Topic() string { return EventAuthServerDeleted }

// Key implements Event with the id of the server.
func (e AuthServerDeleted) Key() string { return e.ID }

// FindAuthServer returns the server with an id, the default server for DefaultServerName, or docstore.ErrNotFound.
func (d Deps) FindAuthServer(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[AuthServer], error) {
	if ref != DefaultServerName {
		return d.AuthServers.Get(ctx, q, ref)
	}
	page, err := d.AuthServers.Query(ctx, q, docstore.Query[AuthServer]{Where: docstore.Eq(AuthServerByDefault, "true"), Limit: 1})
	if err == nil && len(page.Docs) == 0 {
		err = docstore.ErrNotFound
	}
	if err != nil {
		return docstore.Doc[AuthServer]{}, fmt.Errorf("authorization server: %w", err)
	}
	return page.Docs[0], nil
}

// NewAuthServer returns a new server: active, with the system scopes and the system claim, and without a policy, so that no client gets a
// token.
func NewAuthServer(now time.Time, name, description, audience string) AuthServer {
	s := AuthServer{Name: name, Description: description, Audience: audience, Status: Active, Changed: now}
	for _, scope := range systemScopes {
		s.LastSeq++
		scope.ID, scope.Seq, scope.System, scope.Published = NewID(KindAuthScope), s.LastSeq, true, true
		s.Scopes = append(s.Scopes, scope)
	}
	s.Claims = []AuthClaim{{
		ID: NewID(KindAuthClaim), Name: ClaimSubject, Status: Active, ClaimType: ClaimResource, ValueType: ValueSystem,
		Value: SubjectExpression, Always: true, System: true,
	}}
	return s
}

// SubjectExpression is the default expression of the system claim: the user's name in the application, for a client its id.
const SubjectExpression = "(appuser != null) ? appuser.userName : app.clientId"

// The scopes that every server has.
const (
	ScopeOpenID  = "openid"
	ScopeProfile = "profile"
	ScopeEmail   = "email"
	ScopeAddress = "address"
	ScopePhone   = "phone"
	ScopeOffline = "offline_access"
	scopeDevice  = "device_sso"
)

var systemScopes = []AuthScope{
	{Name: ScopeOpenID, DisplayName: "Signal that this is an OpenID request.", Description: "Signals that a request is an OpenID request.",
		Consent: ConsentImplicit},
	{Name: ScopeProfile, DisplayName: "View your profile information.",
		Description: "The exact data varies based on what profile information you have provided.", Consent: ConsentImplicit},
	{Name: ScopeEmail, DisplayName: "View your email address.", Description: "This allows the app to view your email address.",
		Consent: ConsentImplicit},
	{Name: ScopeAddress, DisplayName: "View your address.", Description: "This allows the app to view your address.",
		Consent: ConsentImplicit},
	{Name: ScopePhone, DisplayName: "View your phone number.", Description: "This allows the app to view your phone number.",
		Consent: ConsentImplicit},
	{Name: ScopeOffline, DisplayName: "Keep you signed in to the app.",
		Description: "This keeps you signed in to the app, even when you are not using it.", Consent: ConsentImplicit},
	{Name: scopeDevice, DisplayName: "Use a device secret.", Description: "This allows the app to obtain and use a device secret.",
		Consent: ConsentImplicit},
}

// SetUpDefaultServer creates the default server, with its policy and rule, and the keys of the org authorization server, if they do not
// exist.
func (d Deps) SetUpDefaultServer(ctx context.Context, tx *docstore.Tx) error {
	_, err := d.FindAuthServer(ctx, tx, DefaultServerName)
	if !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	now := tx.Now()
	s := NewAuthServer(now, DefaultServerName, "Default Authorization Server for your Applications", "api://default")
	s.Default = true
	s.Policies = []AuthPolicy{{
		ID: NewID(KindPolicy), Name: "Default Policy", Description: "Default policy description", Status: Active, System: true,
		Created: now, Updated: now, Clients: []string{AllClients},
		Rules: []AuthRule{{
			ID: NewID(KindPolicyRule), Name: "Default Policy Rule", Status: Active, System: true, Created: now, Updated: now,
			People: RulePeople{Groups: []string{EveryoneToken}}, Grants: slices.Clone(GrantTypes), Scopes: []string{AnyScope},
			AccessMinutes: DefaultAccessMinutes, WindowMinutes: DefaultWindowMinutes,
		}},
	}}
	if _, err := d.InsertAuthServer(ctx, tx, s); err != nil {
		return err
	}
	_, err = d.KeyRings.Insert(ctx, tx, OrgRing, NewKeyRing(now))
	return err
}

// InsertAuthServer stores a new server with its keys.
func (d Deps) InsertAuthServer(ctx context.Context, tx *docstore.Tx, s AuthServer) (docstore.Doc[AuthServer], error) {
	doc, err := d.AuthServers.Insert(ctx, tx, NewID(KindAuthServer), s)
	if err != nil {
		return doc, err
	}
	_, err = d.KeyRings.Insert(ctx, tx, doc.ID, NewKeyRing(s.Changed))
	return doc, err
}

// Default lifetimes of tokens, in minutes.
const (
	DefaultAccessMinutes = 60
	DefaultWindowMinutes = 10080
)

// GrantTypes lists the grant types that rules can allow.
var GrantTypes = []string{
	GrantAuthorizationCode, GrantImplicit, GrantPassword, GrantClientCredentials, "interaction_code",
	"urn:ietf:params:oauth:grant-type:device_code", "urn:ietf:params:oauth:grant-type:token-exchange",
	"urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:saml2-bearer", "urn:openid:params:grant-type:ciba",
}

// OrgRing is the document id of the keys of the org authorization server.
const OrgRing = "org"

// KeyRing lists the keys of an authorization server. Its document id is the id of the server, or OrgRing. It only has the ids of the
// keys: the key with an id is created when it is first read.
type KeyRing struct {
	Active  string `json:"active"`
	Next    string `json:"next"`
	Expired string `json:"expired,omitempty"`
	// Rotated is the time at which Active became active.
	Rotated time.Time `json:"rotated"`
	// Since is the time at which the server last changed from manual to automatic rotation, zero if Active became active later. If Since is
	// set, the period of Active starts at Since instead of Rotated.
	Since time.Time `json:"since,omitzero"`
}

// NewKeyRing returns the key ring of a new server.
func NewKeyRing(now time.Time) KeyRing {
	return KeyRing{Active: NewSecret(KIDLength), Next: NewSecret(KIDLength), Rotated: now}
}

// Rotate makes the next key the active one and drops the previously expired key.
func (r *KeyRing) Rotate(now time.Time) {
	*r = KeyRing{Active: r.Next, Next: NewSecret(KIDLength), Expired: r.Active, Rotated: now}
}

// RotationPeriod is the time for which a key is active under automatic rotation.
const RotationPeriod = 90 * 24 * time.Hour

// Due returns the time at which automatic rotation replaces the active key.
func (r *KeyRing) Due() time.Time {
	start := r.Rotated
	if r.Since.After(start) {
		start = r.Since
	}
	return start.Add(RotationPeriod)
}

// RotateIfDue rotates once if the active key is past its period, and reports whether it rotated. It rotates once even if several periods
// have passed: clients may have read the next key already, and the tokens of the last key stay verifiable.
func (r *KeyRing) RotateIfDue(now time.Time) bool {
	if now.Before(r.Due()) {
		return false
	}
	r.Rotate(now)
	return true
}

func keyRingCollection() docstore.Collection[KeyRing] {
	return docstore.NewCollection[KeyRing]("key_rings")
}

// AuthKey is a key of an authorization server. Its document id is the id of the key.
type AuthKey struct {
	Server string      `json:"server"` // the document id of the KeyRing
	Key    signkey.Key `json:"key"`
}

// AuthKeyByServer is the index of the keys by their server.
const AuthKeyByServer = "server"

func authKeyCollection() docstore.Collection[AuthKey] {
	return docstore.NewCollection("auth_keys",
		docstore.Index[AuthKey]{Name: AuthKeyByServer, Values: func(k *AuthKey) []any { return []any{k.Server} }},
	)
}
