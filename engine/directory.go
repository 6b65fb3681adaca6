package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/scim"
)

// Kind tells users from groups.
type Kind string

// The kinds of principals.
const (
	User  Kind = "user"
	Group Kind = "group"
)

// ErrUnknownApp is what Directory.Target returns for an app that has no target (any more). Its lane idles until the next Mark
// or Kick.
var ErrUnknownApp = errors.New("engine: unknown app")

// Directory is the embedder's side: the engine asks it for the desired state at the moment it acts.
//
// The methods are called from several goroutines. An error (other than ErrUnknownApp from Target) means «cannot say now»: it
// is recorded, and the principal is tried again later. It never leads to a deprovisioning; only an explicit Inactive or
// Absent does.
type Directory interface {
	// Target returns the connection and options of an app.
	Target(ctx context.Context, app string) (Target, error)
	// User returns the desired state of a user at an app. A user that is not assigned, or not known, is Absent.
	User(ctx context.Context, app, user string) (UserState, error)
	// Group returns the desired state of a pushed group. A group that is not pushed, or not known, is Absent.
	Group(ctx context.Context, app, group string) (GroupState, error)
	// Members pages through the ids of the users that belong to the pushed group, ascending by id (byte order), after the
	// given id (empty for the first page). Fewer than limit ids end the list.
	Members(ctx context.Context, app, group, after string, limit int) ([]string, error)
	// IsMember says which of the users belong to the pushed group. Users that are left out of the answer do not.
	IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error)
}

// UserState is what a user should look like at a target.
type UserState struct {
	Want     Want
	UserName string // the value of Target.UserNameAttribute
	// Resource has the mapped attributes, externalId among them, without id, meta, active, groups and password. May be nil
	// unless Want is Active.
	Resource *scim.Resource
	// OnCreate has attributes that are only sent when the account is created, such as a preset locale; afterwards they belong to the
	// target: they are neither compared nor cleared. What Resource says, be it null, counts more. It is made like Resource, and
	// mapping.Result.OnCreate fits. May be nil.
	OnCreate *scim.Resource
	// Manager is the user who is the manager, by the id in the directory. The engine fills in manager.value of the enterprise extension
	// (RFC 7643 section 4.3) with the id of that user's account at the app. While there is none, the user is provisioned without and has the
	// status StatusWaiting; State.WaitingOn tells on whom. A manager who has no account and is not wanted at the app is not
	// waited for: the account then has none. Defaults to what Resource says.
	Manager string
	// RemoteID links the user to this account of the target instead of looking one up. Defaults to a lookup.
	RemoteID string
	// Activating says that the user has been given the app anew, after losing it: the account is looked up by name, although an id may be
	// known, and created when it is not there.
	Activating bool
	// Password is sent when the user is created. Defaults to a random placeholder.
	Password string
	// PasswordVersion names the Password: any text that is another one for another password and does not tell it, such as a counter or
	// an instant. With Target.SyncPasswords the password is set whenever the account is not known to have this version; empty: never.
	// The version is stored, the password is not.
	PasswordVersion string
}

// String hides the password, so that a printed state does not tell it.
func (u UserState) String() string {
	type plain UserState
	if u.Password != "" {
		u.Password = "[redacted]"
	}
	return fmt.Sprintf("%+v", plain(u))
}

// GoString is String, for %#v.
func (u UserState) GoString() string { return u.String() }

// GroupState is what a group should look like at a target.
type GroupState struct {
	Want         Want // Inactive: nothing is sent; Active again: the whole membership is pushed
	DisplayName  string
	RemoteID     string // link to this group of the target instead of looking one up. Defaults to a lookup by displayName
	DeleteRemote bool   // Absent: delete the group at the target instead of leaving it there
}

// Explainer is what a Directory may also implement: it says why things are as they are.
type Explainer interface {
	// Explain says why a principal is, or is not, in an app, and where the values of its attributes come from.
	Explain(ctx context.Context, app string, kind Kind, id string) (Explanation, error)
}

// Explanation is the directory's part of an answer to «why is this user there, and why this value».
type Explanation struct {
	// Reasons are a chain, from the cause to the effect: member of the group Sales, the group is assigned to the app.
	Reasons []string `json:"reasons"`
	Values  []Value  `json:"values"`
}

// Value is where the value of one attribute comes from.
type Value struct {
	Path   string `json:"path"`             // at the target, e.g. name.givenName
	Source string `json:"source,omitempty"` // what it is made of, e.g. profile.firstName, or the name of the mapping
	Rule   string `json:"rule,omitempty"`   // how: an expression, or a constant
	Value  any    `json:"value"`
	Error  string `json:"error,omitempty"` // why there is none
}

// Matcher is what a [Directory] has besides when accounts of its targets can be imported.
type Matcher interface {
	// Match offers for each object, in their order, the principals of that kind that it may belong to: those with the same
	// externalId, userName (displayName) or e-mail address, and for partial matches those that resemble it. It may offer too many,
	// e.g. by a rule that was not asked for: the engine compares. An error means «cannot say now»; the page is asked about again.
	Match(ctx context.Context, app string, kind Kind, objects []RemoteObject) ([][]Candidate, error)
}

// Lister is what a [Directory] has besides when it can list its principals, so that a reconciliation finds those that the engine was
// never told about.
type Lister interface {
	// Principals pages through the ids of the users (or pushed groups) that may have an account at the app, ascending by id (byte
	// order), after the given id (empty for the first page). Fewer than limit ids end the list.
	Principals(ctx context.Context, app string, kind Kind, after string, limit int) ([]string, error)
}

// Want is the state that a principal should have at the target.
type Want string

// The states. Absent is a tombstone: the directory says that the principal is gone, nobody infers it. Keep is for users:
// whatever the target has stays as it is, and nothing is sent.
const (
	Active   Want = "active"
	Inactive Want = "inactive"
	Absent   Want = "absent"
	Keep     Want = "keep" // users: whatever the target has stays as it is, e.g. while somebody is suspended
)
