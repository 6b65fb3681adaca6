package connections

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// randomPassword is the number of characters of a generated password, 6 bits each.
const randomPassword = 32

// passwordKnown stores, for each account of the user with password sync, the password that the engine must send. The password of the user
// has just been set, or entered at a sign-in. It is stored, encrypted, until the target has accepted it.
func (s *Slice) passwordKnown(ctx context.Context, tx *docstore.Tx, e model.PasswordKnown) error {
	user, err := s.Users.Get(ctx, tx, e.User)
	if err != nil {
		return err
	}
	version := user.Value.PasswordVersion()
	if version == "" {
		return nil
	}
	return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByListedUser, e.User), func(doc docstore.Doc[model.AppUser]) error {
		conn, err := model.Optional(ctx, tx, s.Connections, doc.Value.AppID)
		if err != nil || conn == nil || !conn.Value.SyncsPasswords() || !doc.Value.Provisioned() {
			return err
		}
		options := conn.Value.UserProvisioning
		follows := options.Change == model.ChangeBoth
		exists := doc.Value.ExternalID != ""
		switch {
		case exists && !follows, exists && doc.Value.SyncedPassword == version:
			return nil // Sync Password does not change the password of an existing account, or the account already has this password
		case options.Seed != model.SeedSvc && (!exists || !e.Set):
			return nil // the engine generates the random password of a new account
		}
		plain := e.Plain
		if options.Seed != model.SeedSvc {
			plain = model.NewSecret(randomPassword)
		}
		return s.send(ctx, tx, doc, user, plain, model.SyncPassword{Version: version, Follows: follows})
	})
}

// send stores a password for the engine to send to an account.
func (s *Slice) send(
	ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.AppUser], user docstore.Doc[model.User], plain string, p model.SyncPassword,
) (err error) {
	u := doc.Value
	p.AppID, p.UserID = u.AppID, u.UserID
	if p.Sealed, err = s.Secrets.Seal(plain, model.SyncPasswordBinding(u.AppID, u.UserID)); err != nil {
		return err
	}
	// Delete and insert, so that the lifetime of the password starts again.
	if _, err := s.SyncPasswords.DeleteWhere(ctx, tx, docstore.IDs(doc.ID)); err != nil {
		return err
	}
	if _, err := s.SyncPasswords.Insert(ctx, tx, doc.ID, p); err != nil {
		return err
	}
	if u.SyncState == model.SyncSynchronized {
		u.SyncState = model.SyncOutOfSync
	}
	u.PasswordChanged = s.Now()
	if doc, err = s.AppUsers.Update(ctx, tx, doc.ID, doc.Rev, u); err != nil {
		return err
	}
	app, err := s.Apps.Get(ctx, tx, u.AppID)
	if err != nil {
		return err
	}
	entry := audit.Entry{Type: audit.AppUserPassword,
		Targets: []model.LogParty{audit.AppUser(&u), audit.App(app.ID, &app.Value), audit.User(user)}}
	if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.AppUserChanged{App: u.AppID, User: u.UserID, Provision: true})
}

// dropPasswords deletes the pending passwords for an application.
func (s *Slice) dropPasswords(ctx context.Context, tx *docstore.Tx, app string) error {
	_, err := s.SyncPasswords.DeleteWhere(ctx, tx, docstore.Eq(model.SyncPasswordByApp, app))
	return err
}

// dropPasswordsOf deletes the pending passwords of a user.
func (s *Slice) dropPasswordsOf(ctx context.Context, tx *docstore.Tx, user string) error {
	_, err := s.SyncPasswords.DeleteWhere(ctx, tx, docstore.Eq(model.SyncPasswordByUser, user))
	return err
}
