package provision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim"
)

// largeDirectory is a large directory that stores only the number of its users. Their ids are u-0000000, u-0000001 and so on. Seeded users
// have the accounts r-u-0000000 and so on. All groups have the same members: the users with a number below the field first, except that the
// map in the field "in" decides for the users that it contains.
type largeDirectory struct {
	mu     sync.Mutex
	target map[string]engine.Target // by app
	name   string                   // name of the group "g"; the group "gX" has this name followed by X
	first  int
	in     map[string]bool
	off    map[string]bool                               // users that are inactive
	page   func(ctx context.Context, after string) error // called before a page of members is read; nil: nothing
}

func crowdID(n int) string { return fmt.Sprintf("u-%07d", n) }

func (c *largeDirectory) Target(_ context.Context, app string) (engine.Target, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.target[app]
	if !ok {
		return t, engine.ErrUnknownApp
	}
	return t, nil
}

func (c *largeDirectory) User(_ context.Context, _, id string) (engine.UserState, error) {
	r := &scim.Resource{}
	r.Set("schemas", []any{scim.UserSchema})
	r.Set("externalId", id)
	r.Set("userName", id)
	want := engine.Active
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off[id] {
		want = engine.Inactive
	}
	return engine.UserState{Want: want, UserName: id, Resource: r, Password: "placeholder"}, nil
}

func (c *largeDirectory) Group(_ context.Context, _, id string) (engine.GroupState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return engine.GroupState{Want: engine.Active, DisplayName: c.name + strings.TrimPrefix(id, "g")}, nil
}

func (c *largeDirectory) member(id string) bool {
	if in, said := c.in[id]; said {
		return in
	}
	return id < crowdID(c.first)
}

