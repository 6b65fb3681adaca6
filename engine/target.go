package engine

import "time"

// Defaults of Target.AsyncTimeout and Target.MaxPending.
const (
	DefaultAsyncTimeout = 10 * time.Minute
	DefaultMaxPending   = 50
)

// Target is where and how an app is provisioned.
type Target struct {
	BaseURL string // of the SCIM service, http or https, without query, e.g. https://example.com/scim/v2
	Auth    Auth
	TLS     TLS   // of an https target. Defaults to the system's authorities and at least TLS 1.2
	Style   Style // Defaults to Catalog
	// Fallback says whether other forms than those of the style may be tried. Defaults to FallbackLearn.
	Fallback Fallback

	// What is allowed. With all of them false nothing is changed at the target.
	CreateUsers     bool // create users that a lookup does not find, and activate the accounts that it finds inactive
	UpdateUsers     bool // bring the mapped attributes of existing users up to date
	DeactivateUsers bool // deactivate users, and activate known accounts that are inactive
	PushGroups      bool
	SyncPasswords   bool // set passwords of existing accounts: UserState.PasswordVersion

	UserNameAttribute string   // compared in the lookup. Defaults to userName
	OnMissing         Missing  // Defaults to Recreate
	OnExisting        Existing // Defaults to LinkAuto
	OnRecycled        Existing // for an account that a lookup finds and that is or was another user's. Defaults to LinkAsk
	// regular expression (RE2): no account is renamed to such a userName. Defaults to DefaultHoldNames; "-" for none
	HoldNames    string
	Concurrency  int           // requests at once; 1 also means one principal after another. Defaults to 4
	Timeout      time.Duration // of one call, at most a little under a third of Options.Lease. Defaults to 60 s
	MemberBatch  int           // members in one request. Defaults to 100
	Rate         float64       // requests per second. Defaults to as many as the target takes
	Burst        int           // requests at once after a rest, when there is a Rate. Defaults to Rate
	Guard        Guard         // against masses of deactivations. Defaults to none
	AsyncTimeout time.Duration // within which a change that was accepted (202) has to be carried out. Defaults to DefaultAsyncTimeout
	MaxPending   int           // principals with such a change at once; deactivations go out all the same. Defaults to DefaultMaxPending
	Maintenance  []Window      // when nothing is sent, deactivations included; sequences that are running come to their end
	Paused       bool          // nothing is sent; the lane idles until the next Mark or Kick
}

// Guard holds deactivations of users and deletions of groups back when they come in masses, so that a source that has lost its
// data does not empty the target. It stops when more principals than it allows would lose their account within the Window; both
// bounds have to be exceeded, so that a percentage does not stop the first deactivation of a small app. The engine looks ahead as
// far as it has read, some dozens of principals; when a mass comes in drops, as many go as the guard allows. The zero value never
// stops.
//
// What is held back has the status StatusHeld, and so has what comes after it, until somebody decides: provision.Apps.Approve lets it
// through, and a Mark after which the directory wants the account again makes it superfluous.
type Guard struct {
	Limit   int           // accounts
	Percent float64       // of the accounts that the app has
	Window  time.Duration // Defaults to 24 h
}

// The operations that a guard holds back: State.LastOperation of what is held.
const (
	RemoveUser  = OpDeactivate
	RemoveGroup = OpDelete
)

// Allowed is how many of so many accounts may go within the window.
func (g Guard) Allowed(accounts int) int { return max(g.Limit, int(g.Percent/100*float64(accounts))) }

// DefaultHoldNames matches the names that directories give to those who were removed: deleted-ann, ann_deleted_2024, ann.deleted,
// ann.deleted@example.com; in any letter case.
const DefaultHoldNames = `(?i)(^|[-_.+])deleted([-_.+@0-9]|$)`

// Window is a time of maintenance, either weekly or once.
//
// A weekly one is read from the clock on the wall in its zone: on a day on which the clocks change it begins and ends when they show
// its times, so that it may be an hour longer or shorter, and an hour that is skipped has no window.
type Window struct {
	Days []time.Weekday // on which it begins. Defaults to every day
	From string         // time of day, 15:04
	To   string         // of the same day, or of the next one when not after From. The two must differ
	Zone string         // IANA name. Defaults to UTC

	// Until makes it a window of one time, from Begin (zero: from ever). The other fields must be empty then.
	Begin, Until time.Time
}

// Style says which requests a target is sent for an update.
type Style string

// The update styles. The zero value reads as Catalog.
const (
	Catalog Style = "catalog" // PATCH for activation, deactivation and group membership, PUT for other updates
	Wizard  Style = "wizard"  // PUT for all
	Auto    Style = "auto"    // as the target's ServiceProviderConfig says: Wizard where it has no PATCH, otherwise Catalog
)

// Fallback says whether a sequence may use another form of a request than the one that the style names first.
type Fallback string

// The fallbacks. The zero value reads as FallbackLearn.
const (
	FallbackLearn Fallback = "learn" // try another form after a rejection or a success without effect, and remember what works
	FallbackNone  Fallback = "none"  // send the forms of the style only, and ignore what was learned or probed
)

// Missing says what happens when the target no longer knows a resource that was provisioned before.
type Missing string

// The policies. The zero value reads as Recreate.
const (
	Recreate Missing = "recreate" // look up by name again, and create when that finds nothing
	Fail     Missing = "fail"     // report it
)

// Existing says what happens to an account that a lookup finds and that the engine did not create.
type Existing string

// The policies. The zero value reads as LinkAuto.
const (
	LinkAuto  Existing = "auto"  // take it over
	LinkAsk   Existing = "ask"   // hold the user until UserState.RemoteID says which account is meant
	LinkNever Existing = "never" // reject the user
)
