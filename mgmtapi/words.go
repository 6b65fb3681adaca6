package mgmtapi

import (
	"errors"

	"github.com/scimwright/scimwright/scim"
)

// ErrNotFound reports that an application does not exist.
var ErrNotFound = errors.New("mgmtapi: not found")

// ErrNoTarget is returned by Wanted.Target for an application that does not exist or never had a provisioning connection.
var ErrNoTarget = errors.New("mgmtapi: the application has no provisioning target")

// Kind is the kind of a principal.
type Kind string

// The kinds of principals.
const (
	User  Kind = "user"
	Group Kind = "group"
)

// Principal is a user that is assigned to an application, or a group that is pushed to it.
type Principal struct {
	App  string
	Kind Kind
	ID   string
}

// Change is a change that affects the provisioning of an application: a change of a principal, or, if Kind is empty, of the application
// itself.
type Change struct {
	Principal
	// Members are the users whose membership of the group changed. If AllMembers is set, any membership may have changed.
	Members    []string
	AllMembers bool
	// Ended reports that the provisioning connection was deactivated, and Deleted that the application was deleted. For a change of the
	// application with neither set, provisioning that the settings of the application prevented before may be possible now.
	Ended, Deleted bool
}

// App is an application.
type App struct {
	ID, Label, Name string
	Status          AppStatus
	// Connected reports whether the provisioning connection is active. BaseURL is empty without a connection.
	Connected bool
	BaseURL   string
	Style     UpdateStyle
	Fallback  Fallback
}

// AppStatus is the status of an application.
type AppStatus string

// The statuses of applications.
const (
	AppActive   AppStatus = "ACTIVE"
	AppInactive AppStatus = "INACTIVE"
)

// UpdateStyle is the choice of SCIM requests that update users and groups.
type UpdateStyle string

// The update styles.
const (
	StyleCatalog UpdateStyle = "CATALOG" // PATCH for activation, deactivation, password and membership, PUT for other updates
	StyleWizard  UpdateStyle = "WIZARD"  // PUT for all updates
	StyleAuto    UpdateStyle = "AUTO"    // WIZARD if the target's ServiceProviderConfig reports no PATCH, otherwise CATALOG
)

// Fallback is the permission to use a form of request other than the one that the update style requires.
type Fallback string

// The fallbacks.
const (
	FallbackLearn Fallback = "LEARN" // another form is permitted after the target rejects a request, or accepts it without effect
	FallbackNone  Fallback = "NONE"  // never permitted
)

// Target is the SCIM service provider of an application.
type Target struct {
	BaseURL string
	Credentials
	// UserNameAttribute is the attribute by which the engine searches for users.
	UserNameAttribute string
	Style             UpdateStyle
	Fallback          Fallback

	CreateUsers, UpdateUsers, DeactivateUsers, PushGroups bool
	// SyncPasswords reports whether existing accounts also receive UserState.Password.
	SyncPasswords bool
	// Paused reports that the application or its connection is not active. Nothing may be sent; pending work remains pending.
	Paused bool
}

// String returns the base URL, without the secret.
func (t Target) String() string { return t.BaseURL }

// GoString returns String, for %#v.
func (t Target) GoString() string { return t.BaseURL }

// Want is the desired state of a principal in a target.
type Want string

// The desired states.
const (
	Active   Want = "active"
	Inactive Want = "inactive"
	// Absent means that the API has no assignment of the user to the application, or that the group has no push mapping or a deleted one.
	Absent Want = "absent"
	// Keep means that the target must not be changed. Wanted.Changes delivers a Change when the desired state is no longer Keep.
	Keep Want = "keep"
)

// UserState is the desired state of a user in a target.
type UserState struct {
	Want     Want
	UserName string
	// Resource holds the mapped attributes and externalId, without id, meta, active, groups and password. It is nil for Absent and Keep.
	Resource *scim.Resource
	// RemoteID is the id in the target, if known.
	RemoteID string
	// Activating reports that the account belonged to an earlier assignment, and may belong to another user now.
	Activating bool
	// Password is the plaintext password to send to the account. PasswordVersion identifies the password. PasswordVersion is empty if only a
	// new account receives the password.
	Password, PasswordVersion string
}

