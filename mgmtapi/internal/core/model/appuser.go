package model

import (
	"maps"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// AppUserScope says where an assignment comes from.
type AppUserScope string

// The scopes of an assignment: made for the user, or derived from a group
// that is assigned to the application.
const (
	ScopeUser  AppUserScope = "USER"
	ScopeGroup AppUserScope = "GROUP"
)

// AppUserStatus is the status of an app user.
type AppUserStatus string

// The statuses that are entered. A DEPROVISIONED app user is a tombstone: it
// is not listed and answers no read; it is kept so that the account can be
// deactivated in the target and found again on re-assignment.
const (
	AppUserStaged        AppUserStatus = "STAGED"
	AppUserProvisioned   AppUserStatus = "PROVISIONED"
	AppUserActive        AppUserStatus = "ACTIVE"
	AppUserDeprovisioned AppUserStatus = "DEPROVISIONED"
)

// SyncState says how the target of an app user compares with it.
type SyncState string

// The sync states. SyncDisabled means that no request is due.
const (
	SyncDisabled     SyncState = "DISABLED"
	SyncOutOfSync    SyncState = "OUT_OF_SYNC"
	SyncSyncing      SyncState = "SYNCING"
	SyncSynchronized SyncState = "SYNCHRONIZED"
	SyncError        SyncState = "ERROR"
)

// AppUser is the assignment of a user to an application. Its document id is
// AppUserID(app, user); there is never more than one for the pair.
type AppUser struct {
	AppID  string        `json:"appId"`
	UserID string        `json:"userId"`
	Scope  AppUserScope  `json:"scope"`
	Status AppUserStatus `json:"status"`
	// Group is the group that an assignment of scope GROUP comes from: among
	// the assigned groups of the user the one with the lowest priority number.
	Group string `json:"group,omitempty"`

	ExternalID string    `json:"externalId,omitempty"`
	SyncState  SyncState `json:"syncState"`
	// The times are zero as long as nothing of the kind happened.
	StatusChanged   time.Time `json:"statusChanged,omitzero"`
	PasswordChanged time.Time `json:"passwordChanged,omitzero"`
	LastSync        time.Time `json:"lastSync,omitzero"`
	// ErrorSummary is what the last failed provisioning attempt said.
	ErrorSummary string `json:"errorSummary,omitempty"`

	UserName string `json:"userName,omitempty"`
	// UserNameGiven says that the user name was supplied and does not follow
	// the template of the application.
	UserNameGiven bool `json:"userNameGiven,omitempty"`
	// UniqueUserName says that no other app user of the application may have
	// the same user name. It holds for applications that provision.
	UniqueUserName bool `json:"uniqueUserName,omitempty"`
	// Blocked says that the user name cannot be used, or that the mapping gives
	// what the schema does not accept, so that the assignment must not be
	// provisioned; ErrorSummary says why. It happens only to what follows from
	// other changes: what callers write is refused.
	Blocked bool `json:"blocked,omitempty"`
	// SealedPassword is the password in the application; its binding is
	// AppUserPasswordBinding(app, user).
	SealedPassword string `json:"sealedPassword,omitempty"`

	// SyncedPassword is the User.PasswordVersion that the account is known to have, empty for none.
	SyncedPassword string `json:"syncedPassword,omitempty"`

	// Imported says that an import has found the account, and Account what it showed, by the names of app attributes.
	Imported bool           `json:"imported,omitempty"`
	Account  map[string]any `json:"account,omitempty"`
	// Ahead are the attributes whose values here have changed since the import of Account, and are sent to the target: what the account
	// shows of them may be a value that was sent earlier.
	Ahead []string `json:"ahead,omitempty"`

	// Profile is the effective profile: what the mapping gives, overlaid by
	// the profile of Group, overlaid by Overrides.
	Profile map[string]any `json:"profile,omitempty"`
	// Overrides are the supplied values that differ from what is derived.
	Overrides map[string]any `json:"overrides,omitempty"`
	// Kept are the values of attributes that the mapping gives once and not
	// again, nil for those that it gave none.
	Kept map[string]any `json:"kept,omitempty"`
	// Fresh says that nothing was derived yet. It is not stored.
	Fresh bool `json:"-"`
	// Cleared are the attributes that had a value and have none any more, by
	// name: the target is told so.
	Cleared []string `json:"cleared,omitempty"`
	// Hidden are the attributes that are not shown.
	Hidden []string `json:"hidden,omitempty"`

	// Search holds what prefix search compares, beside the user name: first
	// name, last name and e-mail address of the user.
	Search []string `json:"search,omitempty"`
}

// Listed says that the assignment exists for callers; a tombstone is not listed.
func (u *AppUser) Listed() bool { return u.Status != AppUserDeprovisioned }

// Provisioned says that the provisioning engine looks after the assignment:
// it is in the target or is meant to get there.
func (u *AppUser) Provisioned() bool { return u.Status == AppUserStaged || u.InTarget() }

// InTarget says that the account in the target is known: the engine has made or found it, or an import has.
func (u *AppUser) InTarget() bool {
	return u.Status == AppUserProvisioned || u.Status == AppUserActive && u.Imported
}

// Unseen lists the app attributes that have been sent, or are to be sent, since an import has read the account: all of them if none
// has. An import cannot tell a change at the account from a value that the target has not accepted yet.
func (u *AppUser) Unseen() []string {
	switch {
	case !u.Listed() || !u.Provisioned():
		return nil
	case u.Account != nil:
		return u.Ahead
	}
	return slices.Concat([]string{AppUserName}, slices.Sorted(maps.Keys(u.Profile)), u.Cleared)
}

// Unsent reports whether a push of the assignment is pending or has failed.
func (u *AppUser) Unsent() bool {
	return u.Listed() && !u.Blocked && (u.SyncState == SyncOutOfSync || u.SyncState == SyncSyncing || u.SyncState == SyncError)
}

// Pending says that the account behind a tombstone is yet to be deactivated.
func (u *AppUser) Pending() bool {
	return !u.Listed() && u.SyncState != SyncDisabled && u.SyncState != SyncSynchronized
}

// Enter sets the status and keeps the time of the change.
func (u *AppUser) Enter(status AppUserStatus, now time.Time) {
	if u.Status != status {
		u.Status, u.StatusChanged = status, now
	}
}

// AppUserID is the document id of the assignment of a user to an application.
func AppUserID(app, user string) string { return docstore.JoinID(app, user) }

// AppUserPasswordBinding is the seal binding of an app user's password.
func AppUserPasswordBinding(app, user string) string { return "app-user-password:" + app + ":" + user }

// EventAppUserChanged is the topic of AppUserChanged.
const EventAppUserChanged = "appuser.changed"

// AppUserChanged tells that the desired state of an assignment may have
// changed: that it was made, changed or removed, or that its user changed.
type AppUserChanged struct {
	App  string `json:"app"`
	User string `json:"user"`
	// Provision says that the provisioning engine is concerned: the user is,
	// or is meant to be, in the target.
	Provision bool `json:"provision,omitempty"`
	// Linked says that the account of the user has become known without the provisioning engine.
	Linked bool `json:"linked,omitempty"`
}

// Topic implements Event.
func (AppUserChanged) Topic() string { return EventAppUserChanged }

// Key implements Event with AppUserID.
func (e AppUserChanged) Key() string { return AppUserID(e.App, e.User) }

// The indexes of the app users. Those named "listed" leave out tombstones.
const (
	AppUserByApp        = "app"         // the application
	AppUserByUser       = "user"        // the user
	AppUserByListedApp  = "listed_app"  // the application
	AppUserByListedUser = "listed_user" // the user
	AppUserByUserName   = "user_name"   // AppUserNameKey, unique
	AppUserByPrefix     = "prefix"      // AppUserPrefixKey of user name, first name, last name and e-mail address
	AppUserByGroup      = "group"       // JoinID(application, group) of scope GROUP
	AppUserByPending    = "pending"     // the application, where Pending
	// AppUserByUnprovisioned is the application, where it is listed and no account is known.
	AppUserByUnprovisioned = "unprovisioned"
)

// AppUserNameKey is the value of the index AppUserByUserName.
func AppUserNameKey(app, userName string) string { return app + "/" + filter.Fold(userName) }

// AppUserPrefixKey is a value of the index AppUserByPrefix.
func AppUserPrefixKey(app, text string) string { return app + "/" + filter.Fold(text) }

func appUserCollection() docstore.Collection[AppUser] {
	return docstore.NewCollection("app_users",
		docstore.Index[AppUser]{Name: AppUserByApp, Values: func(u *AppUser) []any { return []any{u.AppID} }},
		docstore.Index[AppUser]{Name: AppUserByUser, Values: func(u *AppUser) []any { return []any{u.UserID} }},
		docstore.Index[AppUser]{Name: AppUserByListedApp, Values: listed(func(u *AppUser) []any { return []any{u.AppID} })},
		docstore.Index[AppUser]{Name: AppUserByListedUser, Values: listed(func(u *AppUser) []any { return []any{u.UserID} })},
		docstore.Index[AppUser]{Name: AppUserByUserName, Version: filter.FoldVersion, Unique: true, Values: listed(func(u *AppUser) []any {
			if !u.UniqueUserName || u.Blocked || u.UserName == "" {
				return nil
			}
			return []any{AppUserNameKey(u.AppID, u.UserName)}
		})},
		docstore.Index[AppUser]{Name: AppUserByPrefix, Version: filter.FoldVersion, Multi: true, Values: listed(func(u *AppUser) []any {
			keys := []any{AppUserPrefixKey(u.AppID, u.UserName)}
			for _, text := range u.Search {
				keys = append(keys, AppUserPrefixKey(u.AppID, text))
			}
			return keys
		})},
		docstore.Index[AppUser]{Name: AppUserByGroup, Values: listed(func(u *AppUser) []any {
			if u.Scope != ScopeGroup {
				return nil
			}
			return []any{docstore.JoinID(u.AppID, u.Group)}
		})},
		docstore.Index[AppUser]{Name: AppUserByUnprovisioned, Values: listed(func(u *AppUser) []any {
			if u.ExternalID != "" {
				return nil
			}
			return []any{u.AppID}
		})},
		docstore.Index[AppUser]{Name: AppUserByPending, Values: func(u *AppUser) []any {
			if !u.Pending() {
				return nil
			}
			return []any{u.AppID}
		}},
	)
}

// listed leaves tombstones out of an index.
func listed(values func(*AppUser) []any) func(*AppUser) []any {
	return func(u *AppUser) []any {
		if !u.Listed() {
			return nil
		}
		return values(u)
	}
}
