package scimstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scimserver"
)

// chunkSize is the number of rows that one statement reads, unless the caller defines the number.
const chunkSize = 1000

// Members implements scimserver.Store.
func (s *Store) Members(ctx context.Context, group string, only []string) ([]scimserver.Member, error) {
	where := docstore.Eq(byGroup, group)
	named := func(string) bool { return true }
	switch {
	case only == nil:
	case len(only) == 0:
		return nil, nil
	case len(only) <= chunkSize:
		where = docstore.IDs(membershipIDs(group, only)...)
	default:
		in := make(map[string]bool, len(only))
		for _, id := range only {
			in[id] = true
		}
		named = func(id string) bool { return in[id] }
	}
	var out []scimserver.Member
	err := s.eachMembership(ctx, where, func(m membership) {
		if named(m.Member) {
			out = append(out, scimserver.Member{ID: m.Member, Type: m.Type, Display: m.Display})
		}
	})
	return out, err
}

// MemberOf implements scimserver.Store.
func (s *Store) MemberOf(ctx context.Context, ids []string) (map[string][]scimserver.Membership, error) {
	found := map[string][]string{} // groups by member
	var groups, unread []string
	for _, id := range ids {
		of, ok := s.recallGroups(id)
		switch {
		case !ok:
			unread = append(unread, id)
		case len(of) > 0:
			found[id], groups = of, append(groups, of...)
		}
	}
	for chunk := range slices.Chunk(unread, chunkSize) {
		err := s.eachMembership(ctx, docstore.In(byMember, anys(chunk)...), func(m membership) {
			found[m.Member] = append(found[m.Member], m.Group)
			groups = append(groups, m.Group)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(groups) == 0 {
		return nil, nil
	}
	display, err := s.displays(ctx, groups)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]scimserver.Membership, len(found))
	for id, groups := range found {
		if shown := memberships(groups, display); len(shown) > 0 {
			out[id] = shown
		}
	}
	return out, nil
}

// recallGroups returns the groups of a resource from the cache. Those of groups are there after the groups of a user were named.
func (s *Store) recallGroups(id string) (groups []string, ok bool) {
	for _, k := range s.layout.owners {
		if groups, ok = k.texts.RecallLinked(s.docs.Reader(), id, s.layout.groups); ok {
			return groups, true
		}
	}
	return nil, false
}

// memberships returns one membership for each of the groups that has an entry in the map display. A group that is being deleted has no
// entry.
func memberships(groups []string, display map[string]string) []scimserver.Membership {
	out := make([]scimserver.Membership, 0, len(groups))
	for _, group := range groups {
		if text, ok := display[group]; ok {
			out = append(out, scimserver.Membership{Group: group, Display: text})
		}
	}
	return out
}

// records returns the records of documents. A record contains the groups of the resource if they were read with the document.
func (s *Store) records(ctx context.Context, k *kind, docs []docstore.Doc[document]) ([]*scimserver.Record, error) {
	out := make([]*scimserver.Record, len(docs))
	var groups []string
	for i := range docs {
		out[i] = recordOf(k, docs[i])
		linked, _ := docs[i].Linked()
		groups = append(groups, linked...)
	}
	var display map[string]string
	if len(groups) > 0 {
		var err error
		if display, err = s.displays(ctx, groups); err != nil {
			return nil, err
		}
	}
	for i := range docs {
		if linked, ok := docs[i].Linked(); ok {
			out[i].Groups = memberships(linked, display)
		}
	}
	return out, nil
}

// displays returns the Display of the existing groups, by id. Among resources of several types with the same id, it is that of the group.
func (s *Store) displays(ctx context.Context, groups []string) (map[string]string, error) {
	slices.Sort(groups)
	groups = slices.Compact(groups)
	out := make(map[string]string, len(groups))
	for _, k := range s.layout.owners {
		if len(out) == len(groups) {
			break
		}
		err := k.texts.GetMany(ctx, s.docs.Reader(), groups, s.layout.groups, func(d *docstore.Raw) error {
			if _, found := out[d.ID]; found {
				return nil
			}
			_, display, err := split(d.JSON)
			if err == nil {
				out[d.ID], err = text(display)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eachMembership visits memberships in the order of their creation.
func (s *Store) eachMembership(ctx context.Context, where docstore.Cond, visit func(membership)) error {
	for after := ""; ; {
		page, err := s.layout.members.Query(ctx, s.docs.Reader(), docstore.Query[membership]{Where: where, After: after, Limit: chunkSize})
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			visit(doc.Value)
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// joining reads the members that are to join a group and locks their rows, so that no other transaction deletes one of these members.
func (s *Store) joining(ctx context.Context, tx *docstore.Tx, group string, ids []string) ([]membership, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	members := make(map[string]membership, len(ids))
	sorted := slices.Sorted(slices.Values(ids)) // all transactions lock the rows in this order, so that they cannot deadlock
	for _, k := range s.layout.types {
		for chunk := range slices.Chunk(sorted, chunkSize) { // limits the number of documents in memory
			held, err := hold(ctx, tx, k, forShare, chunk)
			if err != nil {
				return nil, err
			}
			if len(held) == 0 {
				continue
			}
			docs, err := k.docs.GetMany(ctx, tx, chunk)
			if err != nil {
				return nil, err
			}
			for _, doc := range docs {
				members[doc.ID] = membership{Group: group, Member: doc.ID, Type: k.Name, Display: doc.Value.Display}
			}
		}
	}
	var out []membership
	var unknown []string
	for _, id := range ids {
		if m, ok := members[id]; ok {
			out = append(out, m)
		} else {
			unknown = append(unknown, id)
		}
	}
	if unknown != nil {
		return nil, &scimserver.UnknownMemberError{IDs: unknown}
	}
	return out, nil
}

// join stores new memberships of one group. It skips memberships that exist already.
func (s *Store) join(ctx context.Context, tx *docstore.Tx, joining []membership) error {
	for chunk := range slices.Chunk(joining, chunkSize) {
		ids := make([]string, len(chunk))
		for i, m := range chunk {
			ids[i] = docstore.JoinID(m.Group, m.Member)
		}
		have, err := s.layout.members.GetMany(ctx, tx, ids)
		if err != nil {
			return err
		}
		member := make(map[string]bool, len(have))
		for _, doc := range have {
			member[doc.ID] = true
		}
		for i, m := range chunk {
			if member[ids[i]] {
				continue
			}
			if _, err := s.layout.members.Insert(ctx, tx, ids[i], m); err != nil {
				return err
			}
			member[ids[i]] = true
		}
	}
	return nil
}

// leave removes members from a group.
func (s *Store) leave(ctx context.Context, tx *docstore.Tx, group string, members []string) error {
	for chunk := range slices.Chunk(membershipIDs(group, members), chunkSize) {
		if _, err := s.layout.members.DeleteWhere(ctx, tx, docstore.IDs(chunk...)); err != nil {
			return err
		}
	}
	return nil
}

// rename updates the display of a resource in the groups that it is a member of.
func (s *Store) rename(ctx context.Context, tx *docstore.Tx, member, display string) error {
	memberships, err := s.membershipsOf(ctx, tx, member)
	for _, doc := range memberships {
		doc.Value.Display = display
		if _, err := s.layout.members.Update(ctx, tx, doc.ID, 0, doc.Value); err != nil {
			return err
		}
	}
	return err
}

// removeMemberships removes all memberships of a deleted resource. The groups that lose the member get a new version.
func (s *Store) removeMemberships(ctx context.Context, tx *docstore.Tx, id string) error {
	if _, err := s.layout.members.DeleteWhere(ctx, tx, docstore.Eq(byGroup, id)); err != nil {
		return err
	}
	memberships, err := s.membershipsOf(ctx, tx, id)
	if err != nil || len(memberships) == 0 {
		return err
	}
	if _, err := s.layout.members.DeleteWhere(ctx, tx, docstore.Eq(byMember, id)); err != nil {
		return err
	}
	groups := make([]string, len(memberships))
	for i, doc := range memberships {
		groups[i] = doc.Value.Group
	}
	for _, k := range s.layout.types {
		if _, err := hold(ctx, tx, k, forUpdate, groups); err != nil {
			return err
		}
		docs, err := k.docs.GetMany(ctx, tx, groups)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			if _, err := k.docs.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// membershipsOf returns the memberships of a resource in its direct groups.
func (s *Store) membershipsOf(ctx context.Context, tx *docstore.Tx, member string) ([]docstore.Doc[membership], error) {
	var out []docstore.Doc[membership]
	for after := ""; ; {
		page, err := s.layout.members.Query(ctx, tx,
			docstore.Query[membership]{Where: docstore.Eq(byMember, member), After: after, Limit: chunkSize})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Docs...)
		if after = page.Next; after == "" {
			return out, nil
		}
	}
}

func membershipIDs(group string, members []string) []string {
	ids := make([]string, len(members))
	for i, member := range members {
		ids[i] = docstore.JoinID(group, member)
	}
	return ids
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// Row locks of PostgreSQL. SQLite has one writer at a time and needs none.
const (
	forShare  = " FOR SHARE"
	forUpdate = " FOR UPDATE"
)

// hold locks the rows of the resources with these ids until the end of the transaction. It returns the versions of the existing ones by id.
func hold(ctx context.Context, tx *docstore.Tx, k *kind, lock string, ids []string) (map[string]int64, error) {
	if tx.SQL().Dialect().String() != "postgres" {
		lock = ""
	}
	held := make(map[string]int64, len(ids))
	for chunk := range slices.Chunk(ids, chunkSize) {
		err := docstore.Revisions(ctx, k.docs, tx, chunk, lock, func(id string, rev int64) { held[id] = rev })
		if err != nil {
			return nil, fmt.Errorf("hold resources: %w", err)
		}
	}
	return held, nil
}
