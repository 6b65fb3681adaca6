package provision_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

var fallbacks = []engine.Fallback{engine.FallbackLearn, engine.FallbackNone}

// sent returns the methods of the requests for users or groups since the last call.
func (w *world) sent() (methods []string) {
	for _, r := range w.fake.Requests() {
		method, _, _ := strings.Cut(r, " ")
		methods = append(methods, method)
	}
	return methods
}

// attributeProxy is a proxy before a target. It records all bytes, and removes an attribute from the responses to PUT.
type attributeProxy struct {
	next      http.Handler
	attribute string

	mu       sync.Mutex
	recorded bytes.Buffer
}

func (f *attributeProxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.recorded.WriteString(r.Method + " " + r.URL.RequestURI() + "\n" + string(body) + "\n")
	f.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method != http.MethodPut {
		f.next.ServeHTTP(rw, r)
		return
	}
	answer := httptest.NewRecorder()
	f.next.ServeHTTP(answer, r)
	shown, err := scim.Decode(answer.Body.Bytes())
	if err != nil {
		rw.WriteHeader(http.StatusInternalServerError)
		return
	}
	shown.Delete(f.attribute)
	rw.Header().Set("Content-Type", scim.MediaType)
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(shown.AppendJSON(nil))
}

func TestWizard_NoPatchForMissingAttribute(t *testing.T) {
	for _, fallback := range fallbacks {
		for name, ignores := range map[string][]string{"stored, not returned": nil, "not stored": {"title"}} {
			t.Run(string(fallback)+"/"+name, func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				w.fake.Ignores = ignores
				proxy := &attributeProxy{next: w.fake, attribute: "title"}
				w.front(proxy.ServeHTTP)
				w.as(func(t *engine.Target) { t.Style, t.Fallback = engine.Wizard, fallback })
				titles := []string{"", "One", "Two", "Three", "Four", "Five"}
				for _, title := range titles {
					u := user("u-1", "ann")
					if title != "" {
						u.Resource.Set("title", title)
					}
					w.set("u-1", u)
					w.wait()
					require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
				}
				recorded := proxy.recorded.String()
				require.NotContains(t, recorded, "PATCH ")
				require.Equal(t, 5, strings.Count(recorded, "PUT /Users/u1\n"), recorded)
				for _, title := range titles[1:] {
					require.Contains(t, recorded, `"title":"`+title+`"`)
				}
				if ignores == nil {
					require.Equal(t, "Five", w.fake.Users()[0].Text("title"))
					require.Empty(t, w.result().IgnoredAttributes, "a read returns the attribute")
					return
				}
				require.Contains(t, w.result().IgnoredAttributes, "title")
			})
		}
	}
}

func TestFallbackNone_IgnoresTraits(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, provision.Options{})
		w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 405, Times: -1})
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		require.Contains(t, w.learned().Traits, engine.NoPatch, "the default Fallback learns")
		require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
		w.set("u-1", user("u-1", "ann"))
		w.wait()
		require.True(t, w.active()["ann"])
		w.fake.Requests()

		w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
		w.set("u-1", off("u-1", "ann"))
		w.wait()
		w.requests("PATCH /Users/u1")
		s := w.state(engine.User, "u-1")
		require.Equal(t, engine.StatusFailed, s.Status, "a 405 response is a failure")
		require.Contains(t, s.LastError, "405: injected 405")
		require.True(t, w.active()["ann"])
		require.Empty(t, w.result().Steps[0].Alternative)

		w.as(func(t *engine.Target) { t.Fallback = engine.FallbackLearn })
		require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
		w.wait()
		w.requests("GET /Users/u1", "PUT /Users/u1")
		require.False(t, w.active()["ann"])
	})
}

func TestFallbackLearn_NamesForms(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 405, Times: -1}, enginetest.Fault{Method: "PUT", Status: 405})
	w.set("u-1", off("u-1", "ann"))
	w.wait()
	const form = "PUT (PATCH without a path was rejected: 405: injected 405)"
	tasks := w.tasks()
	require.Len(t, tasks, 1)
	require.Equal(t, "deactivate: 405: injected 405; other forms were tried: "+form, tasks[0].Error)
	steps := w.result().Steps
	require.Equal(t, form, steps[len(steps)-1].Alternative)

	require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
	w.wait()
	require.False(t, w.active()["ann"])
	require.Equal(t, form, w.result().Steps[2].Alternative)
	w.stop(w.engine)
	require.Equal(t, 2, strings.Count(log.String(), `msg="request in another form" app=crm kind=user id=u-1 form="`+form+`"`), log.String())
}

