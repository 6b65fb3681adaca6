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

// Status says whether something is in force.
type Status string

// The statuses.
const (
	Active   Status = "ACTIVE"
	Inactive Status = "INACTIVE"
)

// AuthServer is a custom authorization server with everything that decides about its tokens. It is one document, so that a token
// is never issued under half a change.
type AuthServer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Audience    string `json:"audience"`
	Status      Status `json:"status"`
	Default     bool   `json:"default,omitempty"`
	// IssuerMode says which address is the issuer. Defaults to IssuerOrg.
	IssuerMode IssuerMode `json:"issuerMode,omitempty"`
	// ManualRotation says that keys only change when somebody asks for it.
	ManualRotation bool `json:"manualRotation,omitempty"`
	// Changed is when the server itself last changed, whatever became of its parts.
	Changed time.Time `json:"changed"`
	// Policies are in the order of their priorities.
	Policies []AuthPolicy `json:"policies"`
	// Scopes and Claims are in the order in which they were made.
	Scopes []AuthScope `json:"scopes"`
	Claims []AuthClaim `json:"claims"`
	// LastSeq is the highest Seq that a scope has had.
	LastSeq int64 `json:"lastSeq"`
}

// IssuerMode says which address is the issuer of an authorization server.
type IssuerMode string

// The issuer modes.
const (
	IssuerOrg     IssuerMode = "ORG_URL"    // that of the organization
	IssuerCustom  IssuerMode = "CUSTOM_URL" // that at the custom domain
	IssuerDynamic IssuerMode = "DYNAMIC"    // that at the custom domain for requests to it, else that of the organization
)

// AllClients in AuthPolicy.Clients stands for every client.
const AllClients = "ALL_CLIENTS"

// EveryoneToken among the groups of a rule stands for every user.
const EveryoneToken = "EVERYONE"

// AnyScope among the scopes of a rule stands for every scope.
const AnyScope = "*"

// AuthPolicy decides for which clients its rules are.
type AuthPolicy struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Status      Status     `json:"status"`
	System      bool       `json:"system,omitempty"`
	Created     time.Time  `json:"created"`
	Updated     time.Time  `json:"updated"`
	Clients     []string   `json:"clients"` // client ids, or AllClients
	Rules       []AuthRule `json:"rules"`   // in the order of their priorities
}

// AuthRule says who gets which tokens under a policy.
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
	// AccessMinutes is how long an access token lives.
	AccessMinutes int `json:"accessMinutes"`
	// RefreshMinutes is how long a refresh token lives, 0 for as long as it is used.
	RefreshMinutes int `json:"refreshMinutes"`
	// WindowMinutes is how long a refresh token lives without being used.
	WindowMinutes int `json:"windowMinutes"`
	// Hook is the id of the inline hook that transforms tokens, empty for none.
	Hook string `json:"hook,omitempty"`
}

// RulePeople are the users of a rule: the included ones that are not excluded.
type RulePeople struct {
	Users         []string `json:"users,omitempty"`
	ExcludeUsers  []string `json:"excludeUsers,omitempty"`
	Groups        []string `json:"groups,omitempty"` // ids, or EveryoneToken
	ExcludeGroups []string `json:"excludeGroups,omitempty"`
}

// Has reports whether a user, who is a member of some groups, is among the people.
func (p *RulePeople) Has(user string, member func(group string) bool) bool {
	if slices.Contains(p.ExcludeUsers, user) || slices.ContainsFunc(p.ExcludeGroups, member) {
		return false
	}
	return slices.Contains(p.Users, user) || slices.ContainsFunc(p.Groups, member)
}

// Forget takes a deleted user or group out.
func (p *RulePeople) Forget(id string) {
	gone := func(other string) bool { return other == id }
	p.Users, p.ExcludeUsers = slices.DeleteFunc(p.Users, gone), slices.DeleteFunc(p.ExcludeUsers, gone)
	p.Groups, p.ExcludeGroups = slices.DeleteFunc(p.Groups, gone), slices.DeleteFunc(p.ExcludeGroups, gone)
}

// AuthScope is what a client can ask for.
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
	Published   bool   `json:"published,omitempty"` // in the metadata
}

// The consents of a scope.
const (
	ConsentImplicit = "IMPLICIT"
	ConsentRequired = "REQUIRED"
	ConsentFlexible = "FLEXIBLE"
)

// AuthClaim is what a token says beside what it must say.
type AuthClaim struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Status    Status   `json:"status"`
	ClaimType string   `json:"claimType"` // RESOURCE or IDENTITY
	ValueType string   `json:"valueType"` // EXPRESSION, GROUPS or SYSTEM
	Value     string   `json:"value"`
	Filter    string   `json:"filter,omitempty"` // how GROUPS are compared with the value
	Scopes    []string `json:"scopes,omitempty"`
	Always    bool     `json:"always,omitempty"` // in every ID token, whatever else is issued
	System    bool     `json:"system,omitempty"`
}

