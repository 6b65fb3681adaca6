package desired_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// putLine returns the line of a user.
func putLine(n, version int) string {
	return fmt.Sprintf(`{"op":"putUser","id":"u-%06d","version":%d,"want":"active","resource":{"schemas":`+
		`["urn:ietf:params:scim:schemas:core:2.0:User"],"externalId":"u-%06d","userName":"user%06d@example.com","name":{"givenName":"Ann",`+
		`"familyName":"Lee"},"emails":[{"value":"user%06d@example.com","primary":true}],"title":"Engineer %d"}}`, n, version, n, n, n, n)
}

// generated reads n lines without holding them.
type generated struct {
	next, n int
	rest    string
	line    func(n int) string
	err     error // after the last line. Default: io.EOF
}

func (g *generated) Read(p []byte) (int, error) {
	if g.rest == "" {
		if g.next == g.n {
			if g.err != nil {
				return 0, g.err
			}
			return 0, io.EOF
		}
		g.rest = g.line(g.next) + "\n"
		g.next++
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func users(n int) *generated {
	return &generated{n: n, line: func(i int) string { return putLine(i, 1) }}
}

func TestBatch_EveryOperation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		report, err := w.Batch(t.Context(), "crm", strings.NewReader(strings.Join([]string{
			`{"op":"putUser","id":"u-1","version":1,"want":"active","resource":{"userName":"ann"},"onCreate":{"locale":"en"},"manager":"u-2",` +
				`"remoteId":"r","password":"p","passwordVersion":"1"}`,
			`{"op":"putUser","id":"u-2","version":1,"want":"keep"}`,
			``,
			`{"op":"putGroup","id":"g-1","version":1,"want":"active","displayName":"Sales","remoteId":"rg"}`,
			`{"op":"putMembers","id":"g-1","version":1,"members":["u-1"]}`,
			`{"op":"changeMembers","id":"g-1","base":1,"version":2,"add":["u-2"],"remove":["u-1"]}`,
			`{"op":"deleteUser","id":"u-3","version":1}`,
			`{"op":"deleteGroup","id":"g-2","version":1,"deleteRemote":true}`,
			`{"op":"putUser","id":"u-1","version":1,"want":"inactive"}`,
			`{"op":"deleteUser","id":"u-1","version":0}`,
		}, "\r\n")), desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, 9, report.Lines)
		require.Equal(t, 7, report.Applied)
		require.Equal(t, 2, report.Failed)
		require.Equal(t, desired.LineError{Line: 9, ID: "u-1", Err: &desired.ContentError{Version: 1}}, report.FailedLines[0])
		require.Equal(t, 10, report.FailedLines[1].Line)
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, "ann", state.UserName)
		require.Equal(t, "en", state.OnCreate.Text("locale"))
		require.Equal(t, []string{"u-2", "r", "p", "1"}, []string{state.Manager, state.RemoteID, state.Password, state.PasswordVersion})
		state, err = w.User(t.Context(), "crm", "u-2")
		require.NoError(t, err)
		require.Equal(t, engine.Keep, state.Want)
		require.Equal(t, []string{"u-2"}, w.users("g-1"))
		g, err := w.Group(t.Context(), "crm", "g-2")
		require.NoError(t, err)
		require.True(t, g.DeleteRemote)
	})
}

// TestBatch_BrokenLineFailsAlone has invalid lines in a batch of several transactions.
func TestBatch_BrokenLineFailsAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		broken := map[int]string{
			0: `[]`, 1200: strings.Repeat("x", desired.MaxLine+5), 4999: `{"op":"putUser","id":"u`, 5999: `{"op":"putUser"}`,
		}
		in := &generated{n: 6000, line: func(n int) string {
			if line, ok := broken[n]; ok {
				return line
			}
			return putLine(n, 1)
		}}
		report, err := w.Batch(t.Context(), "crm", in, desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, 6000, report.Lines)
		require.Equal(t, 5996, report.Applied)
		require.Equal(t, 4, report.Failed)
		lines := make([]int, 0, 4)
		for _, f := range report.FailedLines {
			require.Error(t, f.Err)
			lines = append(lines, f.Line)
		}
		require.Equal(t, []int{1, 1201, 5000, 6000}, lines)
		require.ErrorContains(t, report.FailedLines[1].Err, "longer than")
		require.ErrorContains(t, report.FailedLines[2].Err, "at byte")
		require.Len(t, w.engine.taken(), 5996)
	})
}

