package model

import (
	"maps"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// AppUserScope is the origin of an assignment.
type AppUserScope string

// The scopes of an assignment: created for the user, or derived from a group that is assigned to the application.
const (
	ScopeUser  AppUserScope = "USER"
	ScopeGroup AppUserScope = "GROUP"
)

// AppUserStatus is the status of an app user.
type AppUserStatus string

// The statuses of an app user. A DEPROVISIONED app user is a tombstone: it is not listed and reads do not return it. It is stored so that
// the account can be deactivated in the target and linked again on reassignment.
const (
	AppUserStaged        AppUserStatus = "STAGED"
	AppUserProvisioned   AppUserStatus = "PROVISIONED"
	AppUserActive        AppUserStatus = "ACTIVE"
	AppUserDeprovisioned AppUserStatus = "DEPROVISIONED"
)

// SyncState is the state of the synchronization of an app user with its target.
type SyncState string

// The sync states. SyncDisabled means that the assignment needs no request: the application does not create accounts, the user is staged,
// the engine has skipped the staged assignment, or the assignment has ended and its account needs no deactivation. After a successful
// request, the state is SyncSynchronized.
const (
	SyncDisabled     SyncState = "DISABLED"
	SyncOutOfSync    SyncState = "OUT_OF_SYNC"
	SyncSyncing      SyncState = "SYNCING"
	SyncSynchronized SyncState = "SYNCHRONIZED"
	SyncError        SyncState = "ERROR"
)

// AppUser is the assignment of a user to an application. Its document id is AppUserID(app, user), so that each pair has at most one.
type AppUser struct {
	AppID  string        `json:"appId"`
	UserID string        `json:"userId"`
	Scope  AppUserScope  `json:"scope"`
	Status AppUserStatus `json:"status"`
	// Group is the group that an assignment of scope GROUP comes from: of the user's groups that are assigned to the application, the one with
	// the lowest priority number.
	Group string `json:"group,omitempty"`

	ExternalID string    `json:"externalId,omitempty"`
	SyncState  SyncState `json:"syncState"`
	// StatusChanged is the time of the last change of the status, PasswordChanged that of the last change of the password, LastSync that of
	// the last successful synchronization. Each is zero before the first one.
	StatusChanged   time.Time `json:"statusChanged,omitzero"`
	PasswordChanged time.Time `json:"passwordChanged,omitzero"`
	LastSync        time.Time `json:"lastSync,omitzero"`
	// ErrorSummary is the error of the last failed provisioning attempt.
	ErrorSummary string `json:"errorSummary,omitempty"`

	UserName string `json:"userName,omitempty"`
	// UserNameGiven is true if the user name was supplied by a caller and does not follow the template of the application.
	UserNameGiven bool `json:"userNameGiven,omitempty"`
	// UniqueUserName is true if no other app user of the application may have the same user name. It is true for applications that provision.
	UniqueUserName bool `json:"uniqueUserName,omitempty"`
	// Blocked is true if the user name cannot be used, or if the mapping returns a value that the schema rejects. The assignment is then not
	// provisioned, and ErrorSummary holds the cause. Only derived changes block an assignment: invalid values in requests are rejected.
	Blocked bool `json:"blocked,omitempty"`
	// SealedPassword is the password in the application, encrypted with AppUserPasswordBinding(app, user).
	SealedPassword string `json:"sealedPassword,omitempty"`

	// SyncedPassword is the User.PasswordVersion that was last sent to the account, empty if none was.
	SyncedPassword string `json:"syncedPassword,omitempty"`

	// Imported is true if an import has found the account. Account holds the imported values by app attribute.
	Imported bool           `json:"imported,omitempty"`
	Account  map[string]any `json:"account,omitempty"`
	// Ahead lists the attributes whose values have changed in this API since the import of Account. The engine sends the new values to the
	// target. Until the next import, the API does not know whether the account has them.
	Ahead []string `json:"ahead,omitempty"`

	// Profile is the effective profile: the result of the mapping, overlaid by the profile of Group, overlaid by Overrides.
	Profile map[string]any `json:"profile,omitempty"`
	// Overrides holds the supplied values that differ from the derived ones.
	Overrides map[string]any `json:"overrides,omitempty"`
	// Kept holds the values of attributes whose rules are applied only once, nil for attributes that received no value.
	Kept map[string]any `json:"kept,omitempty"`
	// Fresh is true until values are derived for the first time. It is not stored.
	Fresh bool `json:"-"`
	// Cleared lists the names of attributes that had a value and have none now. Provisioning clears them in the target.
	Cleared []string `json:"cleared,omitempty"`
	// Hidden lists the attributes that are not shown.
	Hidden []string `json:"hidden,omitempty"`

	// Search holds the values for prefix search in addition to the user name: first name, last name and email address of the user.
	Search []string `json:"search,omitempty"`
}

// Listed reports whether callers can see the assignment. Tombstones are not listed.
func (u *AppUser) Listed() bool { return u.Status != AppUserDeprovisioned }

// Provisioned reports whether the provisioning engine manages the assignment: its account is in the target or pending creation.
func (u *AppUser) Provisioned() bool { return u.Status == AppUserStaged || u.InTarget() }

// InTarget reports whether the account in the target is known: the engine has created or found it, or an import has found it.
func (u *AppUser) InTarget() bool {
	return u.Status == AppUserProvisioned || u.Status == AppUserActive && u.Imported
}

// Unseen returns the app attributes that were sent, or are pending, since an import last read the account. Without such an import it
// returns all of them. An import cannot distinguish a change in the target from a value that the target has not accepted yet.
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

// Pending reports whether the account of a tombstone still has to be deactivated.
func (u *AppUser) Pending() bool {
	return !u.Listed() && u.SyncState != SyncDisabled && u.SyncState != SyncSynchronized
}

// Enter sets the status and records the time of the change.
func (u *AppUser) Enter(status AppUserStatus, now time.Time) {
	if u.Status != status {
		u.Status, u.StatusChanged = status, now
	}
}

// AppUserID is the document id of the assignment of a user to an application.
func AppUserID(app, user string) string { return docstore.JoinID(app, user) }

// AppUserPasswordBinding returns the binding with which package seal encrypts an app user's password.
func AppUserPasswordBinding(app, user string) string { return "app-user-password:" + app + ":" + user }

// EventAppUserChanged is the topic of AppUserChanged.
const EventAppUserChanged = "appuser.changed"

// AppUserChanged reports that the desired state of an assignment may have changed: the assignment was created, changed or removed, or its
// user changed.
type AppUserChanged struct {
	App  string `json:"app"`
	User string `json:"user"`
	// Provision is true if the event concerns the provisioning engine: the user has, or is to have, an account in the target.
	Provision bool `json:"provision,omitempty"`
	// Linked is true if the account of the user was found without the provisioning engine.
	Linked bool `json:"linked,omitempty"`
}

// Topic implements Event.
func (AppUserChanged) Topic() string { return EventAppUserChanged }

// Key implements Event with AppUserID.
func (e AppUserChanged) Key() string { return AppUserID(e.App, e.User) }

// The indexes of the app users. Indexes named "listed" omit tombstones.
const (
	AppUserByApp        = "app"         // index by the application
	AppUserByUser       = "user"        // index by the user
	AppUserByListedApp  = "listed_app"  // index by the application
	AppUserByListedUser = "listed_user" // index by the user
	AppUserByUserName   = "user_name"   // index by AppUserNameKey, unique
	AppUserByPrefix     = "prefix"      // index by AppUserPrefixKey of user name, first name, last name and email address
	AppUserByGroup      = "group"       // index by JoinID(application, group), for assignments of scope GROUP
	AppUserByPending    = "pending"     // index by the application, for assignments that are Pending
	// AppUserByUnprovisioned is the index by the application, for listed assignments without a known account.
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

// listed omits tombstones from an index.
func listed(values func(*AppUser) []any) func(*AppUser) []any {
	return func(u *AppUser) []any {
		if !u.Listed() {
			return nil
		}
		return values(u)
	}
}
