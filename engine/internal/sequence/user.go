package sequence

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
)

func (r *run) user(ctx context.Context) error {
	want, err := r.Directory.User(ctx, r.row.App, r.row.ID)
	if err != nil {
		r.directoryFailed(err)
		return nil
	}
	r.desired = want
	if err := r.begin(ctx, directory.UserIntent(r.row.ID, want)); err != nil || r.outcome.Class != "" {
		return err
	}
	if r.target.DeactivateUsers && (want.Want == engine.Inactive || want.Want == engine.Absent) {
		if ok, err := r.guarded(ctx, engine.RemoveUser); !ok {
			return err
		}
	}
	if want.Password == "" {
		want.Password, want.PasswordVersion = placeholder(), ""
	}
	if want, err = r.resolveManager(ctx, want); err != nil || r.outcome.Class != "" {
		return err
	}
	in := r.userInput(want)
	in.HaltedLinks = func() (string, error) { return trackFailure(r, func() (string, error) { return r.haltedLinks(ctx) }) }
	in.Former = func(account *scim.Resource) (string, error) {
		return trackFailure(r, func() (string, error) { return r.former(ctx, account) })
	}
	in.Owner = func(id string) (string, error) {
		return trackFailure(r, func() (string, error) { return r.owner(ctx, id) })
	}
	if in.RemoteID != r.row.RemoteID {
		switch owner, err := in.Owner(in.RemoteID); {
		case err != nil:
			return err
		case owner != "":
			r.outcome = r.keep(localOutcome(engine.Held, "account %s already belongs to user %s", in.RemoteID, owner))
			return nil
		}
	}
	if err := r.exchange(ctx, plan.User(in), want.Password); err != nil {
		return err
	}
	lost := r.outcome.Operation == engine.OpCreate && r.outcome.Origin == engine.Unconfirmed && !r.outcome.Halted
	if !lost && (r.outcome.Class != engine.Done || want.Want != engine.Active) {
		r.outcome.Name = r.row.RemoteName // an account may exist under the stored name, not under the new one
	}
	return nil
}

// userInput returns the input of the sequence of a user, without the owner. It does not access the store, the directory or the target.
func (r *run) userInput(want engine.UserState) plan.UserInput {
	t := r.target
	in := plan.UserInput{
		Want: want.Want, UserName: cmp.Or(want.UserName, r.row.RemoteName), Resource: want.Resource, OnCreate: want.OnCreate,
		Password: want.Password, PasswordVersion: want.PasswordVersion, HasPassword: r.row.PasswordVersion, SyncPassword: t.SyncPasswords,

		RemoteID: r.row.RemoteID, Origin: r.row.Origin, Activating: want.Activating, MayExist: r.row.MayExist && !r.first,
		EarlierName: r.earlierName(want.UserName),
		Style:       r.known.Style(t, r.Now()), Fallback: t.Fallback, Traits: r.known.TraitsAt(r.Now()),
		IgnoredAttributes: r.row.IgnoredAttributes, Rounds: r.KeepRounds,
		Create: t.CreateUsers, Update: t.UpdateUsers, Deactivate: t.DeactivateUsers,
		LookupAttribute: t.UserNameAttribute, OnMissing: t.OnMissing, OnExisting: t.OnExisting,
		OnRecycled: t.OnRecycled, HoldName: r.Connection.HoldsName,
		Pending: r.row.Pending, Expired: r.expired(),
	}
	if r.row.Activating {
		in.OnMissing = engine.Recreate // a new assignment starts with a lookup: the account of an earlier assignment may have been deleted
	}
	if want.RemoteID != "" {
		in.OnMissing = engine.Fail // the embedder chose the account with that id: no other account may replace it
		if want.RemoteID != in.RemoteID {
			in.RemoteID, in.Origin, in.HasPassword = want.RemoteID, engine.Linked, ""
		}
	}
	return in
}

// earlierName returns the stored name, under which an earlier sequence may have created an account, if the user has another name now;
// otherwise "".
func (r *run) earlierName(now string) string {
	if r.row.MayExist && now != "" && now != r.row.RemoteName {
		return r.row.RemoteName
	}
	return ""
}

// placeholder returns the password of an account whose user never enters one: 32 characters that are safe in a URL.
func placeholder() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
