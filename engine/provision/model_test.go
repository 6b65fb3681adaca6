package provision_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// TestEngine_Converges drives the engine with random assignments, changes, unassignments, group changes,
// halts and faults, and then compares the target with the directory.
func TestEngine_Converges(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		t.Run(string(style), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { converge(t, rt, style) })
		})
	}
}

// modelSteps is the length of one history. By default, rapid runs 100 histories per style: 11,000 steps.
const modelSteps = 55

// newest returns a function for Target.Seen. It fails if an older state of a user is written after a newer one. It ignores a deactivation
// by PUT, which writes back what was read: after a stale read, that may be an older state.
func newest(rt *rapid.T) func(method, path string, body []byte) {
	last := map[string]int{} // by externalId
	var seen []string
	return func(method, path string, body []byte) {
		seen = append(seen, method+" "+path+" "+string(body))
		sent, err := scim.DecodeResource(body)
		if err != nil || method != "POST" && method != "PUT" || !strings.HasPrefix(path, "/Users") {
			return
		}
		title := sent.Text("title")
		if active, told := sent.Bool("active"); title == "" || told && !active {
			return
		}
		n, err := strconv.Atoi(title)
		if err != nil || n < last[sent.ExternalID()] {
			rt.Errorf("%s %s writes change %s of %s after change %d:\n%s", method, path, title, sent.ExternalID(), last[sent.ExternalID()],
				strings.Join(seen, "\n"))
		}
		last[sent.ExternalID()] = n
	}
}