// String returns a description without the password.
func (u UserState) String() string { return string(u.Want) + " " + u.UserName }

// GoString returns String, for %#v.
func (u UserState) GoString() string { return u.String() }

// GroupState is the desired state of a pushed group in a target. Inactive means that pushes are paused.
type GroupState struct {
	Want        Want
	DisplayName string
	// RemoteID is the id in the target, if known.
	RemoteID string
	// DeleteRemote reports, for Absent, that the group in the target is to be deleted, too.
	DeleteRemote bool
}

// Result is the result of an attempt to reach the desired state of a principal.
type Result struct {
	Principal
	// Want is the desired state that was attempted.
	Want    Want
	Outcome Outcome
	// RemoteID is the id in the target, empty if unknown.
	RemoteID string
	// More reports that the desired state has changed since the attempt started, so that another attempt follows.
	More bool
	// Error is a message for administrators, empty without an error.
	Error string
	// Operation is the operation of the attempt, empty if the attempt is not logged.
	Operation Operation
	// Confirmed is a change that the target accepted in an earlier attempt and has carried out now. Empty without such a change.
	Confirmed Operation
	// Lapsed reports that the target did not carry out in time a change that it accepted in an earlier attempt.
	Lapsed bool
	// Steps are the requests of the attempt, in order.
	Steps []Step
	// PasswordVersion is the version of the account's password, empty if unknown.
	PasswordVersion string
}

// Outcome is the outcome of an attempt.
type Outcome string

// The outcomes.
const (
	Started Outcome = "started" // the attempt is running, or the target has accepted the change for later
	Done    Outcome = "done"    // the target has the desired state
	Skipped Outcome = "skipped" // the options of the application, such as CreateUsers, exclude the necessary request
	Failed  Outcome = "failed"
)

// Operation is the effect of an attempt.
type Operation string

// The operations that are logged.
const (
	Created     Operation = "create"
	Linked      Operation = "link" // an existing account was linked
	Updated     Operation = "update"
	Reactivated Operation = "reactivate"
	Deactivated Operation = "deactivate"
	Removed     Operation = "delete" // a group was deleted
)

// Step is a request that was sent to a target.
type Step struct {
	Method string
	Path   string // path relative to the base URL, with the query
	Status int    // 0 without a response
	// Message is the reason for a failure, quoted from the target if it gave one. Empty on success.
	Message string
	// Alternative describes the form of the request and the reason for it, if it differs from the update style.
	Alternative string
}

// Account is the account of a principal in a target, as the API shows it.
type Account struct {
	Principal
	RemoteID string // empty if unknown
	// Waiting reports, for a user, that the provisioning of the current state has not finished, and for a group, that the deletion of its push
	// mapping has not finished.
	Waiting bool
	// Failed reports that the last result was an error.
	Failed bool
}

// Explanation is the reasons why a principal is or is not in a target, and the origin of its attributes.
type Explanation struct {
	Reasons []string // reasons in order from the cause to the effect
	Values  []Value
}

// Value is the origin of the value of an attribute.
type Value struct {
	Path   string // path of the attribute in the target, in the notation of RFC 7644 section 3.10
	Source string // what the value is derived from, such as the profile of the user
	Rule   string // how the value is derived from the source
	Value  any
}

// Owner is a user or group that an account may belong to.
type Owner struct {
	ID          string
	Name        string // userName of a user, displayName of a group
	ExternalID  string
	Emails      []string
	DisplayName string
}

// Unprovisioned is the number of assigned users of an application that have no account in its target and will get no account, for one
// reason.
type Unprovisioned struct {
	Reason string
	Users  int
}

// Unfinished is the amount of work that is not yet handed over to a provisioning engine.
type Unfinished struct {
	Requests int // users and applications with background work for Run
	Imports  int // imports that are running or scheduled for now
	Events   int // events that Wanted.Changes has not removed yet
	// Held reports whether the background work of requests is on hold.
	Held bool
}

// Total returns the sum of Requests, Imports and Events.
func (u Unfinished) Total() int { return u.Requests + u.Imports + u.Events }
