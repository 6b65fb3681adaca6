package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/scim"
)

// Kind distinguishes users from groups.
type Kind string

// The kinds of principals.
const (
	User  Kind = "user"
	Group Kind = "group"
)

// ErrUnknownApp is the error that Directory.Target returns for an app without a target. The lane of the app idles until the next Mark or
// Kick.
var ErrUnknownApp = errors.New("engine: unknown app")

// Directory is implemented by the embedder. The engine queries the Directory for the desired state right before each sequence.
//
// The methods are called from several goroutines. Any error except ErrUnknownApp from Target means that the state is unavailable: the
// engine records the error and retries the principal later. An error never causes a deprovisioning. Only the desired state Inactive or
// Absent does.
type Directory interface {
	// Target returns the connection and options of an app.
	Target(ctx context.Context, app string) (Target, error)
	// User returns the desired state of a user in an app. A user that is unknown, or not assigned to the app, is Absent.
	User(ctx context.Context, app, user string) (UserState, error)
	// Group returns the desired state of a pushed group. A group that is unknown, or not pushed, is Absent.
	Group(ctx context.Context, app, group string) (GroupState, error)
	// Members returns one page of the ids of the users that belong to the pushed group, in ascending byte order, after the given id (empty for
	// the first page). Fewer than limit ids end the list.
	Members(ctx context.Context, app, group, after string, limit int) ([]string, error)
	// IsMember reports which of the users belong to the pushed group. A user that is missing from the result does not belong to the group.
	IsMember(ctx context.Context, app, group string, users []string) (map[string]bool, error)
}

// UserState is the desired state of a user on a target.
type UserState struct {
	Want Want
	// UserName is the value by which the engine looks up the account, in the attribute Target.UserNameAttribute. Default: the name of the
	// account on the target, as last seen (State.RemoteName).
	UserName string
	// Resource has the mapped attributes including externalId, without id, meta, active, groups and password. May be nil unless Want is
	// Active.
	Resource *scim.Resource
	// OnCreate has attributes that are only sent when the account is created, such as a default locale. Afterwards they belong to the
	// target: the engine neither compares nor clears them. A value in Resource, even null, overrides them. OnCreate has the form of
	// Resource, as mapping.Result.OnCreate does. May be nil.
	OnCreate *scim.Resource
	// Manager is the directory id of the user's manager. The engine sets manager.value of the enterprise extension (RFC 7643 section 4.3) to
	// the id of the manager's account in the app. As long as the manager has no account, the user is provisioned without a manager and has the
	// status StatusWaiting; State.WaitingOn names the manager. The engine does not wait for a manager who has no account and is not desired in
	// the app: the user's account then has no manager. Default: the manager in Resource.
	Manager string
	// RemoteID links the user to this account on the target instead of a lookup. Default: a lookup.
	RemoteID string
	// Activating reports whether the user was assigned to the app again after an unassignment. The engine then looks up the account by name
	// even if the id of an account is known, and creates an account if the lookup finds none.
	Activating bool
	// Password is sent when the user is created. Default: a random placeholder.
	Password string
	// PasswordVersion identifies the Password: any string that changes with the password and does not disclose it, such as a counter or a
	// timestamp. With Target.SyncPasswords the engine sets the password unless the account is known to have this version. Empty: the password
	// is never set. The version is stored, the password is not.
	PasswordVersion string
}

// String returns a description without the password, so that a printed state does not disclose it.
func (u UserState) String() string {
	type plain UserState
	if u.Password != "" {
		u.Password = "[redacted]"
	}
	return fmt.Sprintf("%+v", plain(u))
}

// GoString returns the same as String, for %#v.
func (u UserState) GoString() string { return u.String() }

// GroupState is the desired state of a group on a target.
type GroupState struct {
	Want         Want // Inactive: the engine sends nothing. The next Active pushes all members
	DisplayName  string
	RemoteID     string // id of the group on the target to link. Default: a lookup by displayName
	DeleteRemote bool   // with Absent: true deletes the group on the target, false only removes the link
}

// Explainer is an optional interface of a [Directory] that explains assignments and attribute values.
type Explainer interface {
	// Explain returns why a principal is, or is not, in an app, and the sources of its attribute values.
	Explain(ctx context.Context, app string, kind Kind, id string) (Explanation, error)
}

// Explanation is the directory's explanation of an assignment and of the attribute values.
type Explanation struct {
	// Reasons are the steps from cause to effect, for example: member of the group Sales; the group is assigned to the app.
	Reasons []string `json:"reasons"`
	Values  []Value  `json:"values"`
}

// Value is the origin of the value of one attribute.
type Value struct {
	Path   string `json:"path"`             // on the target, e.g. name.givenName
	Source string `json:"source,omitempty"` // e.g. profile.firstName, or the name of the mapping
	Rule   string `json:"rule,omitempty"`   // an expression or a constant
	Value  any    `json:"value"`
	Error  string `json:"error,omitempty"` // why there is no value
}

// Matcher is an optional interface of a [Directory]. Imports of the accounts of a target require it.
type Matcher interface {
	// Match returns, for each object and in the same order, the principals of the kind that may own the object: those with the same
	// externalId, userName (displayName) or email address, and for partial matches those with similar values. Match may return more candidates
	// than the requested rules select, because the engine compares each candidate. An error means that the candidates are unavailable: the
	// engine retries the page.
	Match(ctx context.Context, app string, kind Kind, objects []RemoteObject) ([][]Candidate, error)
}

// Lister is an optional interface of a [Directory] that lists its principals, so that a reconciliation finds principals that are unknown to
// the engine.
type Lister interface {
	// Principals returns one page of the ids of the users (or pushed groups) that may have an account in the app, in ascending byte order,
	// after the given id (empty for the first page). Fewer than limit ids end the list.
	Principals(ctx context.Context, app string, kind Kind, after string, limit int) ([]string, error)
}

// Want is the desired state of a principal on the target.
type Want string

// The desired states. Absent means that the principal does not exist, or is not assigned (a group: not pushed) to the app. The engine never
// assumes Absent: only the directory reports it. Keep is for users: the engine leaves the account unchanged and sends nothing.
const (
	Active   Want = "active"
	Inactive Want = "inactive"
	Absent   Want = "absent"
	Keep     Want = "keep" // users: leave the account unchanged, e.g. during a suspension of the user
)