// TestBatch_InterruptedAndRepeated interrupts an upload in its third transaction.
func TestBatch_InterruptedAndRepeated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		cut := errors.New("connection reset")
		in := users(2500)
		in.err = cut
		report, err := w.Batch(t.Context(), "crm", in, desired.BatchOptions{})
		require.ErrorIs(t, err, cut)
		require.Equal(t, 2000, report.Applied)
		require.Len(t, w.engine.taken(), 2000)
		report, err = w.Batch(t.Context(), "crm", users(2500), desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, desired.BatchReport{Lines: 2500, Applied: 500, Unchanged: 2000}, report)
		require.Len(t, w.engine.taken(), 500)
		old := &generated{n: 300, line: func(n int) string { return putLine(n, 3) }}
		_, err = w.Batch(t.Context(), "crm", old, desired.BatchOptions{})
		require.NoError(t, err)
		report, err = w.Batch(t.Context(), "crm", users(300), desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, 300, report.Stale)
		require.Len(t, report.StaleLines, desired.MaxReported)
		require.Equal(t, &desired.StaleError{Current: 3}, report.StaleLines[0].Err)
	})
}

// TestBatch_MarkFails checks that the report counts only the lines of committed transactions.
func TestBatch_MarkFails(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	broken := errors.New("no mark")
	w.engine.err, w.engine.after = broken, 1000
	report, err := w.Batch(t.Context(), "crm", users(3000), desired.BatchOptions{})
	require.ErrorIs(t, err, broken)
	require.Equal(t, desired.BatchReport{Lines: 1000, Applied: 1000}, report)
	ids, err := w.Principals(t.Context(), "crm", engine.User, "", 5000)
	require.NoError(t, err)
	require.Len(t, ids, 1000)
}

// TestBatch_RulesChange changes the rules of the app while an upload is being read. The lines that are written later have the new rules.
func TestBatch_RulesChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.PutApp(t.Context(), mapped(2, "example.com"))
		require.NoError(t, err)
		found := func(name string) []engine.Candidate {
			out, err := w.Match(t.Context(), "crm", engine.User, []engine.RemoteObject{{UserName: name}})
			require.NoError(t, err)
			return out[0]
		}
		in := &generated{n: 2001, line: func(n int) string {
			if n == 2000 {
				changed := mapped(3, "example.com")
				changed.Mapping.Rules[0].Expression = `"x-" + user.login`
				_, err := w.PutApp(t.Context(), changed)
				require.NoError(t, err)
				require.Len(t, found("x-ann1"), 1, "the names of the stored users result from the new rules")
			}
			return fmt.Sprintf(`{"op":"putUser","id":"u-%d","version":1,"want":"active","profile":{"login":"ann%d"}}`, n, n)
		}}
		report, err := w.Batch(t.Context(), "crm", in, desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, 2001, report.Applied)
		require.Len(t, found("x-ann2000"), 1)
	})
}