// Proves C-scim-28.
func TestFallbackNone_ConflictStops(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.fake.Inject(enginetest.Fault{Method: "POST", Status: 409, Times: -1})
	w.set("u-1", user("u-1", "ann"))
	w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g-1", AllMembers: true})
	w.wait()
	w.requests(
		"GET /Users?filter=userName%20eq%20%22ann%22&startIndex=1&count=100", "POST /Users",
		"GET /Groups?filter=displayName%20eq%20%22Tea%22&startIndex=1&count=100", "POST /Groups",
	)
	for kind, id := range map[engine.Kind]string{engine.User: "u-1", engine.Group: "g-1"} {
		s := w.state(kind, id)
		require.Equal(t, engine.StatusFailed, s.Status)
		require.Equal(t, "create: 409: injected 409", s.LastError)
		require.True(t, s.NextAt.IsZero())
	}
}

// TestFallbackNone_OnlyDeactivationsRetried checks that with FallbackNone only failed deactivations are retried. Other failures wait for a
// Retry or the next Mark.
func TestFallbackNone_OnlyDeactivationsRetried(t *testing.T) {
	for name, fault := range map[string]enginetest.Fault{"500": {Status: 500}, "403": {Status: 403}, "no response": {Drop: true}} {
		for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
			t.Run(string(style)+"/"+name, func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				w.as(func(t *engine.Target) { t.Style, t.Fallback = style, engine.FallbackNone })
				once := func(method string) {
					f := fault
					f.Method = method
					w.fake.Inject(f)
				}
				failed := func(kind engine.Kind, id string, methods ...string) {
					t.Helper()
					w.wait()
					require.Equal(t, methods, w.sent())
					s := w.state(kind, id)
					require.Equal(t, engine.StatusFailed, s.Status)
					require.True(t, s.NextAt.IsZero())
					require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, kind, id))
					w.wait()
					require.Equal(t, engine.StatusClean, w.state(kind, id).Status)
					w.fake.Requests()
				}
				once("POST")
				w.set("u-1", user("u-1", "ann"))
				failed(engine.User, "u-1", "GET", "POST")
				once("PUT")
				u := user("u-1", "ann")
				u.Resource.Set("title", "Lead")
				w.set("u-1", u)
				failed(engine.User, "u-1", "GET", "PUT")
				once("POST")
				w.dir.SetGroup(app, "g-1", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
				w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g-1", AllMembers: true})
				failed(engine.Group, "g-1", "GET", "POST")

				once("PATCH")
				once("PUT")
				w.set("u-1", off("u-1", "ann"))
				w.wait()
				require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
				require.False(t, w.active()["ann"], "one failure does not leave the account active")
			})
		}
	}
}

func TestFallbackNone_DirectoryErrorRetried(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.set("u-9", user("u-9", "ann"))
	w.wait()
	var once sync.Once
	w.fake.Seen = func(string, string, []byte) { once.Do(func() { w.dir.Fail(io.ErrUnexpectedEOF) }) }
	w.set("u-1", user("u-1", "ann"))
	w.poll("the failure", func() bool { return w.state(engine.User, "u-1").LastError != "" })
	w.dir.Fail(nil)
	w.wait()
	for _, r := range w.resultsSoFar()[1:] {
		require.NotEqual(t, engine.StatusFailed, r.Status, r.Error)
	}
	require.Contains(t, w.resultsSoFar()[1].Error, "the owner of the account is unknown")
	require.Len(t, w.resultsSoFar()[1].Steps, 1)
}

// unreadable is a directory that returns an error for users until readable is set.
type unreadable struct {
	engine.Directory
	readable atomic.Bool
}

func (u *unreadable) User(ctx context.Context, app, user string) (engine.UserState, error) {
	if !u.readable.Load() {
		return engine.UserState{}, io.ErrUnexpectedEOF
	}
	return u.Directory.User(ctx, app, user)
}