func converge(t *testing.T, rt *rapid.T, style engine.Style) {
	t.Helper()
	w := newWorld(t, sqldbtest.SQLite(t), quick(provision.Options{Sweep: 2 * time.Millisecond}))
	defer w.stop(w.engine)
	w.target.Style = style
	w.as(func(t *engine.Target) { t.MemberBatch, t.SyncPasswords, t.AsyncTimeout = 2, true, time.Second })
	w.fake.ETags = rapid.Bool().Draw(rt, "etags")

	changes := 0 // number of changes of users; each change sets the title of its user to this number
	w.fake.Seen = newest(rt)
	unmanaged := w.fake.Add("Users", user("", "unmanaged").Resource)
	theirs := string(w.fake.Users()[0].AppendJSON(nil))
	userIDs, groupIDs := []string{"a", "b", "c", "d", "e"}, []string{"g", "h"}
	faults := []enginetest.Fault{
		{Drop: true}, {DropAfter: true}, {Truncate: true}, {Empty: true}, {HTML: true}, {Status: 500}, {Status: 502}, {Status: 504},
		{Status: 503, RetryAfter: "0"}, {Status: 429, RetryAfter: "0"}, {Status: 401}, {Status: 403}, {Status: 400}, {Status: 409},
		{Method: "GET", Path: "/Users?", Status: 404}, {Method: "PUT", Status: 412}, {Method: "PATCH", Status: 413},
		{Method: "PATCH", Status: 501},
		{Method: "POST", DropAfter: true}, {Method: "PATCH", DropAfter: true}, {Method: "PUT", Truncate: true},
		{Method: "GET", Path: "/Users/", Stale: true}, {Method: "GET", Path: "/Groups/", Stale: true},
		{Method: "GET", Path: "/Users?", Twice: true},
		{Accept: true, After: 1}, {Accept: true, After: 3, Locate: true}, {Method: "PATCH", Accept: true, After: 2, Times: 3},
	}
	want := map[string]engine.UserState{} // by user
	groups := map[string]engine.GroupState{}
	members := map[string]map[string]bool{"g": {}, "h": {}}
	for range modelSteps {
		id := rapid.SampledFrom(userIDs).Draw(rt, "user")
		g := rapid.SampledFrom(groupIDs).Draw(rt, "group")
		switch rapid.IntRange(0, 7).Draw(rt, "step") {
		case 0, 1: // assign or change
			u := user(id, fmt.Sprintf("%s%d", id, rapid.IntRange(0, 3).Draw(rt, "name")))
			u.Password, u.PasswordVersion = "secret", fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "password"))
			changes++
			u.Resource.Set("title", fmt.Sprint(changes))
			u.Manager = rapid.SampledFrom(append(userIDs, "")).Draw(rt, "manager")
			want[id] = u
			w.set(id, u)
		case 2: // unassign
			u := want[id]
			if u.UserName == "" {
				u.UserName = id
			}
			u.Want = rapid.SampledFrom([]engine.Want{engine.Inactive, engine.Absent}).Draw(rt, "want")
			want[id] = u
			w.set(id, u)
		case 3: // push or rename a group
			s := engine.GroupState{Want: engine.Active, DisplayName: fmt.Sprintf("%s%d", g, rapid.IntRange(0, 3).Draw(rt, "name"))}
			groups[g] = s
			w.dir.SetGroup(app, g, s)
			w.mark(groupMark(g))
		case 4: // membership
			in := rapid.Bool().Draw(rt, "in")
			members[g][id] = in
			w.join(g, id, in)
		case 5:
			w.fake.Inject(rapid.SampledFrom(faults).Draw(rt, "fault"))
		case 6:
			w.wait()
		case 7: // halt or resume
			op := rapid.SampledFrom(engine.HaltOperations()).Draw(rt, "operation")
			if rapid.Bool().Draw(rt, "halt") {
				require.NoError(t, w.engine.Apps().Halt(t.Context(), app, "a test", op))
			} else {
				require.NoError(t, w.engine.Apps().Resume(t.Context(), app, op))
			}
		}
	}
	w.wait()
	require.NoError(t, w.engine.Apps().Resume(t.Context(), app))
	w.wait()
	held, err := w.engine.States(t.Context(), engine.StateQuery{App: app, Status: engine.StatusHeld})
	require.NoError(t, err)
	for _, s := range held {
		if s.Halted {
			rt.Fatalf("%s %s is still held by a halt: %+v", s.Kind, s.ID, s)
		}
	}
	w.fake.ClearFaults()
	// A retry of all principals fixes permanent failures and undetected errors.
	var all []engine.Mark
	for id := range want {
		all = append(all, engine.Mark{App: app, Kind: engine.User, ID: id, Retry: true})
	}
	for id := range groups {
		all = append(all, engine.Mark{App: app, Kind: engine.Group, ID: id, Retry: true, AllMembers: true})
	}
	w.mark(all...)
	w.wait()

	remote := map[string][]*scim.Resource{} // by externalId
	for _, u := range w.fake.Users() {
		if now := string(u.AppendJSON(nil)); u.ID() == unmanaged && now != theirs {
			rt.Fatalf("an unmanaged account was changed: %s", now)
		}
		remote[u.ExternalID()] = append(remote[u.ExternalID()], u)
	}
	idOf := map[string]string{}
	for id, u := range want {
		if len(remote[id]) > 1 {
			rt.Fatalf("%d accounts for %s: %v", len(remote[id]), id, w.fake.Requests())
		}
		if len(remote[id]) == 0 {
			if u.Want == engine.Active {
				rt.Fatalf("no account for %s: %+v", id, w.state(engine.User, id))
			}
			continue
		}
		got := remote[id][0]
		idOf[id] = got.ID()
		active, _ := got.Bool("active")
		if active != (u.Want == engine.Active) {
			rt.Fatalf("%s is active=%v, want %s: %+v", id, active, u.Want, w.state(engine.User, id))
		}
		if u.Want == engine.Active && got.Text("userName") != u.UserName {
			rt.Fatalf("%s has the name %s, want %s", id, got.Text("userName"), u.UserName)
		}
		if u.Want == engine.Active && got.Text("title") != u.Resource.Text("title") {
			rt.Fatalf("%s has change %s, want %s: %+v", id, got.Text("title"), u.Resource.Text("title"), w.state(engine.User, id))
		}
	}
	for id, u := range want {
		if u.Want != engine.Active {
			continue
		}
		if got := w.state(engine.User, id).PasswordVersion; got != u.PasswordVersion {
			rt.Fatalf("%s has the password %s, want %s", id, got, u.PasswordVersion)
		}
		got := remote[id][0].Complex(scim.EnterpriseUserSchema).Complex("manager").Text("value")
		if account := idOf[u.Manager]; got != account && (u.Manager == "" || want[u.Manager].Want == engine.Active) {
			rt.Fatalf("the manager of %s is %q, want %s, which is %q: %+v", id, got, u.Manager, account, w.state(engine.User, id))
		}
	}
	if len(w.fake.Groups()) != len(groups) {
		rt.Fatalf("%d groups, want %d: %v", len(w.fake.Groups()), len(groups), w.fake.Requests())
	}
	for id, s := range groups {
		var got *scim.Resource
		for _, g := range w.fake.Groups() {
			if g.Text("displayName") == s.DisplayName {
				got = g
			}
		}
		if got == nil {
			rt.Fatalf("no group %s: %+v", s.DisplayName, w.state(engine.Group, id))
		}
		have := map[string]bool{}
		for _, v := range got.Array("members") {
			o, _ := v.(*scim.Object)
			if have[o.Text("value")] {
				rt.Fatalf("%s contains %s twice", s.DisplayName, o.Text("value"))
			}
			have[o.Text("value")] = true
		}
		for user, in := range members[id] {
			if remoteID := idOf[user]; remoteID != "" && have[remoteID] != in {
				rt.Fatalf("%s in %s: %v, want %v: %+v", user, s.DisplayName, !in, in, w.state(engine.Group, id))
			}
		}
	}
}