// The types of claims, of their values, and of comparisons of groups.
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
	AuthServerByDefault = "is_default" // true for the default server, unique
	AuthServerByRef     = "ref"        // ids of clients, users, groups and hooks that policies and rules name
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

// refs lists what policies and rules name, once each.
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

// Policy returns a policy by its id, nil when there is none. It is the server's own.
func (s *AuthServer) Policy(id string) *AuthPolicy {
	if i := slices.IndexFunc(s.Policies, func(p AuthPolicy) bool { return p.ID == id }); i >= 0 {
		return &s.Policies[i]
	}
	return nil
}

// Rule returns a rule by its id, nil when there is none. It is the policy's own.
func (p *AuthPolicy) Rule(id string) *AuthRule {
	if i := slices.IndexFunc(p.Rules, func(r AuthRule) bool { return r.ID == id }); i >= 0 {
		return &p.Rules[i]
	}
	return nil
}

// Scope returns a scope by its name, nil when there is none. It is the server's own.
func (s *AuthServer) Scope(name string) *AuthScope {
	if i := slices.IndexFunc(s.Scopes, func(c AuthScope) bool { return c.Name == name }); i >= 0 {
		return &s.Scopes[i]
	}
	return nil
}

// DefaultServerName is the name of the server that is there from the start, and what stands for its id in paths and in its issuer.
const DefaultServerName = "default"

// EventAuthServerDeleted is the topic of AuthServerDeleted.
const EventAuthServerDeleted = "authserver.deleted"

// AuthServerDeleted tells that an authorization server is gone, with its keys and tokens.
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

// NewAuthServer is a server as it begins: active, with the scopes and the claim of the system, and nothing that would let anybody in.
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

// SubjectExpression is what the claim of the system says unless it is changed: the user's name in the application, else the client.
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

// SetUpDefaultServer makes the default server, with its policy and rule, and the keys of the org server, when there is none.
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

// Lifetimes of tokens, in minutes, for rules that do not say.
const (
	DefaultAccessMinutes = 60
	DefaultWindowMinutes = 10080
)

// GrantTypes are those that rules can allow.
var GrantTypes = []string{
	GrantAuthorizationCode, GrantImplicit, GrantPassword, GrantClientCredentials, "interaction_code",
	"urn:ietf:params:oauth:grant-type:device_code", "urn:ietf:params:oauth:grant-type:token-exchange",
	"urn:ietf:params:oauth:grant-type:jwt-bearer", "urn:ietf:params:oauth:grant-type:saml2-bearer", "urn:openid:params:grant-type:ciba",
}

// OrgRing is the document id of the keys of the org authorization server.
const OrgRing = "org"

// KeyRing says which keys an authorization server has. Its document id is that of the server, or OrgRing. It names the keys by
// their ids alone: a key is made when it is first looked at.
type KeyRing struct {
	Active  string `json:"active"`
	Next    string `json:"next"`
	Expired string `json:"expired,omitempty"`
	// Rotated is when Active became active.
	Rotated time.Time `json:"rotated"`
	// Since is when automatic rotation was enabled, if Active was active before. The period of Active starts then.
	Since time.Time `json:"since,omitzero"`
}

// NewKeyRing returns the ring of a new server.
func NewKeyRing(now time.Time) KeyRing {
	return KeyRing{Active: NewSecret(KIDLength), Next: NewSecret(KIDLength), Rotated: now}
}

// Rotate makes the next key the active one. It drops the key that expired before.
func (r *KeyRing) Rotate(now time.Time) {
	*r = KeyRing{Active: r.Next, Next: NewSecret(KIDLength), Expired: r.Active, Rotated: now}
}

// RotationPeriod is the time for which a key is active under automatic rotation.
const RotationPeriod = 90 * 24 * time.Hour

// Due returns when automatic rotation replaces the active key.
func (r *KeyRing) Due() time.Time {
	start := r.Rotated
	if r.Since.After(start) {
		start = r.Since
	}
	return start.Add(RotationPeriod)
}

// RotateIfDue rotates once if the active key is past its period, and reports whether it was. However long ago that was, the next key
// becomes the active one: clients may have read it already, and the tokens of the last key stay verifiable.
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
	Server string      `json:"server"` // as in the id of KeyRing
	Key    signkey.Key `json:"key"`
}

// AuthKeyByServer is the index of the keys by their server.
const AuthKeyByServer = "server"

func authKeyCollection() docstore.Collection[AuthKey] {
	return docstore.NewCollection("auth_keys",
		docstore.Index[AuthKey]{Name: AuthKeyByServer, Values: func(k *AuthKey) []any { return []any{k.Server} }},
	)
}
