package sequence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// missingUsers are the unprovisioned users that a principal needs: members of a group, the manager of a user.
type missingUsers struct {
	named []string // the first MaxWaitingOn
	all   int
}

func (w *missingUsers) on(user string) {
	if w.all++; w.all <= engine.MaxWaitingOn {
		w.named = append(w.named, user)
	}
}

// String returns a message that names the users, empty if no user is missing.
func (w *missingUsers) String() string {
	switch {
	case w.all == 0:
		return ""
	case w.all == 1:
		return "waiting on user " + w.named[0]
	case w.all > len(w.named):
		return fmt.Sprintf("waiting on users %s and %d more", strings.Join(w.named, ", "), w.all-len(w.named))
	default:
		return "waiting on users " + strings.Join(w.named, ", ")
	}
}

// resolveManager returns the desired state with the id of the manager's account on the target, if the manager has an account. If the
// account of the manager changes later, the store requeues this user, because begin has already stored the manager.
func (r *run) resolveManager(ctx context.Context, want engine.UserState) (engine.UserState, error) {
	if want.Want != engine.Active || want.Manager == "" && r.row.Manager == "" {
		return want, nil
	}
	if want.Manager == "" && hasManager(want.Resource) {
		r.managerReleased = true // the mapping sets the manager, so that the engine no longer does
		return want, nil
	}
	remote := ""
	if want.Manager != "" {
		known, err := r.state(ctx, engine.User, want.Manager)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return want, err
		}
		remote = known.RemoteID
	}
	if want.Manager != "" && remote == "" && r.target.UpdateUsers {
		// The user does not wait for a manager who is not desired in the app.
		switch u, err := r.Directory.User(ctx, r.row.App, want.Manager); {
		case err != nil:
			r.directoryFailed(fmt.Errorf("the manager %s: %w", want.Manager, err))
			return want, nil
		case u.Want == engine.Active:
			r.waiting.on(want.Manager)
			return want, nil // the account is not changed until the manager has an id
		}
	}
	want.Resource = withManager(want.Resource, remote)
	return want, nil
}

func hasManager(mapped *scim.Resource) bool {
	if mapped == nil {
		return false
	}
	_, has := mapped.Complex(scim.EnterpriseUserSchema).Get("manager")
	return has
}

// withManager returns a copy of the mapped attributes with the manager of the enterprise extension (RFC 7643 section 4.3). The manager is
// null if remote is empty.
func withManager(mapped *scim.Resource, remote string) *scim.Resource {
	out := &scim.Resource{}
	if mapped != nil {
		out = mapped.Clone()
	}
	extension := out.Complex(scim.EnterpriseUserSchema)
	if extension == nil {
		extension = scim.NewObject()
	}
	if remote == "" {
		extension.Set("manager", nil)
	} else {
		extension.Set("manager", scim.NewObject(scim.Member{Name: "value", Value: remote}))
		if len(out.Schemas()) == 0 {
			out.AddSchema(scim.UserSchema)
		}
		out.AddSchema(scim.EnterpriseUserSchema)
	}
	out.Set(scim.EnterpriseUserSchema, extension)
	return out
}

// finishWaiting stores the missing users, and the manager that the account may have. A manager that the engine has removed from the account
// stays stored: the account may still have it, because the last read may have been stale.
func (r *run) finishWaiting(done bool) {
	f := &r.finish
	if !done || !r.managerReleased {
		f.Manager = r.row.Manager
	}
	if f.Status == engine.StatusWaiting {
		f.WaitingOn, f.Error = slices.Clone(r.waiting.named), r.waiting.String()
	}
}