func TestBatch_Invalid(t *testing.T) {
	long := strings.Repeat("x", desired.MaxResource)
	cases := []struct{ line, want string }{
		{`not JSON`, "not valid JSON"},
		{`""`, "not valid JSON"},
		{`{"op":"putUser","op":"x"}`, "not valid JSON"},
		{`{"a":"` + "\xff" + `"}`, "not valid JSON"},
		{`{}`, "op: the value must be one of"},
		{`{"op":1}`, "op: the value must be a string"},
		{`{"op":"dropTable"}`, "op: the value must be one of"},
		{`{"op":"deleteUser","id":5}`, "id: the value must be a string"},
		{`{"op":"deleteUser","id":""}`, "id: the id must not be empty"},
		{`{"op":"deleteUser","id":".."}`, "id: the id must not be empty"},
		{`{"op":"deleteUser","id":"u"}`, "version: the version must be between"},
		{`{"op":"deleteUser","id":"a\nb","version":1}`, "id: the id must not contain"},
		{`{"op":"deleteUser","id":"` + strings.Repeat("i", 257) + `","version":1}`, "id: the id must have at most"},
		{`{"op":"deleteUser","id":"u","version":"1"}`, "version: the value must be an integer"},
		{`{"op":"deleteUser","id":"u","version":1.5}`, "version: the value must be an integer"},
		{`{"op":"deleteUser","id":"u","version":1e3}`, "version: the value must be an integer"},
		{`{"op":"deleteUser","id":"u","version":-1}`, "version: the version must be between"},
		{`{"op":"deleteUser","id":"u","version":9007199254740993}`, "version: the version must be between"},
		{`{"op":"deleteUser","id":"u","version":99999999999999999999}`, "version: the value must be an integer"},
		{`{"op":"putUser","id":"u","version":1}`, "want: the value must be one of"},
		{`{"op":"putUser","id":"u","version":1,"want":"gone"}`, "want: the value must be one of"},
		{`{"op":"putUser","id":"u","version":1,"want":"active"}`, "resource: an active user needs"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":[]}`, "resource: the value must be an object"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":{"id":"x"}}`, "resource.id: the engine sets"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":{"Password":"x"}}`, "resource.password: the engine sets"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":{"a":"\u0000"}}`, "resource.a: the value must not contain U+0000"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":{"a":"` + long + `"}}`, "resource: the user must have at most"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","profile":{"a":1}}`, "profile: the app has no mapping rules"},
		{`{"op":"putUser","id":"u","version":1,"want":"active","resource":{},"profile":{}}`, "profile: a user has either"},
		{`{"op":"putUser","id":"u","version":1,"want":"keep","manager":"a\u0007"}`, "manager: the id must not contain"},
		{`{"op":"putUser","id":"u","version":1,"want":"keep","remoteId":"` + long + `"}`, "remoteId: the value must have at most"},
		{`{"op":"putGroup","id":"g","version":1,"want":"active"}`, "displayName: an active group needs"},
		{`{"op":"putGroup","id":"g","version":1,"want":"keep"}`, "want: the value must be one of"},
		{`{"op":"putGroup","id":"g","version":1,"want":"absent","deleteRemote":"yes"}`, "deleteRemote: the value must be true or false"},
		{`{"op":"putMembers","id":"g","version":1}`, "members: the member is required"},
		{`{"op":"putMembers","id":"g","version":1,"members":"u"}`, "members: the value must be an array"},
		{`{"op":"putMembers","id":"g","version":1,"members":["u",7]}`, "members[1]: the value must be a string"},
		{`{"op":"putMembers","id":"g","version":1,"members":["u",""]}`, "members[1]: the id must not be empty"},
		{`{"op":"changeMembers","id":"g","version":1,"add":["u"]}`, "base: the member is required"},
		{`{"op":"changeMembers","id":"g","base":1,"version":1,"add":["u"]}`, "base: base must be at least 0 and lower"},
		{`{"op":"changeMembers","id":"g","base":0,"version":1,"add":["u"],"remove":["u"]}`, "remove: the user"},
		{`{"op":"changeMembers","id":"g","base":4,"version":5,"add":["u"]}`, "based on version 4, but version 0 is stored"},
		{`{"op":"presentUser","id":"u"}`, "op: the line is for the upload of a snapshot"},
		{`{"op":"putMembers","id":"g","version":1,"members":[` + strings.Repeat(`"u",`, desired.MaxMembers) + `"v"]}`, "members: at most 10000"},
	}
	each(t, func(t *testing.T, w *world) {
		for _, c := range cases {
			line, want := c.line, c.want
			report, err := w.Batch(t.Context(), "crm", strings.NewReader(line), desired.BatchOptions{})
			require.NoError(t, err, line[:min(100, len(line))])
			require.Equal(t, 1, report.Failed, line[:min(100, len(line))])
			require.ErrorContains(t, report.FailedLines[0].Err, want, line[:min(100, len(line))])
		}
		require.Empty(t, w.engine.taken())
		_, err := w.Batch(t.Context(), "nosuch", strings.NewReader(putLine(1, 1)), desired.BatchOptions{})
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.Batch(t.Context(), "crm", strings.NewReader(putLine(1, 1)), desired.BatchOptions{Snapshot: 7})
		require.ErrorIs(t, err, desired.ErrSnapshot)
		report, err := w.Batch(t.Context(), "crm", strings.NewReader(""), desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, desired.BatchReport{}, report)
	})
}