func (c *largeDirectory) Members(ctx context.Context, _, _, after string, limit int) ([]string, error) {
	c.mu.Lock()
	page := c.page
	c.mu.Unlock()
	if page != nil {
		if err := page(ctx, after); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := 0
	if after != "" {
		if _, err := fmt.Sscanf(after, "u-%d", &begin); err != nil {
			return nil, err
		}
		begin++
	}
	end := c.first
	for id := range c.in {
		end = max(end, number(id)+1)
	}
	var out []string
	for n := begin; n < end && len(out) < limit; n++ {
		if id := crowdID(n); c.member(id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func number(id string) (n int) {
	_, _ = fmt.Sscanf(id, "u-%d", &n)
	return n
}

func (c *largeDirectory) IsMember(_ context.Context, _, _ string, users []string) (map[string]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]bool{}
	for _, id := range users {
		out[id] = c.member(id)
	}
	return out, nil
}

func (c *largeDirectory) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// wanted returns the ids of the accounts that the group should have as members.
func (c *largeDirectory) wanted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for n := range c.first {
		if id := crowdID(n); c.member(id) {
			out = append(out, "r-"+id)
		}
	}
	for id := range c.in {
		if number(id) >= c.first && c.member(id) {
			out = append(out, "r-"+id)
		}
	}
	slices.Sort(out)
	return out
}

// groupTarget is a target for large groups: the cost of a request does not depend on their size. It does not store users.
type groupTarget struct {
	latency time.Duration
	strict  bool // reject the removal of a user that is not a member

	mu       sync.Mutex
	seq      int
	groups   map[string]*targetGroup
	requests []string // method, path without the query, and for groups the operations
	count    int      // of all requests
}

type targetGroup struct {
	name    string
	members map[string]bool
}

type targetMember struct {
	Value string `json:"value"`
}

func newGroupTarget(t testing.TB) (*groupTarget, *httptest.Server) {
	h := &groupTarget{groups: map[string]*targetGroup{}}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return h, s
}

func (h *groupTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		DisplayName string         `json:"displayName"`
		Members     []targetMember `json:"members"`
		Operations  []struct {
			Op    string          `json:"op"`
			Path  string          `json:"path"`
			Value json.RawMessage `json:"value"`
		} `json:"Operations"`
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil && len(raw) > 0 && strings.HasPrefix(r.URL.Path, "/Groups") {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if h.latency > 0 {
		time.Sleep(h.latency) // simulated latency
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	entry := r.Method + " " + r.URL.Path
	for _, o := range body.Operations {
		if kind := o.Op + " " + strings.SplitN(o.Path, "[", 2)[0]; !strings.HasSuffix(entry, kind) {
			entry += ", " + kind
		}
	}
	if len(h.requests) < 10_000 {
		h.requests = append(h.requests, entry)
	}
	w.Header().Set("Content-Type", scim.MediaType)
	answer := func(status int, format string, args ...any) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, format, args...)
	}
	id := strings.TrimPrefix(r.URL.Path, "/Groups/")
	g := h.groups[id]
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/Users":
		h.seq++
		answer(http.StatusCreated, `{"schemas":[%q],"id":"r-%d"}`, scim.UserSchema, h.seq)
	case r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/Users/"):
		answer(http.StatusOK, `{"schemas":[%q],"id":%q,"active":false}`, scim.UserSchema, strings.TrimPrefix(r.URL.Path, "/Users/"))
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/Users/"):
		id := strings.TrimPrefix(r.URL.Path, "/Users/")
		answer(http.StatusOK, `{"schemas":[%q],"id":%q,"userName":"before","active":true}`, scim.UserSchema, id)
	case r.Method == http.MethodPut && g != nil:
		g.name, g.members = body.DisplayName, map[string]bool{}
		g.add(body.Members)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		answer(http.StatusOK, "%s", raw)
	case r.Method == http.MethodGet && g != nil:
		list := make([]targetMember, 0, len(g.members))
		for id := range g.members {
			list = append(list, targetMember{id})
		}
		members, _ := json.Marshal(list)
		answer(http.StatusOK, `{"id":%q,"displayName":%q,"members":%s}`, id, g.name, members)
	case r.Method == http.MethodGet && r.URL.Path == "/Groups":
		found, filter := []string{}, r.URL.Query().Get("filter")
		for id, g := range h.groups {
			if strings.Contains(filter, `"`+g.name+`"`) {
				found = append(found, fmt.Sprintf(`{"id":%q,"displayName":%q}`, id, g.name))
			}
		}
		answer(http.StatusOK, `{"schemas":[%q],"totalResults":%d,"Resources":[%s]}`, scim.ListResponseMessage, len(found),
			strings.Join(found, ","))
	case r.Method == http.MethodGet:
		answer(http.StatusOK, `{"schemas":[%q],"totalResults":0,"Resources":[]}`, scim.ListResponseMessage)
	case r.Method == http.MethodPost:
		h.seq++
		id := fmt.Sprint("rg-", h.seq)
		h.groups[id] = &targetGroup{name: body.DisplayName, members: map[string]bool{}}
		h.groups[id].add(body.Members)
		answer(http.StatusCreated, `{"id":%q}`, id)
	case g == nil:
		answer(http.StatusNotFound, `{"schemas":[%q],"status":"404"}`, scim.ErrorMessage)
	default:
		next := &targetGroup{name: g.name, members: g.members}
		if h.strict {
			next.members = maps.Clone(g.members)
		}
		for _, o := range body.Operations {
			var list []targetMember
			switch {
			case o.Op == "replace" && o.Path == "":
				var named struct{ DisplayName string }
				_ = json.Unmarshal(o.Value, &named)
				next.name = named.DisplayName
			case o.Op == "remove":
				if o.Path == "members" {
					_ = json.Unmarshal(o.Value, &list)
				} else {
					list = []targetMember{{strings.Split(o.Path, `"`)[1]}}
				}
				for _, m := range list {
					if h.strict && !next.members[m.Value] {
						answer(http.StatusBadRequest, `{"schemas":[%q],"status":"400","scimType":"noTarget"}`, scim.ErrorMessage)
						return
					}
					delete(next.members, m.Value)
				}
			default:
				if o.Op == "replace" {
					next.members = map[string]bool{}
				}
				_ = json.Unmarshal(o.Value, &list)
				next.add(list)
			}
		}
		h.groups[id] = next
		w.WriteHeader(http.StatusNoContent)
	}
}

func (g *targetGroup) add(list []targetMember) {
	for _, m := range list {
		g.members[m.Value] = true
	}
}

// sent returns the requests since the last call.
func (h *groupTarget) sent() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.requests
	h.requests, h.count = nil, 0
	return out
}

