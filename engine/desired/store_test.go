package desired_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func TestMain(m *testing.M) {
	if err := alltest.Draws(20); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(sqldbtest.Main(m))
}

// recorder is a desired.Engine that records the marks.
type recorder struct {
	mu    sync.Mutex
	marks []engine.Mark
	all   []engine.MarkAll
	gone  []string
	err   error
	after int // Mark returns err only after this number of marks
}

func (r *recorder) Mark(_ context.Context, _ engine.Execer, marks ...engine.Mark) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, marks...)
	if len(r.marks) <= r.after {
		return nil
	}
	return r.err
}

func (r *recorder) MarkAll(_ context.Context, _ engine.Execer, m engine.MarkAll) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, m)
	return 0, r.err
}

func (r *recorder) Forget(_ context.Context, _ engine.Execer, app string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = append(r.gone, app)
	return r.err
}

func (r *recorder) Wake(...string) {}

// taken returns the marks since the last call.
func (r *recorder) taken() []engine.Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.marks
	r.marks = nil
	return out
}

func key(t testing.TB) desired.Seal {
	t.Helper()
	k, err := desired.NewKey([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	return k
}

// open opens a store on the connections of a database of this module.
func open(t testing.TB, db *sqldb.DB, change ...func(*desired.Options)) *desired.Store {
	t.Helper()
	o := desired.Options{Dialect: sqlstore.Dialect(db.Dialect().String()), Seal: key(t)}
	conn := db.Writer()
	if db.Dialect() == sqldb.SQLite {
		conn = db.Readers()
		o.Updater = func(ctx context.Context, fn func(tx engine.Execer) error) error {
			return db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
		}
	}
	for _, f := range change {
		f(&o)
	}
	s, err := desired.Open(t.Context(), conn, o)
	require.NoError(t, err)
	return s
}

// world is a store with the app crm and a recorder.
type world struct {
	*desired.Store
	t      testing.TB
	engine *recorder
}

func newWorld(t testing.TB, db *sqldb.DB) *world {
	t.Helper()
	w := &world{Store: open(t, db), t: t, engine: &recorder{}}
	w.Attach(w.engine)
	changed, err := w.PutApp(t.Context(), app("crm", 1))
	require.NoError(t, err)
	require.True(t, changed)
	return w
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { fn(t, newWorld(t, db)) })
}

func app(id string, version int64) desired.App {
	return desired.App{ID: id, Version: version, Target: engine.Target{
		BaseURL: "https://example.com/scim/v2", CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true,
	}}
}

func mapped(version int64, domain string) desired.App {
	a := app("crm", version)
	a.Mapping = desired.Mapping{
		Attributes: map[string]mapping.Kind{"login": mapping.String, "age": mapping.Integer},
		Rules: []mapping.Rule{
			{Target: "userName", Expression: `user.login + "@` + domain + `"`}, {Target: "externalId", Expression: `user.login`},
			{Target: "locale", Constant: "en", CreateOnly: true},
		},
	}
	return a
}

func resource(id, name string) *scim.Resource {
	r := &scim.Resource{}
	r.AddSchema(scim.UserSchema)
	r.Set("userName", name)
	r.Set("externalId", id)
	return r
}

func user(id string, version int64, name string) desired.User {
	return desired.User{ID: id, Version: version, Want: engine.Active, Resource: resource(id, name)}
}

func group(id string, version int64, name string) desired.Group {
	return desired.Group{ID: id, Version: version, Want: engine.Active, DisplayName: name}
}

// put writes one change and requires the result.
func (w *world) put(want desired.Result, c desired.Change) {
	w.t.Helper()
	out, err := w.Write(w.t.Context(), "crm", c)
	require.NoError(w.t, err)
	require.NoError(w.t, out[0].Err)
	require.Equal(w.t, want, out[0].Result)
}

// reject writes one change and returns its error.
func (w *world) reject(c desired.Change) error {
	w.t.Helper()
	out, err := w.Write(w.t.Context(), "crm", c)
	require.NoError(w.t, err)
	require.Error(w.t, out[0].Err)
	require.Empty(w.t, w.engine.taken(), "a rejected change must not be marked")
	return out[0].Err
}

func (w *world) users(group string) []string {
	w.t.Helper()
	ids, err := w.Members(w.t.Context(), "crm", group, "", 10_000)
	require.NoError(w.t, err)
	return ids
}

func TestPutUser_Versions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put(desired.Applied, user("u-1", 5, "ann"))
		require.Equal(t, []engine.Mark{{App: "crm", Kind: engine.User, ID: "u-1"}}, w.engine.taken())
		w.put(desired.Unchanged, user("u-1", 5, "ann"))
		require.Equal(t, &desired.ContentError{Version: 5}, w.reject(user("u-1", 5, "bob")))
		require.Equal(t, &desired.StaleError{Current: 5}, w.reject(user("u-1", 4, "bob")))
		w.put(desired.Unchanged, user("u-1", 6, "ann"))
		require.Empty(t, w.engine.taken(), "the content is the same")
		require.Equal(t, &desired.StaleError{Current: 6}, w.reject(user("u-1", 5, "ann")))
		w.put(desired.Applied, desired.User{ID: "u-1", Version: 8, Want: engine.Absent})
		w.put(desired.Unchanged, desired.User{ID: "u-1", Version: 8, Want: engine.Absent})
		w.engine.taken()
		require.Equal(t, &desired.StaleError{Current: 8}, w.reject(user("u-1", 7, "ann")), "a late message does not revive a deleted user")
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Absent, state.Want)
		w.put(desired.Applied, user("u-1", 9, "ann"))
		state, err = w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Active, state.Want)
		require.Equal(t, "ann", state.UserName)
		stored, err := w.StoredUser(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.EqualValues(t, 9, stored.Version)
	})
}

