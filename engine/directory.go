package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine/connect"
	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/scim"
)

// Kind tells users from groups.
type Kind string

// The kinds of principals.
const (
	User  Kind = "user"
	Group Kind = "group"
)

// Want is the state that a principal should have at a target.
type Want = plan.Want

// The states. Absent is a tombstone: the directory says so, it is never inferred from a missing row or an error.
const (
	Active   = plan.Active
	Inactive = plan.Inactive
	Absent   = plan.Absent
	Keep     = plan.Keep // users: whatever the target has stays as it is, e.g. while somebody is suspended
)

// Style says which requests a target is sent for updates.
type Style = plan.Style

// The update styles.
const (
	Catalog = plan.Catalog // PATCH for activation, deactivation and group membership, PUT for other updates
	Wizard  = plan.Wizard  // PUT for all
	Auto    = plan.Auto    // as the target's ServiceProviderConfig says: Wizard where it has no PATCH, otherwise Catalog
)

// Fallback says whether the engine may use another form of a request than the one that the style names first.
type Fallback = plan.Fallback

// The fallbacks.
const (
	FallbackLearn = plan.FallbackLearn // try another form after a rejection or a success without effect, and remember what works
	FallbackNone  = plan.FallbackNone  // send the forms of the style only, and ignore what was learned or probed
)

// Missing says what happens when a target no longer knows a resource that was provisioned before.
type Missing = plan.Missing

// The policies for a resource that is gone.
const (
	Recreate = plan.Recreate // look up again, and create when that finds nothing
	Fail     = plan.Fail     // report it
)

// Existing says what happens to an account that a lookup finds and that the engine did not create.
type Existing = plan.Existing

// The policies for an existing account.
const (
	LinkAuto  = plan.LinkAuto  // take it over
	LinkAsk   = plan.LinkAsk   // hold the user until UserState.RemoteID says which account is meant
	LinkNever = plan.LinkNever // refuse the user
)

// Auth holds the credentials for a target.
type Auth = connect.Auth

// The authorization schemes.
const (
	Bearer = connect.Bearer // Authorization: Bearer <secret>
	Raw    = connect.Raw    // Authorization: <secret>
	Basic  = connect.Basic  // the secret is user:password
	Header = connect.Header // <Auth.Header>: <secret>
	// ClientCredentials fetches access tokens (RFC 6749 section 4.4) from Auth.OAuth, with the client's secret.
	ClientCredentials = connect.ClientCredentials
)

// TLS holds the settings for https targets.
type TLS = connect.TLS

// OAuth says where access tokens come from.
type OAuth = connect.OAuth

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

	UserNameAttribute string        // compared in the lookup. Defaults to userName
	OnMissing         Missing       // Defaults to Recreate
	OnExisting        Existing      // Defaults to LinkAuto
	OnRecycled        Existing      // for an account that a lookup finds and that is or was another user's. Defaults to LinkAsk
	HoldNames         string        // regular expression (RE2): no account is renamed to such a userName. Defaults to DefaultHoldNames; "-" for none
	Concurrency       int           // requests at once; 1 also means one principal after another. Defaults to 4
	Timeout           time.Duration // of one call, at most a little under a third of Options.Lease. Defaults to 60 s
	MemberBatch       int           // members in one request. Defaults to 100
	Rate              float64       // requests per second. Defaults to as many as the target takes
	Burst             int           // requests at once after a rest, when there is a Rate. Defaults to Rate
	Guard             Guard         // against masses of deactivations. Defaults to none
	AsyncTimeout      time.Duration // within which a change that was accepted (202) has to be carried out. Defaults to DefaultAsyncTimeout
	MaxPending        int           // principals with such a change at once; deactivations go out all the same. Defaults to DefaultMaxPending
	Maintenance       []Window      // when nothing is sent, deactivations included; sequences that are running come to their end
	Paused            bool          // nothing is sent; the lane idles until the next Mark or Kick
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
	// Anew says that the user has been given the app anew, after losing it: the account is looked up by name, although an id may be known,
	// and created when it is not there.
	Anew bool
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

// checkTarget rejects words that are none of those that are offered: a sequence would read them as the default, which may allow more.
func checkTarget(t Target) error {
	for _, field := range []struct {
		name  string
		known bool
		value any
	}{
		{"Style", slices.Contains([]Style{"", Catalog, Wizard, Auto}, t.Style), t.Style},
		{"Fallback", slices.Contains([]Fallback{"", FallbackLearn, FallbackNone}, t.Fallback), t.Fallback},
		{"OnMissing", slices.Contains([]Missing{"", Recreate, Fail}, t.OnMissing), t.OnMissing},
		{"OnExisting", slices.Contains(existing, t.OnExisting), t.OnExisting},
		{"OnRecycled", slices.Contains(existing, t.OnRecycled), t.OnRecycled},
	} {
		if !field.known {
			return fmt.Errorf("there is no %s %q", field.name, field.value)
		}
	}
	return nil
}

var existing = []Existing{"", LinkAuto, LinkAsk, LinkNever}