// counted returns the number of requests.
func (h *groupTarget) counted() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// has returns the name and the members of the target's only group.
func (h *groupTarget) has(t testing.TB) (string, []string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(t, h.groups, 1)
	for _, g := range h.groups {
		return g.name, slices.Sorted(maps.Keys(g.members))
	}
	return "", nil
}

// largeWorld is a database, a large directory and a target for engines.
type largeWorld struct {
	t         testing.TB
	db        *sqldb.DB
	store     *sqlstore.Store
	directory *largeDirectory
	fake      *groupTarget
}

func newLargeWorld(t testing.TB, db *sqldb.DB, seeded int) *largeWorld {
	t.Helper()
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	h, server := newGroupTarget(t)
	target := engine.Target{BaseURL: server.URL, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true}
	s := &largeWorld{t: t, db: db, store: store, fake: h,
		directory: &largeDirectory{target: map[string]engine.Target{app: target}, name: "Tea", in: map[string]bool{}, off: map[string]bool{}}}
	s.seed(seeded)
	return s
}

// seed stores accounts for the first n users, as if they had been provisioned.
func (s *largeWorld) seed(n int) {
	s.t.Helper()
	for from := 0; from < n; from += 1000 {
		var marks []engine.Mark
		for i := from; i < min(from+1000, n); i++ {
			marks = append(marks, userMark(crowdID(i)))
		}
		s.mark(marks...)
	}
	require.NoError(s.t, s.db.Update(s.t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(s.t.Context(),
			`UPDATE scimwright_sync_state SET remote_id = 'r-' || principal_id, remote_name = principal_id, status = 'clean',
			synced_gen = desired_gen, next_at = NULL, tried = 1, want = 'active', link_origin = 'created' WHERE kind = 'user'`)
		return err
	}))
}

func (s *largeWorld) mark(marks ...engine.Mark) {
	s.t.Helper()
	require.NoError(s.t, s.db.Update(s.t.Context(), func(tx *sqldb.Tx) error {
		return s.store.Mark(s.t.Context(), tx.Execer(), time.Now(), marks)
	}))
}

// start starts an engine whose clock is ahead by the given time.
func (s *largeWorld) start(o provision.Options, later time.Duration) *provision.Engine {
	s.t.Helper()
	if o.Store == nil {
		o.Store = s.store
	}
	o.Directory = s.directory
	if o.Now == nil {
		o.Now = func() time.Time { return time.Now().Add(later) }
	}
	if o.RetryInitial == 0 {
		o.RetryInitial, o.RetryMax = 2*time.Millisecond, 20*time.Millisecond
	}
	e, err := provision.New(o)
	require.NoError(s.t, err)
	require.NoError(s.t, e.Start(s.t.Context()))
	return e
}

func (s *largeWorld) wait(e *provision.Engine, app string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*deadline)
	defer cancel()
	require.NoError(s.t, e.Wait(ctx, app))
}

func (s *largeWorld) stop(e *provision.Engine) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	require.NoError(s.t, e.Stop(ctx))
}

// target changes the target of the app.
func (s *largeWorld) target(change func(*engine.Target)) {
	s.directory.set(func() {
		t := s.directory.target[app]
		change(&t)
		s.directory.target[app] = t
	})
}
