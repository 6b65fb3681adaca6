package scimserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// mapStore is a store of one's own in a few lines: maps under a mutex. It leaves filters to the server, which then scans.
type mapStore struct {
	mu      sync.RWMutex
	order   []string // ids in the order of creation
	created int64    // how many there ever were
	records map[string]*scimserver.Record
	members map[string][]string // member ids by group, in the order of joining
}

func newMapStore() *mapStore {
	return &mapStore{records: map[string]*scimserver.Record{}, members: map[string][]string{}}
}

func (s *mapStore) Get(_ context.Context, typ, id string) (*scimserver.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.get(typ, id)
}

func (s *mapStore) get(typ, id string) (*scimserver.Record, error) {
	if rec := s.records[id]; rec != nil && rec.Type == typ {
		return rec, nil
	}
	return nil, scimserver.ErrNotFound
}

func (s *mapStore) Scan(ctx context.Context, typ string, _ filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
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

func (s *mapStore) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
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

func (s *mapStore) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
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
	stored.Created, stored.Order = old.Created, old.Order
	return &stored, s.put(ctx, &stored, change)
}

// put checks and stores a record as its next version.
func (s *mapStore) put(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if name := rec.Resource.Text("userName"); name != "" {
		for _, other := range s.records {
			if other.ID != rec.ID && filter.Fold(other.Resource.Text("userName")) == filter.Fold(name) {
				return &scimserver.UniqueError{Attribute: "userName"}
			}
		}
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

func (s *mapStore) Delete(ctx context.Context, typ, id string, version int64) error {
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

func (s *mapStore) Members(_ context.Context, group string, only []string) ([]scimserver.Member, error) {
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

func (s *mapStore) MemberOf(_ context.Context, ids []string) (map[string][]scimserver.Membership, error) {
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

// A SCIM server over a store of one's own.
func Example() {
	handler, err := scimserver.New(scimserver.Options{
		Store:  newMapStore(),
		Tokens: scimserver.StaticTokens("secret"),
		Prefix: "/scim/v2",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	call := func(method, path, body string) {
		req, _ := http.NewRequest(method, server.URL+"/scim/v2"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		var answer struct {
			UserName, Detail string
			TotalResults     int
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %+v\n", resp.Status, answer)
	}
	call("POST", "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "ann"}`)
	call("POST", "/Users", `{"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "Ann"}`)
	call("GET", "/Users?filter=userName+eq+%22ANN%22", "")
	// Output:
	// 201 Created {UserName:ann Detail: TotalResults:0}
	// 409 Conflict {UserName: Detail:another resource has this userName TotalResults:0}
	// 200 OK {UserName: Detail: TotalResults:1}
}
