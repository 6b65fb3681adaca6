package scimstore

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scimserver"
)

// Store is a scimserver.Store, scimserver.Batcher and scimserver.RawReader on a docstore.
type Store struct {
	docs   *docstore.Store
	layout *Layout
}

var (
	_ scimserver.Store     = (*Store)(nil)
	_ scimserver.Batcher   = (*Store)(nil)
	_ scimserver.RawReader = (*Store)(nil)

	_ scimserver.IDAssigner = (*Store)(nil)
)

// New returns the store of a layout on docs, which was opened with the layout's tables.
func New(docs *docstore.Store, l *Layout) *Store {
	return &Store{docs: docs, layout: l}
}

// AssignsIDs implements scimserver.IDAssigner. On SQLite, the id of a resource contains its number.
func (s *Store) AssignsIDs() bool { return docstore.AssignsIDs(s.layout.types[0].docs) }

// Get implements scimserver.Store.
func (s *Store) Get(ctx context.Context, typ, id string) (*scimserver.Record, error) {
	k, err := s.layout.kind(typ)
	if err != nil {
		return nil, err
	}
	doc, err := docstore.GetLinked(ctx, k.docs, s.docs.Reader(), id, k.groups)
	if err != nil {
		return nil, translate(k, err)
	}
	recs, err := s.records(ctx, k, []docstore.Doc[document]{doc})
	if err != nil {
		return nil, err
	}
	return recs[0], nil
}

// Create implements scimserver.Store.
func (s *Store) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
	k, err := s.layout.kind(rec.Type)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 && !k.guarded {
		return s.createAlone(ctx, k, rec)
	}
	stored, err := s.CreateAll(ctx, []scimserver.NewRecord{{Record: rec, Members: members}})
	if one, ok := errors.AsType[*scimserver.BatchError](err); ok {
		return nil, one.Err
	}
	if err != nil {
		return nil, err
	}
	stored[0].Groups = []scimserver.Membership{} // a new resource is in no group
	return stored[0], nil
}

// createAlone creates a resource without members. It fails before its first change or not at all.
func (s *Store) createAlone(ctx context.Context, k *kind, made *scimserver.Record) (*scimserver.Record, error) {
	p, err := docstore.Prepare(k.docs, documentOf(made))
	if err != nil {
		return nil, err
	}
	var stored *scimserver.Record
	err = s.docs.UpdateUnguarded(ctx, func(tx *docstore.Tx) error {
		doc, err := docstore.InsertPrepared(ctx, k.docs, tx, made.ID, p)
		if err != nil {
			return translate(k, err)
		}
		stored = recordOf(k, doc)
		docstore.Remember(k.docs, tx, doc, p, k.groups)
		return nil
	})
	if err != nil {
		return nil, err
	}
	stored.JSON, _, _ = split(p.Text())
	stored.Groups = []scimserver.Membership{} // a new resource is in no group
	return stored, nil
}