// TestFallbackNone_UnreadableUserRetried checks that the engine retries after a directory error before the first request, because it is not
// a failure of the target.
func TestFallbackNone_UnreadableUserRetried(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.stop(w.engine)
	dir := &unreadable{Directory: w.dir}
	w.engine = w.start(provision.Options{Directory: dir})
	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.set("u-1", user("u-1", "ann"))
	w.poll("the failure", func() bool { return w.state(engine.User, "u-1").LastError != "" })
	require.Equal(t, engine.StatusRetrying, w.state(engine.User, "u-1").Status)
	dir.readable.Store(true)
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
}

func TestFallbackNone_ReadRepeatedAfterReset(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	resets := 2
	w.front(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && resets > 0 {
			resets--
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				_ = conn.Close()
			}
			return
		}
		w.fake.ServeHTTP(rw, r)
	})
	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	require.Len(t, w.result().Steps, 4)
}

// TestFlow_InactiveAccountActivated checks that the engine activates an inactive account that a lookup finds instead of creating one,
// regardless of DeactivateUsers.
func TestFlow_InactiveAccountActivated(t *testing.T) {
	for _, fallback := range fallbacks {
		for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
			t.Run(string(fallback)+"/"+string(style), func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				w.as(func(t *engine.Target) {
					t.Style, t.Fallback, t.UpdateUsers, t.DeactivateUsers = style, fallback, false, false
				})
				asleep := user("u-1", "ann").Resource
				asleep.Set("active", false)
				id := w.fake.Add("Users", asleep)
				method := map[engine.Style]string{engine.Catalog: "PATCH", engine.Wizard: "PUT"}[style]
				w.fake.Inject(enginetest.Fault{Method: method, Status: 500})
				w.set("u-1", user("u-1", "ann"))
				w.wait()
				if fallback == engine.FallbackNone {
					require.Equal(t, engine.StatusFailed, w.state(engine.User, "u-1").Status)
					require.NoError(t, w.engine.Tasks().Retry(t.Context(), app, engine.User, "u-1"))
					w.wait()
				}
				require.True(t, w.active()["ann"])
				s := w.state(engine.User, "u-1")
				require.Equal(t, engine.StatusClean, s.Status)
				require.Equal(t, id, s.RemoteID)
			})
		}
	}
}

// TestUpdate_PUTSetsActive checks that a PUT for an active user sets active to true.
func TestUpdate_PUTSetsActive(t *testing.T) {
	for _, fallback := range fallbacks {
		for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
			t.Run(string(fallback)+"/"+string(style), func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				w.as(func(t *engine.Target) { t.Style, t.Fallback, t.DeactivateUsers = style, fallback, false })
				w.set("u-1", user("u-1", "ann"))
				w.wait()
				w.fake.Change("Users", "u1", func(r *scim.Resource) { r.Set("active", false) })
				var put []string
				w.fake.Seen = func(method, _ string, body []byte) {
					if method == http.MethodPut {
						put = append(put, string(body))
					}
				}
				u := user("u-1", "ann")
				u.Resource.Set("title", "Lead")
				w.set("u-1", u)
				w.wait()
				require.Len(t, put, 1)
				require.Contains(t, put[0], `"active":true`)
				require.True(t, w.active()["ann"])
			})
		}
	}
}

// TestLookup_NonSCIM404 checks that a 404 that is not a SCIM error does not mean that the account is absent.
func TestLookup_NonSCIM404(t *testing.T) {
	for _, fallback := range fallbacks {
		for name, answer := range map[string]func(http.ResponseWriter){
			"page": func(rw http.ResponseWriter) {
				rw.Header().Set("Content-Type", "text/html")
				rw.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(rw, "<html>Not Found</html>")
			},
			"other JSON": func(rw http.ResponseWriter) {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(rw, `{"detail":"Not Found"}`)
			},
			"nothing": func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusNotFound) },
		} {
			t.Run(string(fallback)+"/"+name, func(t *testing.T) {
				w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
				var mu sync.Mutex
				var seen []string
				w.front(func(rw http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, r.Method)
					answer(rw)
				})
				w.as(func(t *engine.Target) { t.BaseURL, t.Fallback = t.BaseURL+"/wrong", fallback })
				w.set("u-1", user("u-1", "ann"))
				w.poll("the failure", func() bool { return w.state(engine.User, "u-1").LastError != "" })
				require.Contains(t, w.state(engine.User, "u-1").LastError, "check the base URL of the target")
				w.stop(w.engine)
				require.NotContains(t, seen, http.MethodPost, "the 404 does not mean that there is no account")
			})
		}
	}
}

