package users

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// User is a user in the API.
type User struct {
	ID              string       `json:"id" readOnly:"true" doc:"Id of the user."`
	Status          string       `json:"status" readOnly:"true" doc:"Status, see the lifecycle operations."`
	TransitioningTo string       `json:"transitioningToStatus,omitempty" readOnly:"true"`
	Created         rest.Time    `json:"created" readOnly:"true" doc:"When the user was created."`
	Activated       *rest.Time   `json:"activated" readOnly:"true" doc:"When the user was last activated from STAGED or DEPROVISIONED."`
	StatusChanged   *rest.Time   `json:"statusChanged" readOnly:"true" doc:"When the status last changed."`
	LastLogin       *rest.Time   `json:"lastLogin" readOnly:"true" doc:"When the user last signed in."`
	LastUpdated     rest.Time    `json:"lastUpdated" readOnly:"true" doc:"When the user was last changed."`
	PasswordChanged *rest.Time   `json:"passwordChanged" readOnly:"true" doc:"When the password last changed."`
	Type            Type         `json:"type" readOnly:"true" doc:"User type, which selects the profile schema."`
	Profile         Profile      `json:"profile" readOnly:"true" doc:"Attributes of the user."`
	Credentials     *Credentials `json:"credentials,omitempty" readOnly:"true" doc:"Credentials, without their secrets."`
	Embedded        *Embedded    `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
	Links           rest.Links   `json:"_links" readOnly:"true" doc:"Links to the operations for the user's status."`

	tag string
}

// MoreTags implements rest.Described.
func (User) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"status": `enum:"STAGED,PROVISIONED,ACTIVE,RECOVERY,LOCKED_OUT,PASSWORD_EXPIRED,SUSPENDED,DEPROVISIONED"`,
		"transitioningToStatus": `enum:"PROVISIONED,ACTIVE,DEPROVISIONED" doc:"Status that the user is changing to. Present only while the ` +
			`change is pending."`,
	}
}

// Embedded holds the objects that are returned with a user.
type Embedded struct {
	Blocks []Block `json:"blocks" doc:"Reasons why the user cannot sign in."`
}

// ETag is the entity tag of the user.
func (u User) ETag() string { return u.tag }

// Type names a user type.
type Type struct {
	ID string `json:"id" required:"true" doc:"Id of the user type."`
}

// Credentials holds the credentials of a user in responses.
type Credentials struct {
	Password         *Password `json:"password,omitempty" doc:"Empty; present if a password is set."`
	RecoveryQuestion *Recovery `json:"recovery_question,omitempty" doc:"Recovery question."`
	Provider         Provider  `json:"provider" doc:"Who checks the password."`
}

// Password represents a password that is set.
type Password struct{}

// Recovery is the recovery question in responses.
type Recovery struct {
	Question string `json:"question" doc:"The question."`
}

// Provider names the system that verifies the password of a user.
type Provider struct {
	Type string `json:"type" enum:"SVC,IMPORT,FEDERATION,SOCIAL" doc:"Type of the provider."`
	Name string `json:"name" doc:"Name of the provider."`
}

// Show returns a user in the form of the response of GET /api/v1/users/{id}, or nil if the caller must not see the user.
func (s *Slice) Show(ctx context.Context, q docstore.Reader, id string) (any, error) {
	doc, err := s.Users.Get(ctx, q, id)
	if err != nil {
		return nil, rest.Missing(err, "User", id)
	}
	if sees, err := authz.CanReadUser(ctx, q, s.Deps, id); err != nil || !sees {
		return nil, err
	}
	user, err := s.single(ctx, q, doc)
	if err != nil {
		return nil, err
	}
	return user, nil
}

// single returns the user in the form of a single read: without hidden attributes, and with the links of the user's status.
func (s *Slice) single(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.User]) (User, error) {
	out := render(ctx, doc)
	if slices.Contains(resettable, doc.Value.Status) {
		factors, err := s.Factors.Count(ctx, q, docstore.Eq(model.FactorByUser, doc.ID))
		if err != nil {
			return User{}, err
		}
		if factors > 0 {
			out.Links[linkResetFactors.rel] = linkResetFactors.to(ctx, doc.ID)
		}
	}
	return s.redactHidden(ctx, q, out)
}

