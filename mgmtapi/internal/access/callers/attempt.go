package callers

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// FailedAttempt counts a wrong password or recovery answer for the user, and locks the user out when the number of failures in a row
// reaches the limit of the password policy. The built-in administrator and the last SUPER_ADMIN are never locked out, because no other user
// could unlock them. entry logs the failure. The caller must commit the transaction although it rejects the request.
//
// If the user is already locked out, FailedAttempt returns false and neither counts nor logs. The caller must then respond as if it had not
// compared the password or answer, so that concurrent attempts reveal no more than sequential ones.
func FailedAttempt(ctx context.Context, tx *docstore.Tx, d model.Deps, doc docstore.Doc[model.User], entry audit.Entry) (counted bool,
	err error) {
	user := doc.Value
	if user.Status == model.UserLockedOut {
		return false, nil
	}
	policy, err := d.PasswordPolicy(ctx, tx)
	if err != nil {
		return false, err
	}
	count, err := countAttempt(ctx, tx, d, doc)
	if err != nil {
		return false, err
	}
	party := audit.User(doc)
	entry.Targets = []model.LogParty{party}
	if rest.Caller(ctx).UserID == "" {
		entry.Actor = &party
	}
	if err := audit.Write(ctx, tx, d, entry); err != nil {
		return false, err
	}
	tooMany := policy.MaxAttempts > 0 && count >= policy.MaxAttempts
	if !tooMany || user.Status != model.UserActive && user.Status != model.UserPasswordExpired {
		return true, nil
	}
	return true, lockOut(ctx, tx, d, doc, entry.Actor)
}

// countAttempt increments the number of failed attempts and returns the new number.
func countAttempt(ctx context.Context, tx *docstore.Tx, d model.Deps, doc docstore.Doc[model.User]) (int, error) {
	before, err := model.Optional(ctx, tx, d.Attempts, doc.ID)
	if err != nil {
		return 0, err
	}
	next := model.Attempts{Series: doc.Value.Attempts, Count: 1}
	if before == nil {
		_, err = d.Attempts.Insert(ctx, tx, doc.ID, next)
		return next.Count, err
	}
	if before.Value.Series == next.Series {
		next.Count += before.Value.Count
	}
	_, err = d.Attempts.Update(ctx, tx, doc.ID, before.Rev, next)
	return next.Count, err
}

func lockOut(ctx context.Context, tx *docstore.Tx, d model.Deps, doc docstore.Doc[model.User], by *model.LogParty) error {
	org, err := d.Org(ctx, tx)
	if err != nil || doc.ID == org.Administrator {
		return err
	}
	if last, err := authz.LastSuperAdmin(ctx, tx, d, doc.ID); err != nil || last {
		return err
	}
	user := doc.Value
	user.LockOut(d.Now())
	if doc, err = d.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
		return err
	}
	entry := audit.Entry{Type: audit.UserLock, Actor: by, Targets: []model.LogParty{audit.User(doc)},
		Failure: "Too many failed attempts in a row"}
	if err := audit.Write(ctx, tx, d, entry); err != nil {
		return err
	}
	return d.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}