// CreateAll implements scimserver.Batcher.
func (s *Store) CreateAll(ctx context.Context, all []scimserver.NewRecord) ([]*scimserver.Record, error) {
	kinds, prepared := make([]*kind, len(all)), make([]docstore.Prepared[document], len(all))
	for i, made := range all {
		var err error
		if kinds[i], err = s.layout.kind(made.Type); err != nil {
			return nil, err
		}
		if prepared[i], err = docstore.Prepare(kinds[i].docs, documentOf(made.Record)); err != nil {
			return nil, err
		}
	}
	stored := make([]*scimserver.Record, len(all))
	err := s.docs.Update(ctx, func(tx *docstore.Tx) error {
		for i, k := range kinds {
			doc, err := docstore.InsertPrepared(ctx, k.docs, tx, all[i].ID, prepared[i])
			if err != nil {
				return &scimserver.BatchError{Index: i, Err: translate(k, err)}
			}
			stored[i] = recordOf(k, doc)
			stored[i].JSON, _, _ = split(prepared[i].Text())
			docstore.Remember(k.docs, tx, doc, prepared[i], k.groups)
		}
		for i, made := range all {
			joining, err := s.joining(ctx, tx, stored[i].ID, made.Members)
			if err == nil {
				err = s.join(ctx, tx, joining)
			}
			if err != nil {
				return &scimserver.BatchError{Index: i, Err: err}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// Replace implements scimserver.Store.
func (s *Store) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
	k, err := s.layout.kind(rec.Type)
	if err != nil {
		return nil, err
	}
	old := rec.Previous
	if old == nil || old.Type != rec.Type || old.ID != rec.ID || old.Version != rec.Version {
		if old, err = s.previous(ctx, k, rec); err != nil {
			return nil, err
		}
	}
	before := docstore.Stored(old.ID, old.Order, old.Version, old.Created, documentOf(old))
	revision, err := docstore.PrepareRevision(k.docs, before, documentOf(rec))
	if err != nil {
		return nil, err
	}
	var stored *scimserver.Record
	revise := func(tx *docstore.Tx) error {
		doc, err := docstore.Revise(ctx, k.docs, tx, revision)
		if err != nil {
			return translate(k, err)
		}
		stored = recordOf(k, doc)
		stored.Groups = old.Groups
		stored.JSON, _, _ = split(revision.Text())
		return nil
	}
	renamed := old.Display != rec.Display
	err = errGuarded
	if ungrouped := k.groups != nil && old.Groups != nil && len(old.Groups) == 0; change.Empty() && !k.guarded && (!renamed || ungrouped) {
		err = s.docs.UpdateUnguarded(ctx, func(tx *docstore.Tx) error {
			if renamed { // the resource may have become a member in the meantime
				member, err := k.groups.Any(ctx, tx, k.docs, rec.ID)
				if err == nil && member {
					err = errGuarded
				}
				if err != nil {
					return err
				}
			}
			return revise(tx)
		})
	}
	if errors.Is(err, errGuarded) {
		err = s.docs.Update(ctx, func(tx *docstore.Tx) error {
			// Members are locked before the group, as in Delete, which locks a member and then its groups: two transactions that lock the same
			// rows in the same order cannot deadlock.
			joining, err := s.joining(ctx, tx, rec.ID, change.Add)
			if err == nil {
				err = revise(tx)
			}
			if err == nil {
				err = s.leave(ctx, tx, rec.ID, change.Remove)
			}
			if err == nil {
				err = s.join(ctx, tx, joining)
			}
			if err == nil && renamed {
				err = s.rename(ctx, tx, rec.ID, rec.Display)
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// errGuarded means that a change needs a transaction in which a statement may fail after the first change.
var errGuarded = errors.New("scimstore: the change affects memberships")

// previous reads the state that a record replaces, for a caller that does not pass it.
func (s *Store) previous(ctx context.Context, k *kind, rec *scimserver.Record) (*scimserver.Record, error) {
	doc, err := k.docs.Get(ctx, s.docs.Reader(), rec.ID)
	switch {
	case err != nil:
		return nil, translate(k, err)
	case doc.Rev != rec.Version:
		return nil, scimserver.ErrConflict
	}
	return recordOf(k, doc), nil
}

// Delete implements scimserver.Store.
func (s *Store) Delete(ctx context.Context, typ, id string, version int64) error {
	k, err := s.layout.kind(typ)
	if err != nil {
		return err
	}
	return s.docs.Update(ctx, func(tx *docstore.Tx) error {
		held, err := hold(ctx, tx, k, forUpdate, []string{id})
		if err != nil {
			return err
		}
		switch found, ok := held[id]; {
		case !ok:
			return scimserver.ErrNotFound
		case version != 0 && version != found:
			return scimserver.ErrConflict
		}
		// From here on no transaction can add this resource to a group, because that requires a lock on the row of the resource, which hold has
		// locked.
		if err := k.docs.Delete(ctx, tx, id); err != nil {
			return translate(k, err)
		}
		return s.removeMemberships(ctx, tx, id)
	})
}

// translate converts errors of the docstore to those of scimserver.Store.
func translate(k *kind, err error) error {
	unique, ok := errors.AsType[*docstore.UniqueError](err)
	switch {
	case ok:
		return &scimserver.UniqueError{Attribute: k.attribute(unique.Index)}
	case errors.Is(err, docstore.ErrNotFound):
		return scimserver.ErrNotFound
	case errors.Is(err, docstore.ErrConflict):
		return scimserver.ErrConflict
	}
	return err
}

// attribute returns the path of the attribute of an index.
func (k *kind) attribute(name string) string {
	for _, ix := range k.indexes {
		if ix.name == name {
			return ix.path.String()
		}
	}
	return name
}