// render returns a user in the form of the API, without the link for factors.
func render(ctx context.Context, doc docstore.Doc[model.User]) User {
	u := doc.Value
	out := User{
		ID: doc.ID, Status: string(u.Status), TransitioningTo: string(u.Transition), Created: rest.TimeOf(doc.Created),
		LastUpdated: rest.TimeOf(doc.Updated),
		Activated:   rest.TimePtr(u.Activated), StatusChanged: rest.TimePtr(u.StatusChanged),
		LastLogin: rest.TimePtr(u.LastLogin), PasswordChanged: rest.TimePtr(u.PasswordChanged),
		Type: Type{ID: u.Type}, Profile: shownProfile(&u),
		Credentials: credentialsOf(&u),
		Links: rest.Links{
			"self":   rest.To(userURL(ctx, doc.ID)),
			"schema": rest.To(rest.URL(ctx, "api", "v1", "meta", "schemas", "user", model.UserSchemaID(u.Type))),
			"type":   rest.To(rest.URL(ctx, "api", "v1", "meta", "types", "user", u.Type)),
		},
		tag: rest.WeakTag(doc.Updated, doc.Rev),
	}
	for _, l := range linksByStatus[u.Status] {
		if l.only == nil || l.only(&u) {
			out.Links[l.rel] = l.to(ctx, doc.ID)
		}
	}
	return out
}

// credentialsOf returns the credentials of a user, without their secrets.
func credentialsOf(u *model.User) *Credentials {
	out := &Credentials{Provider: Provider{Type: string(u.Provider), Name: string(u.Provider)}}
	if u.HasPassword() {
		out.Password = &Password{}
	}
	if u.Recovery != nil {
		out.RecoveryQuestion = &Recovery{Question: u.Recovery.Question}
	}
	return out
}

// renderListed returns a user in the form of lists: with a link to itself only.
func renderListed(ctx context.Context, doc docstore.Doc[model.User]) User {
	out := render(ctx, doc)
	out.Links = rest.Links{"self": out.Links["self"]}
	return out
}

func userURL(ctx context.Context, id string, more ...string) string {
	return rest.URL(ctx, append([]string{"api", "v1", "users", id}, more...)...)
}

// statusLink is a link that users in some statuses have.
type statusLink struct {
	rel, method string
	at          []string               // path below the user
	only        func(*model.User) bool // restricts the link to the users for which only returns true; nil means all users
}

var (
	linkActivate   = lifecycleLink("activate", activate)
	linkReactivate = lifecycleLink("reactivate", reactivate)
	linkSuspend    = lifecycleLink("suspend", suspend)
	linkUnsuspend  = lifecycleLink("unsuspend", unsuspend)
	linkDeactivate = lifecycleLink("deactivate", deactivate)
	linkUnlock     = lifecycleLink("unlock", unlock)
	linkReset      = lifecycleLink("resetPassword", resetPassword)
	linkExpire     = lifecycleLink("expirePassword", expirePassword).when(func(u *model.User) bool { return !u.Provider.External() })
	linkDelete     = statusLink{rel: "delete", method: http.MethodDelete}

	linkResetFactors = statusLink{rel: "resetFactors", method: http.MethodPost, at: []string{"lifecycle", "reset_factors"}}

	linkChangePassword = credentialLink("changePassword", "change_password")
	linkChangeQuestion = credentialLink("changeRecoveryQuestion", "change_recovery_question")
	linkForgot         = credentialLink("forgotPassword", "forgot_password").when(func(u *model.User) bool { return u.Recovery != nil })
)

func lifecycleLink(rel string, t transition) statusLink {
	return statusLink{rel: rel, method: http.MethodPost, at: []string{"lifecycle", t.verb}}
}

