package engine

import "time"

// Default values of Target.AsyncTimeout and Target.MaxPending.
const (
	DefaultAsyncTimeout = 10 * time.Minute
	DefaultMaxPending   = 50
)

// Target is the connection and the options of an app.
type Target struct {
	BaseURL string // of the SCIM service, http or https, without query, e.g. https://example.com/scim/v2
	Auth    Auth
	TLS     TLS   // of an https target. Default: the system's authorities and at least TLS 1.2
	Style   Style // Default: Catalog
	// Fallback determines whether a sequence may try other forms of a request than those of the style. Default: FallbackLearn.
	Fallback Fallback

	// The permissions. If all of them are false, the engine changes nothing on the target.
	CreateUsers     bool // create users that a lookup does not find, and activate inactive accounts that it finds
	UpdateUsers     bool // update the mapped attributes of existing users
	DeactivateUsers bool // deactivate users, and activate known accounts that are inactive
	PushGroups      bool
	SyncPasswords   bool // also set passwords of existing accounts; see UserState.PasswordVersion

	UserNameAttribute string   // the attribute by which a user is looked up. Default: userName
	OnMissing         Missing  // Default: Recreate
	OnExisting        Existing // Default: LinkAuto
	OnRecycled        Existing // whether to link an account that belongs or belonged to another user. Default: LinkAsk
	// RE2 expression: a rename of an account to a matching userName requires a decision. Default: DefaultHoldNames; "-" for none
	HoldNames    string
	Concurrency  int           // concurrent requests; 1 also means one principal at a time. Default: 4
	Timeout      time.Duration // time limit of one request; at most slightly less than a third of Options.Lease. Default: 60s
	MemberBatch  int           // members in one request. Default: 100
	Rate         float64       // requests per second. Default: no limit
	Burst        int           // concurrent requests after an idle period, if Rate is set. Default: Rate
	Guard        Guard         // limits mass deactivations. Default: none
	AsyncTimeout time.Duration // time limit for an accepted change (202). Default: DefaultAsyncTimeout
	// maximum number of principals with an accepted change; does not limit deactivations. Default: DefaultMaxPending
	MaxPending  int
	Maintenance []Window // times in which nothing is sent, not even deactivations; running sequences finish
	Paused      bool     // nothing is sent; the lane idles until the next Mark or Kick
}

// Guard blocks deactivations of users and deletions of groups in large numbers, so that a data source that has lost its data does not empty
// the target. The guard blocks when more principals than allowed would lose their account within the Window. The guard blocks only if both
// Limit and Percent are exceeded, so that Percent does not block the first deactivation of a small app. The guard counts a pending removal
// once the engine has read the desired state of the principal. The engine reads some dozens of principals before it sends their requests.
// If many removals arrive one by one, the guard therefore allows removals up to its limit. The zero value blocks nothing.
//
// Blocked removals, and those that follow, have the status StatusHeld until a decision: provision.Apps.Approve allows them. A Mark after
// which the directory desires the account again makes the decision unnecessary.
type Guard struct {
	Limit   int           // accounts
	Percent float64       // of the accounts of the app
	Window  time.Duration // Default: 24h
}

// The operations that a Guard blocks. State.LastOperation of a blocked user or group is one of them.
const (
	RemoveUser  = OpDeactivate
	RemoveGroup = OpDelete
)

// Allowed returns the number of accounts that may be removed within the window, given the number of accounts in the app.
func (g Guard) Allowed(accounts int) int { return max(g.Limit, int(g.Percent/100*float64(accounts))) }

// DefaultHoldNames matches the names that directories give to removed users: deleted-ann, ann_deleted_2024, ann.deleted,
// ann.deleted@example.com; case-insensitive.
const DefaultHoldNames = `(?i)(^|[-_.+])deleted([-_.+@0-9]|$)`

// Window is a maintenance window, either weekly or once.
//
// A weekly window uses the local time of its zone. On a day on which the clocks change, the window still starts and stops at its local
// times. The window may therefore be an hour longer or shorter. If the clocks skip the whole window, it does not take place.
type Window struct {
	Days []time.Weekday // days on which the window starts. Default: every day
	From string         // time of day, 15:04
	To   string         // of the same day, or of the next if not after From; must differ from From
	Zone string         // IANA name. Default: UTC

	// Until makes the Window a single one, from Begin (zero: without a start) to Until. Days, From, To and Zone must then be empty.
	Begin, Until time.Time
}

// Style determines which requests are sent to a target for an update.
type Style string

// The update styles. The zero value means Catalog.
const (
	Catalog Style = "catalog" // PATCH for activation, deactivation, password and group membership, PUT for other updates
	Wizard  Style = "wizard"  // PUT for all updates
	Auto    Style = "auto"    // Wizard if the target's ServiceProviderConfig declares PATCH as unsupported, otherwise Catalog
)

// Fallback determines whether a sequence may use another form of a request than the preferred form of the style.
type Fallback string

// The fallbacks. The zero value means FallbackLearn.
const (
	FallbackLearn Fallback = "learn" // try another form after a rejection or a success without effect, and remember what works
	FallbackNone  Fallback = "none"  // send the forms of the style only, and ignore learned and probed traits
)

// Missing is the policy for a resource that was provisioned before and no longer exists on the target.
type Missing string

// The policies. The zero value means Recreate.
const (
	Recreate Missing = "recreate" // look up by name again, and create the resource if not found
	Fail     Missing = "fail"     // fail the principal with a message (StatusFailed)
)

// Existing is the policy for an account that a lookup finds and that the engine did not create.
type Existing string

// The policies. The zero value means LinkAuto.
const (
	LinkAuto  Existing = "auto"  // link the account to the user
	LinkAsk   Existing = "ask"   // hold the user until UserState.RemoteID names the account
	LinkNever Existing = "never" // reject the user
)
