package auth

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// FailedAttempt counts that somebody who claimed to be the user knew neither password nor recovery answer, and locks the user
// out when the password policy says that there were too many in a row. The built-in administrator is never locked out, because nobody else could unlock it.
// The failure itself is told by entry. The transaction has to commit although the caller is refused.
func FailedAttempt(ctx context.Context, tx *docstore.Tx, d model.Deps, doc docstore.Doc[model.User], entry audit.Entry) error {
	org, err := d.Org(ctx, tx)
	if err != nil {
		return err
	}
	policy, err := d.PasswordPolicy(ctx, tx)
	if err != nil {
		return err
	}
	user := doc.Value
	user.FailedAttempts++
	locked := user.Status == model.UserActive && policy.MaxAttempts > 0 && user.FailedAttempts >= policy.MaxAttempts && doc.ID != org.Administrator
	if locked {
		user.Enter(model.UserLockedOut, d.Now())
	}
	if doc, err = d.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
		return err
	}
	party := audit.User(doc)
	entry.Targets = []model.LogParty{party}
	if rest.Caller(ctx).UserID == "" {
		entry.Actor = &party
	}
	entries := []audit.Entry{entry}
	if locked {
		entries = append(entries, audit.Entry{
			Type: audit.UserLock, Actor: entry.Actor, Targets: entry.Targets, Failure: "Too many failed attempts in a row",
		})
	}
	if err := audit.Write(ctx, tx, d, entries...); err != nil {
		return err
	}
	return d.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}