func credentialLink(rel, verb string) statusLink {
	return statusLink{rel: rel, method: http.MethodPost, at: []string{"credentials", verb}}
}

// to returns the link of a user.
func (l statusLink) to(ctx context.Context, user string) rest.Link {
	return rest.Link{Href: userURL(ctx, user, l.at...), Method: l.method}
}

// when restricts the link to the users for which `only` returns true.
func (l statusLink) when(only func(*model.User) bool) statusLink {
	l.only = only
	return l
}

// linksByStatus lists the links of a user in addition to those to itself, its schema and its type. The specification of the management API
// (docs/reference/deviations.md) also lists some links whose operation is then rejected: suspend in most statuses, and the links about a
// password for users without a password.
var linksByStatus = map[model.UserStatus][]statusLink{
	model.UserStaged:      {linkActivate},
	model.UserProvisioned: {linkSuspend, linkReset, linkReactivate, linkDeactivate},
	model.UserActive: {
		linkSuspend, linkReset, linkExpire, linkForgot, linkDeactivate,
		linkChangePassword.when((*model.User).HasPassword), linkChangeQuestion.when((*model.User).HasPassword),
	},
	model.UserRecovery:        {linkSuspend, linkReset, linkReactivate, linkChangeQuestion, linkChangePassword, linkDeactivate},
	model.UserLockedOut:       {linkUnlock, linkReset, linkDeactivate},
	model.UserPasswordExpired: {linkSuspend, linkReset, linkExpire, linkChangePassword, linkDeactivate},
	model.UserSuspended:       {linkUnsuspend, linkDeactivate},
	model.UserDeprovisioned:   {linkActivate, linkDelete},
}

// resettable lists the statuses in which a user with a factor has the link resetFactors.
var resettable = []model.UserStatus{
	model.UserProvisioned, model.UserActive, model.UserRecovery, model.UserLockedOut, model.UserPasswordExpired,
}

// redactHidden removes the attributes that the caller must not see from a user.
func (s *Slice) redactHidden(ctx context.Context, q docstore.Reader, u User) (User, error) {
	shown, err := authz.Shown(ctx, q, s.Deps, u.ID)
	if err != nil || shown == nil {
		return u, err
	}
	maps.DeleteFunc(u.Profile, func(name string, _ any) bool { return !shown(name) && !slices.Contains(alwaysShown, name) })
	for _, name := range alwaysShown {
		if !shown(name) {
			u.Profile[name] = nil
		}
	}
	return u, nil
}

type getRequest struct {
	target
	Expand string `query:"expand" doc:"blocks: Adds the reasons why the user cannot sign in."`
	// ContentType names the members to omit, as in application/json; svc-response=omitCredentials.
	ContentType string `header:"Content-Type"`
}

func (s *Slice) get(ctx context.Context, r *getRequest) (User, error) {
	out, err := s.single(ctx, s.Store.Reader(), r.found)
	if err != nil {
		return User{}, err
	}
	if slices.Contains(strings.Split(r.Expand, ","), "blocks") {
		out.Embedded = &Embedded{Blocks: blocksOf(&r.found.Value)}
	}
	return trim(out, r.ContentType), nil
}

// trim omits the members that the parameter svc-response of a Content-Type names.
func trim(u User, contentType string) User {
	_, values, _ := strings.Cut(contentType, "svc-response=")
	values, _, _ = strings.Cut(values, ";")
	for value := range strings.SplitSeq(strings.Trim(strings.TrimSpace(values), `"`), ",") {
		switch strings.TrimSpace(value) {
		case "omitCredentials":
			u.Credentials = nil
		case "omitCredentialsLinks":
			for _, l := range []statusLink{linkReset, linkExpire, linkForgot, linkChangePassword, linkChangeQuestion, linkResetFactors, linkUnlock} {
				delete(u.Links, l.rel)
			}
		case "omitTransitioningToStatus":
			u.TransitioningTo = ""
		}
	}
	return u
}
