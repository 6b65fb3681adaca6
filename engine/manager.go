package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// MaxWaitingOn is how many of the users that a principal waits on are named: State.WaitingOn and the message.
const MaxWaitingOn = 10

// waits are the users that are not provisioned yet and that a principal needs: members of a group, the manager of a user.
type waits struct {
	named []string // the first MaxWaitingOn
	all   int
}

func (w *waits) on(user string) {
	if w.all++; w.all <= MaxWaitingOn {
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

// report is the manager of a user as a sequence was given it.
type report struct {
	manager string // the user that is the manager, empty for none
	remote  string // its id at the target, empty when there is none
}

// manage gives a user its manager, as far as that has an account at the target, and returns the desired state with it.
func (r *run) manage(ctx context.Context, want UserState) (UserState, error) {
	r.report = report{manager: want.Manager}
	if want.Want != Active || want.Manager == "" && r.row.Manager == "" {
		return want, nil
	}
	if want.Manager != "" {
		known, err := r.w.e.state(ctx, r.row.App, User, want.Manager)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return want, err
		}
		r.report.remote = known.RemoteID
	}
	switch waits, err := r.awaited(ctx, want.Manager); {
	case err != nil:
		r.directoryFailed(fmt.Errorf("the manager %s: %w", want.Manager, err))
		return want, nil
	case waits:
		r.waiting.on(want.Manager)
		return want, nil // the account keeps what it has until the manager gets an id, which makes this user due
	}
	want.Resource = withManager(want.Resource, r.report.remote)
	return want, nil
}

// awaited says whether a manager without an account is to get one. The directory is asked: whoever is not wanted at the app is not
// waited for.
func (r *run) awaited(ctx context.Context, manager string) (bool, error) {
	if manager == "" || r.report.remote != "" || !r.target.UpdateUsers {
		return false, nil
	}
	u, err := r.w.e.o.Directory.User(ctx, r.row.App, manager)
	return u.Want == Active, err
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

// finishReport notes who the manager is from now on, once the target was told.
func (r *run) finishReport(done bool) {
	f := &r.finish
	f.Manager = r.row.Manager
	if done && r.row.Kind == User && r.row.Want == Active {
		f.Manager, f.ManagerID = r.report.manager, r.report.remote
	}
	if f.Status == StatusWaiting {
		f.WaitingOn, f.Error = slices.Clone(r.waiting.named), r.waiting.String()
	}
}