// TestFallbackNone_LargeGroup checks that with FallbackNone a group is created with all its members. In a wizard app it is replaced as a
// whole. In a catalog app only changes are sent, in batches.
func TestFallbackNone_LargeGroup(t *testing.T) {
	for style, want := range map[engine.Style][]string{
		engine.Catalog: {"GET", "POST", "PATCH", "PATCH"}, engine.Wizard: {"GET", "POST", "GET", "PUT"},
	} {
		t.Run(string(style), func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.Style, t.Fallback = style, engine.FallbackNone })
			const before, joining = 130, 110
			var joined []string
			var marks []engine.Mark
			for i := range before + joining {
				id := fmt.Sprintf("u-%03d", i)
				w.dir.SetUser(app, id, user(id, "name-"+id))
				marks = append(marks, userMark(id))
				if i < before {
					w.dir.SetMember(app, "g", id, true)
				} else {
					joined = append(joined, id)
				}
			}
			w.mark(marks...)
			w.wait()
			w.fake.Requests()
			w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
			w.mark(groupMark("g"))
			w.wait()
			require.Len(t, w.members(), before)
			for _, id := range joined {
				w.dir.SetMember(app, "g", id, true)
			}
			w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: joined})
			w.wait()
			require.Len(t, w.members(), before+joining)
			require.Equal(t, want, w.sent())
			require.Equal(t, engine.StatusClean, w.state(engine.Group, "g").Status)
		})
	}
}

// TestFallbackNone_SingleMemberReplacement checks that with FallbackNone one request replaces all members of a group, even if the target
// rejects a request with that many members.
func TestFallbackNone_SingleMemberReplacement(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	w.as(func(t *engine.Target) { t.Style, t.Fallback = engine.Catalog, engine.FallbackNone })
	const members = 230
	var marks []engine.Mark
	for i := range members {
		id := fmt.Sprintf("u-%03d", i)
		w.dir.SetUser(app, id, user(id, "name-"+id))
		w.dir.SetMember(app, "g", id, true)
		marks = append(marks, userMark(id))
	}
	w.mark(marks...)
	w.wait()
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(groupMark("g"))
	w.wait()
	w.fake.Requests()

	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", AllMembers: true})
	w.wait()
	require.Equal(t, []string{"PATCH"}, w.sent())
	require.Len(t, w.members(), members)

	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 413, Times: -1})
	w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", AllMembers: true})
	w.wait()
	require.Equal(t, engine.StatusFailed, w.state(engine.Group, "g").Status)
	require.Len(t, w.members(), members, "no request has replaced all members by a part")
}

// TestFallbackNone_IgnoresLearnedMemberBatch checks that with FallbackNone the learned member batch has no effect on group requests.
func TestFallbackNone_IgnoresLearnedMemberBatch(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	var joining []string
	for i := range 8 {
		id := fmt.Sprintf("u-%d", i)
		w.dir.SetUser(app, id, user(id, "name-"+id))
		w.mark(userMark(id))
		joining = append(joining, id)
	}
	w.dir.SetGroup(app, "g", engine.GroupState{Want: engine.Active, DisplayName: "Tea"})
	w.mark(groupMark("g"))
	w.wait()
	join := func(in bool) {
		for _, id := range joining {
			w.dir.SetMember(app, "g", id, in)
		}
		w.mark(engine.Mark{App: app, Kind: engine.Group, ID: "g", Members: joining})
		w.wait()
	}
	w.fake.Inject(enginetest.Fault{Method: "PATCH", Status: 413, Times: 2})
	join(true)
	require.Equal(t, 2, w.learned().MemberBatch)

	w.as(func(t *engine.Target) { t.Fallback = engine.FallbackNone })
	w.fake.Requests()
	join(false)
	require.Equal(t, []string{"PATCH"}, w.sent())
	require.Empty(t, w.members())
}