// TestWrite_SameObjectTwice checks that several changes of an object in one transaction have the effect of separate ones.
func TestWrite_SameObjectTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		out, err := w.Write(t.Context(), "crm", user("u-1", 2, "ann"), user("u-1", 1, "old"), user("u-1", 2, "ann"), user("u-1", 2, "other"),
			user("u-1", 3, "anne"))
		require.NoError(t, err)
		require.Equal(t, []desired.Outcome{
			{Result: desired.Applied}, {Result: desired.Stale, Err: &desired.StaleError{Current: 2}}, {Result: desired.Unchanged},
			{Err: &desired.ContentError{Version: 2}}, {Result: desired.Applied},
		}, out)
		require.Len(t, w.engine.taken(), 1)
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, "anne", state.UserName)
	})
}

func TestWrite_TooMany(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	_, err := w.Write(t.Context(), "crm", make([]desired.Change, desired.MaxChanges+1)...)
	var input *desired.InputError
	require.ErrorAs(t, err, &input)
	out, err := w.Write(t.Context(), "crm")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestPutUser_ContentByValue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put(desired.Applied, user("u-1", 1, "ann"))
		r := &scim.Resource{}
		r.Set("externalId", "u-1")
		r.Set("userName", "ann")
		r.AddSchema(scim.UserSchema)
		w.put(desired.Unchanged, desired.User{ID: "u-1", Version: 1, Want: engine.Active, Resource: r})
	})
}

func TestPutGroup_StatesAndFields(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		state, err := w.Group(t.Context(), "crm", "g-1")
		require.NoError(t, err)
		require.Equal(t, engine.GroupState{Want: engine.Absent}, state)
		w.put(desired.Applied, desired.Group{ID: "g-1", Version: 1, Want: engine.Active, DisplayName: "Sales", RemoteID: "r"})
		state, err = w.Group(t.Context(), "crm", "g-1")
		require.NoError(t, err)
		require.Equal(t, engine.GroupState{Want: engine.Active, DisplayName: "Sales", RemoteID: "r"}, state)
		w.put(desired.Applied, desired.Group{ID: "g-1", Version: 2, Want: engine.Absent, DeleteRemote: true})
		state, err = w.Group(t.Context(), "crm", "g-1")
		require.NoError(t, err)
		require.Equal(t, engine.GroupState{Want: engine.Absent, DeleteRemote: true}, state)
	})
}

