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

// waits are the users that are not provisioned yet and that a principal needs: members of a group, the manager of a user.
type waits struct {
	named []string // the first MaxWaitingOn
	all   int
}

func (w *waits) on(user string) {
	if w.all++; w.all <= engine.MaxWaitingOn {
		w.named = append(w.named, user)
	}
}

// String is empty when there are none.
func (w *waits) String() string {
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

// manage gives a user its manager, as far as that has an account at the target, and returns the desired state with it. That it is the
// manager was stored by begin: when its account moves after it was looked at here, this user is made due.
func (r *run) manage(ctx context.Context, want engine.UserState) (engine.UserState, error) {
	if want.Want != engine.Active || want.Manager == "" && r.row.Manager == "" {
		return want, nil
	}
	if want.Manager == "" && hasManager(want.Resource) {
		r.managerReleased = true // the embedder writes the attribute itself now
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
		// Whoever is not wanted at the app is not waited for.
		switch u, err := r.Directory.User(ctx, r.row.App, want.Manager); {
		case err != nil:
			r.directoryFailed(fmt.Errorf("the manager %s: %w", want.Manager, err))
			return want, nil
		case u.Want == engine.Active:
			r.waiting.on(want.Manager)
			return want, nil // the account keeps what it has until the manager gets an id
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

// withManager returns a copy of the mapped attributes with the manager of the enterprise extension (RFC 7643 section 4.3), null for none.
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

// finishWaiting notes who is waited for, and whom the account may have as manager. That is not forgotten when the manager is taken away: a
// target with stale reads may have seemed to have none.
func (r *run) finishWaiting(done bool) {
	f := &r.finish
	if !done || !r.managerReleased {
		f.Manager = r.row.Manager
	}
	if f.Status == engine.StatusWaiting {
		f.WaitingOn, f.Error = slices.Clone(r.waiting.named), r.waiting.String()
	}
}