// TestBatch_MemoryBounded reads the live heap during an upload of 200,000 lines (20,000 in a plain run), and compares it with that of a
// short upload.
func TestBatch_MemoryBounded(t *testing.T) {
	many := 20_000
	if alltest.All() {
		many = 200_000
	}
	w := newWorld(t, sqldbtest.SQLite(t))
	w.Attach(discard{})
	peak := func(lines int) (highest uint64) {
		in := users(lines)
		line := in.line
		in.line = func(n int) string {
			if n%2000 == 1500 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			}
			return line(n)
		}
		report, err := w.Batch(t.Context(), "crm", in, desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, lines, report.Applied+report.Unchanged)
		return highest
	}
	short, long := peak(4_000), peak(many)
	t.Logf("live heap: %d KiB with 4,000 lines, %d KiB with %d lines", short>>10, long>>10, many)
	require.Less(t, long, short+8<<20)
}

func TestSnapshot_MissingConfirmed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Batch(t.Context(), "crm", users(2500), desired.BatchOptions{})
		require.NoError(t, err)
		w.put(desired.Applied, group("g-1", 1, "Sales"))
		number, err := w.BeginSnapshot(t.Context(), "crm", engine.User)
		require.NoError(t, err)
		other, err := w.BeginSnapshot(t.Context(), "crm", engine.Group)
		require.NoError(t, err)
		require.NotEqual(t, number, other)
		require.ErrorIs(t, w.ConfirmSnapshot(t.Context(), "crm", number, 0), desired.ErrSnapshot, "the upload has not ended")
		// Present lines, repetitions, stale lines and new versions are in the snapshot.
		report, err := w.Batch(t.Context(), "crm", strings.NewReader(strings.Join([]string{
			`{"op":"presentUser","id":"u-000000"}`, putLine(1, 1), putLine(2, 2), `{"op":"presentUser","id":"unknown"}`,
			`{"op":"presentGroup","id":"g-1"}`,
		}, "\n")), desired.BatchOptions{Snapshot: number})
		require.NoError(t, err)
		require.Equal(t, 2, report.Failed, "an unknown user, and a group in a snapshot of users")
		require.Equal(t, 3, report.Unchanged, "a higher version with the same content included")
		w.put(desired.Applied, user("u-during", 1, "during")) // a write of another caller during the snapshot
		w.engine.taken()
		snapshot, err := w.EndSnapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		require.Equal(t, 2497, snapshot.Missing)
		require.Equal(t, desired.SnapshotEnded, snapshot.State)
		ids, err := w.MissingIn(t.Context(), "crm", number, "u-000003", 2)
		require.NoError(t, err)
		require.Equal(t, []string{"u-000004", "u-000005"}, ids)
		require.Empty(t, w.engine.taken(), "a snapshot alone changes nothing")

		require.ErrorIs(t, w.ConfirmSnapshot(t.Context(), "crm", number, 2498), engine.ErrStale)
		require.Empty(t, w.engine.taken())
		require.NoError(t, w.ConfirmSnapshot(t.Context(), "crm", number, 2497))
		require.Len(t, w.engine.taken(), 2497)
		require.NoError(t, w.ConfirmSnapshot(t.Context(), "crm", number, 2497), "a repetition")
		require.ErrorIs(t, w.ConfirmSnapshot(t.Context(), "crm", number, 1), engine.ErrStale)
		require.Empty(t, w.engine.taken())
		for id, want := range map[string]engine.Want{
			"u-000000": engine.Active, "u-000002": engine.Active, "u-000003": engine.Absent, "u-during": engine.Active,
		} {
			state, err := w.User(t.Context(), "crm", id)
			require.NoError(t, err)
			require.Equal(t, want, state.Want, id)
		}
		require.Equal(t, &desired.ContentError{Version: 1}, w.reject(user("u-000003", 1, "late")), "a late message does not revive the user")
		w.put(desired.Applied, user("u-000003", 2, "back"))
		_, err = w.Snapshot(t.Context(), "crm", 99)
		require.ErrorIs(t, err, engine.ErrNotFound)
	})
}