func TestMembers_WholeAndDelta(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put(desired.Applied, desired.Members{Group: "g", Version: 2, Users: []string{"b", "a", "a"}})
		require.Equal(t, []engine.Mark{{App: "crm", Kind: engine.Group, ID: "g", Members: []string{"a", "b"}}}, w.engine.taken())
		w.put(desired.Unchanged, desired.Members{Group: "g", Version: 2, Users: []string{"a", "b"}})
		require.Equal(t, &desired.ContentError{Version: 2}, w.reject(desired.Members{Group: "g", Version: 2, Users: []string{"a"}}))
		require.Equal(t, &desired.ContentError{Version: 2}, w.reject(desired.Members{Group: "g", Version: 2, Users: []string{"a", "b", "c"}}))
		require.Equal(t, &desired.StaleError{Current: 2}, w.reject(desired.Members{Group: "g", Version: 1}))
		for _, base := range []int64{1, 3} {
			require.Equal(t, &desired.GapError{Base: base, Current: 2},
				w.reject(desired.MemberDelta{Group: "g", Base: base, Version: 4, Add: []string{"c"}}))
		}
		delta := desired.MemberDelta{Group: "g", Base: 2, Version: 3, Add: []string{"c", "a"}, Remove: []string{"b", "x"}}
		w.put(desired.Applied, delta)
		require.Equal(t, []engine.Mark{{App: "crm", Kind: engine.Group, ID: "g", Members: []string{"c", "b"}}}, w.engine.taken())
		w.put(desired.Unchanged, delta)
		require.Equal(t, []string{"a", "c"}, w.users("g"))
		require.Equal(t, &desired.ContentError{Version: 3}, w.reject(desired.MemberDelta{Group: "g", Base: 2, Version: 3, Add: []string{"d"}}))
		w.put(desired.Applied, desired.Members{Group: "g", Version: 7, Users: []string{"c", "d"}})
		require.Equal(t, []string{"c", "d"}, w.users("g"))
		in, err := w.IsMember(t.Context(), "crm", "g", []string{"a", "c"})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"c": true}, in)
		w.put(desired.Applied, desired.Members{Group: "g", Version: 8})
		require.Empty(t, w.users("g"))
	})
}

// TestMembers_ManyPages replaces a list that is longer than a page of the store, and checks that a large change marks the whole
// membership.
func TestMembers_ManyPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ids := func(from, to int) (out []string) {
			for n := from; n < to; n++ {
				out = append(out, fmt.Sprintf("u-%05d", n))
			}
			return out
		}
		w.put(desired.Applied, desired.Members{Group: "g", Version: 1, Users: ids(0, 2500)})
		require.Equal(t, []engine.Mark{{App: "crm", Kind: engine.Group, ID: "g", AllMembers: true}}, w.engine.taken())
		w.put(desired.Unchanged, desired.Members{Group: "g", Version: 1, Users: ids(0, 2500)})
		require.Error(t, w.reject(desired.Members{Group: "g", Version: 1, Users: ids(0, 2501)}))
		require.Error(t, w.reject(desired.Members{Group: "g", Version: 1, Users: ids(0, 2499)}))
		w.put(desired.Applied, desired.Members{Group: "g", Version: 2, Users: ids(100, 2600)})
		require.Equal(t, ids(100, 2600), w.users("g"))
		require.Len(t, w.engine.taken()[0].Members, 200)
		w.put(desired.Applied, desired.Members{Group: "g", Version: 3, Users: ids(0, 1000)})
		require.Equal(t, ids(0, 1000), w.users("g"))
		stored, err := w.StoredMembers(t.Context(), "crm", "g", "u-00997", 5)
		require.NoError(t, err)
		require.EqualValues(t, 3, stored.Version)
		require.Equal(t, []string{"u-00998", "u-00999"}, stored.Users)
	})
}

