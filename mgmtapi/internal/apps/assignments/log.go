package assignments

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// entry returns the log entry for an event of an assignment.
func (t *target) entry(event audit.Type, user docstore.Doc[model.User], u *model.AppUser) audit.Entry {
	return audit.Entry{Type: event, Targets: []model.LogParty{audit.AppUser(u), audit.App(t.id, &t.app), audit.User(user)}}
}

// entries returns the log entries for a change of an assignment. A change of the sync state alone is not logged.
func (t *target) entries(user docstore.Doc[model.User], c change) []audit.Entry {
	var events []audit.Type
	was, is := c.doc != nil && c.doc.Value.Listed(), c.value.Listed()
	switch {
	case !was && is:
		events = append(events, audit.AppUserAdd)
	case was && !is:
		events = append(events, audit.AppUserRemove)
		if c.value.ExternalID != "" && c.value.SyncState == model.SyncDisabled {
			events = append(events, audit.AppUserRevoke) // Deactivate Users is off, so the account stays on the target
		}
	case was && is:
		before, after := &c.doc.Value, &c.value
		if before.UserName != after.UserName {
			events = append(events, audit.AppUserRename)
		}
		if before.SealedPassword != after.SealedPassword {
			events = append(events, audit.AppUserPassword)
		}
		if before.Scope != after.Scope || before.Group != after.Group || !sameProfile(before.Profile, after.Profile) {
			events = append(events, audit.AppUserUpdate)
		}
	}
	entries := make([]audit.Entry, len(events))
	for i, event := range events {
		entries[i] = t.entry(event, user, &c.value)
	}
	return entries
}

// logGroup logs an event of the assignment of a group. The group may be deleted.
func (s *Slice) logGroup(ctx context.Context, tx *docstore.Tx, event audit.Type, t *target, group string) error {
	party := model.LogParty{ID: group, Type: audit.TypeGroup}
	doc, err := model.Optional(ctx, tx, s.Groups, group)
	if err != nil {
		return err
	}
	if doc != nil {
		party = audit.Group(*doc)
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{party, audit.App(t.id, &t.app)}})
}