// TestSnapshot_ConfirmResumes interrupts a confirmation after its first transaction.
func TestSnapshot_ConfirmResumes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Batch(t.Context(), "crm", users(2500), desired.BatchOptions{})
		require.NoError(t, err)
		number, err := w.BeginSnapshot(t.Context(), "crm", engine.User)
		require.NoError(t, err)
		_, err = w.EndSnapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		broken := errors.New("no mark")
		w.Attach(&failing{recorder: w.engine, after: 1, err: broken})
		require.ErrorIs(t, w.ConfirmSnapshot(t.Context(), "crm", number, 2500), broken)
		snapshot, err := w.Snapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		require.Equal(t, desired.SnapshotRemoving, snapshot.State)
		require.Equal(t, 1500, snapshot.Missing)
		w.Attach(w.engine)
		w.put(desired.Applied, user("u-002400", 2, "new")) // written before the confirmation is repeated
		require.ErrorIs(t, w.ConfirmSnapshot(t.Context(), "crm", number, 1500), engine.ErrStale)
		require.NoError(t, w.ConfirmSnapshot(t.Context(), "crm", number, 2500))
		state, err := w.User(t.Context(), "crm", "u-002400")
		require.NoError(t, err)
		require.Equal(t, engine.Active, state.Want)
		snapshot, err = w.Snapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		require.Equal(t, desired.SnapshotConfirmed, snapshot.State)
	})
}

func TestSnapshot_Replaced(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	first, err := w.BeginSnapshot(t.Context(), "crm", engine.User)
	require.NoError(t, err)
	_, err = w.BeginSnapshot(t.Context(), "crm", engine.User)
	require.NoError(t, err)
	_, err = w.Batch(t.Context(), "crm", strings.NewReader(putLine(1, 1)), desired.BatchOptions{Snapshot: first})
	require.ErrorIs(t, err, desired.ErrSnapshot)
	_, err = w.EndSnapshot(t.Context(), "crm", first)
	require.ErrorIs(t, err, engine.ErrNotFound)
	_, err = w.BeginSnapshot(t.Context(), "nosuch", engine.User)
	require.ErrorIs(t, err, engine.ErrUnknownApp)
	_, err = w.BeginSnapshot(t.Context(), "crm", "x")
	require.Error(t, err)
}

// BenchmarkBatch compares an upload of 10,000 users with the same number of bare marks in transactions of 1000. Both use new apps.
// %_of_mark is the speed of the upload relative to the marks.
func BenchmarkBatch(b *testing.B) {
	const lines = 10_000
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		s, e := withEngine(b, db)
		update := func(fn func(tx engine.Execer) error) {
			require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error { return fn(tx.Execer()) }))
		}
		benchBatch(b, s, e, update, lines)
	}, sqldbtest.Durable)
}