// TestWrite_MarkFailsRollsBack checks that a change without its mark is not stored.
func TestWrite_MarkFailsRollsBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		broken := errors.New("no mark")
		w.engine.err = broken
		_, err := w.Write(t.Context(), "crm", user("u-1", 1, "ann"), group("g", 1, "Sales"), desired.Members{Group: "g", Version: 1,
			Users: []string{"u-1"}})
		require.ErrorIs(t, err, broken)
		_, err = w.PutApp(t.Context(), mapped(2, "example.com"))
		require.ErrorIs(t, err, broken)
		_, err = w.DeleteApp(t.Context(), "crm", 3)
		require.ErrorIs(t, err, broken)
		w.engine.err = nil
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Absent, state.Want)
		require.Empty(t, w.users("g"))
		a, err := w.App(t.Context(), "crm")
		require.NoError(t, err)
		require.EqualValues(t, 1, a.Version)
		w.put(desired.Applied, user("u-1", 1, "ann"))
	})
}

func TestWrite_NotAttached(t *testing.T) {
	s := open(t, sqldbtest.SQLite(t))
	_, err := s.PutApp(t.Context(), app("crm", 1))
	require.ErrorIs(t, err, desired.ErrNotAttached)
	_, err = s.Batch(t.Context(), "crm", strings.NewReader("{}"), desired.BatchOptions{})
	require.ErrorIs(t, err, desired.ErrNotAttached)
}

func TestOpen_SharedDatabase(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		dialect := sqlstore.Dialect(p.Dialect.String())
		for range 2 {
			_, err := desired.Open(t.Context(), db, desired.Options{Dialect: dialect})
			require.NoError(t, err)
			_, err = sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: dialect})
			require.NoError(t, err)
		}
		_, err := desired.Open(t.Context(), db, desired.Options{Dialect: dialect, Prefix: "other_"})
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `UPDATE scimwright_steps SET hash = 'x' WHERE name = 'desired'`)
		require.NoError(t, err)
		_, err = desired.Open(t.Context(), db, desired.Options{Dialect: dialect})
		require.ErrorContains(t, err, "was changed after it had been applied")
	})
}

func TestOpen_ForeignTable(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		_, err := db.ExecContext(t.Context(), `CREATE TABLE scimwright_desired_app (id TEXT)`)
		require.NoError(t, err)
		_, err = desired.Open(t.Context(), db, desired.Options{Dialect: sqlstore.Dialect(p.Dialect.String())})
		require.ErrorContains(t, err, "scimwright_desired_app")
	})
}

func TestStored_Pages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := range 5 {
			w.put(desired.Applied, user(fmt.Sprint("u-", n), 1, fmt.Sprint("name", n)))
		}
		w.put(desired.Applied, group("g-1", 1, "Sales"))
		users, err := w.StoredUsers(t.Context(), "crm", "u-1", 2)
		require.NoError(t, err)
		require.Len(t, users, 2)
		require.Equal(t, "u-2", users[0].ID)
		require.Equal(t, "name2", users[0].Resource.Text("userName"))
		groups, err := w.StoredGroups(t.Context(), "crm", "", 0)
		require.NoError(t, err)
		require.Equal(t, "Sales", groups[0].DisplayName)
		ids, err := w.Principals(t.Context(), "crm", engine.User, "u-2", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"u-3", "u-4"}, ids)
		_, err = w.StoredUser(t.Context(), "crm", "nosuch")
		require.ErrorIs(t, err, engine.ErrNotFound)
		for _, app := range []string{"nosuch"} {
			_, err = w.StoredUser(t.Context(), app, "u-1")
			require.ErrorIs(t, err, engine.ErrUnknownApp)
			_, err = w.StoredUsers(t.Context(), app, "", 1)
			require.ErrorIs(t, err, engine.ErrUnknownApp)
			_, err = w.StoredMembers(t.Context(), app, "g", "", 1)
			require.ErrorIs(t, err, engine.ErrUnknownApp)
		}
		require.True(t, slices.IsSortedFunc(users, func(a, b desired.User) int { return strings.Compare(a.ID, b.ID) }))
	})
}
