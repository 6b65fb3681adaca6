// Package memstore is a scimserver.Store in memory, for tests and mock servers, and a template for other stores. The data is lost when the
// process ends.
package memstore

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// A Store consists of maps protected by a mutex. It evaluates no filters: Scan yields all resources of a type.
type Store struct {
	mu      sync.RWMutex
	order   []string // ids in the order of creation
	created int64    // number of resources ever created
	records map[string]*scimserver.Record
	names   map[string]string   // ids by folded userName
	members map[string][]string // member ids by group, in the order in which they were added
}

// New returns an empty store.
func New() *Store {
	return &Store{records: map[string]*scimserver.Record{}, names: map[string]string{}, members: map[string][]string{}}
}

var _ scimserver.Store = (*Store)(nil)

// Get implements scimserver.Store.
func (s *Store) Get(_ context.Context, typ, id string) (*scimserver.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.get(typ, id)
}

func (s *Store) get(typ, id string) (*scimserver.Record, error) {
	if rec := s.records[id]; rec != nil && rec.Type == typ {
		return rec, nil
	}
	return nil, scimserver.ErrNotFound
}

// Scan implements scimserver.Store.
func (s *Store) Scan(ctx context.Context, typ string, _ filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
	return func(yield func(*scimserver.Record, error) bool) {
		s.mu.RLock()
		ids := slices.Clone(s.order)
		s.mu.RUnlock()
		for _, id := range ids {
			if rec, err := s.Get(ctx, typ, id); err == nil && rec.Order > after && !yield(rec, nil) {
				return
			}
		}
	}
}

// Create implements scimserver.Store.
func (s *Store) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := *rec
	stored.Created = time.Now().Truncate(time.Millisecond)
	stored.Order = s.created + 1
	if err := s.put(ctx, &stored, scimserver.MemberChange{Add: members}); err != nil {
		return nil, err
	}
	stored.LastModified = stored.Created
	s.created++
	s.order = append(s.order, rec.ID)
	return &stored, nil
}

// Replace implements scimserver.Store.
func (s *Store) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.get(rec.Type, rec.ID)
	if err != nil {
		return nil, err
	}
	if old.Version != rec.Version {
		return nil, scimserver.ErrConflict
	}
	stored := *rec
	stored.Created, stored.Order, stored.Previous = old.Created, old.Order, nil
	return &stored, s.put(ctx, &stored, change)
}

// put checks and stores a record as its next version.
func (s *Store) put(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := nameOf(rec)
	if owner, taken := s.names[name]; name != "" && taken && owner != rec.ID {
		return &scimserver.UniqueError{Attribute: "userName"}
	}
	var unknown []string
	for _, id := range change.Add {
		if s.records[id] == nil {
			unknown = append(unknown, id)
		}
	}
	if unknown != nil {
		return &scimserver.UnknownMemberError{IDs: unknown}
	}
	if old := s.records[rec.ID]; old != nil {
		delete(s.names, nameOf(old))
	}
	if name != "" {
		s.names[name] = rec.ID
	}
	rec.Version++
	rec.LastModified = time.Now().Truncate(time.Millisecond)
	s.records[rec.ID] = rec
	members := slices.DeleteFunc(slices.Clone(s.members[rec.ID]), func(id string) bool { return slices.Contains(change.Remove, id) })
	for _, id := range change.Add {
		if !slices.Contains(members, id) {
			members = append(members, id)
		}
	}
	s.members[rec.ID] = members
	return nil
}

// Delete implements scimserver.Store.
func (s *Store) Delete(ctx context.Context, typ, id string, version int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.get(typ, id)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if version != 0 && old.Version != version {
		return scimserver.ErrConflict
	}
	delete(s.names, nameOf(old))
	delete(s.records, id)
	delete(s.members, id)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == id })
	for group, members := range s.members {
		if slices.Contains(members, id) {
			next := *s.records[group]
			if err := s.put(ctx, &next, scimserver.MemberChange{Remove: []string{id}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Members implements scimserver.Store.
func (s *Store) Members(_ context.Context, group string, only []string) ([]scimserver.Member, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []scimserver.Member
	for _, id := range s.members[group] {
		if only == nil || slices.Contains(only, id) {
			out = append(out, scimserver.Member{ID: id, Type: s.records[id].Type, Display: s.records[id].Display})
		}
	}
	return out, nil
}

// MemberOf implements scimserver.Store.
func (s *Store) MemberOf(_ context.Context, ids []string) (map[string][]scimserver.Membership, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := map[string][]scimserver.Membership{}
	for _, group := range s.order {
		for _, id := range s.members[group] {
			if slices.Contains(ids, id) {
				out[id] = append(out[id], scimserver.Membership{Group: group, Display: s.records[group].Display})
			}
		}
	}
	return out, nil
}

// nameOf returns the folded userName of a user, or "" for a record without one.
func nameOf(rec *scimserver.Record) string {
	if name := rec.Resource.Text("userName"); name != "" {
		return filter.Fold(name)
	}
	return ""
}
