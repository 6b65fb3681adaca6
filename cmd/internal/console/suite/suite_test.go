package suite_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/suite"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

const secret = "the-token-of-the-target"

// target is a SCIM server whose requests a test can block.
type target struct {
	url     string
	blocked atomic.Bool
	waiting chan struct{}
	release chan struct{}
}

func newTarget(t testing.TB) *target {
	t.Helper()
	server, err := scimserver.New(scimserver.Options{
		Store: memstore.New(), Tokens: scimserver.StaticTokens(secret), Prefix: "/scim/v2", PasswordCost: 4,
	})
	require.NoError(t, err)
	x := &target{waiting: make(chan struct{}, 1), release: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x.blocked.Load() {
			select {
			case x.waiting <- struct{}{}:
			default:
			}
			select {
			case <-x.release:
			case <-r.Context().Done():
			}
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	x.url = s.URL + "/scim/v2"
	return x
}

func newRunner(t testing.TB, db *sqldb.DB, now func() time.Time) (*suite.Runner, *suite.Store) {
	t.Helper()
	store, err := suite.Open(t.Context(), db, now)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r := suite.New(suite.Options{Store: store, Transport: transport, Now: now})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, r.Close(ctx))
	})
	return r, store
}

// ended waits for the end of a run.
func ended(t testing.TB, r *suite.Runner) {
	t.Helper()
	require.Eventually(t, func() bool { _, active := r.Progress(); return !active }, time.Minute, 10*time.Millisecond)
}

// A run reports the progress, and stores its result without the token.
func TestRun_Stored(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		x := newTarget(t)
		r, store := newRunner(t, db, nil)
		var done atomic.Bool
		x.blocked.Store(true)
		id, err := r.Start(t.Context(), suite.Input{
			URL: x.url, Token: secret, Profiles: []string{"okta"}, By: "ada", Done: func(context.Context) { done.Store(true) },
		})
		require.NoError(t, err)
		<-x.waiting
		p, active := r.Progress()
		require.True(t, active)
		require.Equal(t, id, p.ID)
		run, err := store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, suite.Running, run.State)
		_, err = r.Start(t.Context(), suite.Input{URL: x.url})
		require.ErrorIs(t, err, suite.ErrBusy)
		x.blocked.Store(false)
		close(x.release)
		ended(t, r)

		require.True(t, done.Load())
		run, err = store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, suite.Done, run.State)
		require.Equal(t, conformance.Clean, run.Verdict)
		require.Equal(t, "ada", run.By)
		require.Equal(t, []suite.Client{{Fit: conformance.Works, Name: "Okta", Title: run.Clients[0].Title}}, run.ByClient())
		require.Len(t, run.Clients, 2, "one result for each flow")
		document, err := store.Report(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, x.url, document.Target)
		require.NotEmpty(t, document.Checks)
		text, err := store.JSON(t.Context(), id)
		require.NoError(t, err)
		require.NotContains(t, string(text), secret)
		var columns int
		row := db.Reader().QueryRow(t.Context(), `SELECT count(*) FROM scimwright_console_run WHERE target || profiles || caller || reason ||
			clients || report LIKE ?`, "%"+secret+"%")
		require.NoError(t, row.Scan(&columns))
		require.Zero(t, columns)
	})
}

// A canceled run removes its objects, and its result says so.
func TestRun_Canceled(t *testing.T) {
	x := newTarget(t)
	r, store := newRunner(t, sqldbtest.SQLite(t), nil)
	id, err := r.Start(t.Context(), suite.Input{URL: x.url, Token: secret, Profiles: []string{"rfc"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { p, _ := r.Progress(); return p.Done > 0 && p.Journal != "" }, time.Minute, time.Millisecond)
	require.False(t, r.Cancel("another"))
	require.True(t, r.Cancel(id))
	ended(t, r)
	run, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, suite.Canceled, run.State)
	require.Contains(t, run.Reason, "interrupted")
	document, err := store.Report(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, document.Leftovers)
	require.False(t, r.Cancel(id))
}

// An input with which no run can start is an error, and no run is stored.
func TestStart_InvalidInput(t *testing.T) {
	r, store := newRunner(t, sqldbtest.SQLite(t), nil)
	for _, in := range []suite.Input{
		{URL: "scim.example.com"}, {URL: "ftp://scim.example.com"}, {URL: "https://ada:secret@scim.example.com"}, {},
		{URL: "https://scim.example.com/v2?x=1"}, {URL: "http://127.0.0.1:1", Profiles: []string{"none"}},
	} {
		_, err := r.Start(t.Context(), in)
		require.ErrorAs(t, err, new(*conformance.UsageError), in.URL)
	}
	_, err := r.Start(t.Context(), suite.Input{URL: "https://scim.example.com"})
	require.ErrorAs(t, err, new(*conformance.ConsentError))
	all, err := store.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

// The database has the last runs only, and a run whose process has ended is aborted.
func TestStore_Bounded(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		store, err := suite.Open(t.Context(), db, func() time.Time { return now })
		require.NoError(t, err)
		for i := range suite.Max + 5 {
			at := now.Add(time.Duration(i) * time.Second)
			require.NoError(t, store.Begin(t.Context(), suite.Run{ID: strings.Repeat("x", i+1), Started: at, State: suite.Running}))
		}
		all, err := store.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, suite.Max)
		require.Len(t, all[0].ID, suite.Max+5, "the newest first")
		require.Equal(t, suite.Running, all[0].State)
		_, err = store.Report(t.Context(), all[0].ID)
		require.ErrorIs(t, err, suite.ErrNone)
		now = now.Add(suite.Limit + time.Minute)
		run, err := store.Get(t.Context(), all[0].ID)
		require.NoError(t, err)
		require.Equal(t, suite.Aborted, run.State)
		_, err = store.Get(t.Context(), "unknown")
		require.ErrorIs(t, err, suite.ErrNone)
	})
}

// Close cancels the active run and waits for its end. No run starts afterwards.
func TestClose_EndsRun(t *testing.T) {
	x := newTarget(t)
	r, store := newRunner(t, sqldbtest.SQLite(t), nil)
	id, err := r.Start(t.Context(), suite.Input{URL: x.url, Token: secret})
	require.NoError(t, err)
	require.NoError(t, r.Close(t.Context()))
	run, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, suite.Canceled, run.State)
	_, err = r.Start(t.Context(), suite.Input{URL: x.url, Token: secret})
	require.ErrorIs(t, err, suite.ErrBusy)
}

// The checks that a comparison reads are stored without their findings. Runs of an earlier version have only the report.
func TestStore_Outline(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		runner, store := newRunner(t, db, nil)
		id, err := runner.Start(t.Context(),
			suite.Input{URL: newTarget(t).url, Token: secret, Profiles: []string{"rfc"}, ReadOnly: true, Consent: true})
		require.NoError(t, err)
		ended(t, runner)
		whole, err := store.Report(t.Context(), id)
		require.NoError(t, err)
		require.NotEmpty(t, whole.Checks)
		outline, err := store.Outline(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, outline.Checks, len(whole.Checks))
		require.Empty(t, outline.Clauses)
		require.Equal(t, report.Compare(report.Document{}, whole), report.Compare(report.Document{}, outline))
		require.Equal(t, report.Compare(whole, report.Document{}), report.Compare(outline, report.Document{}))
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE scimwright_console_run SET outline = ''`)
			return err
		}))
		earlier, err := store.Outline(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, whole, earlier)
		_, err = store.Outline(t.Context(), "none")
		require.ErrorIs(t, err, suite.ErrNone)
	})
}

// BenchmarkReports measures what the pages of two runs with all profiles read.
func BenchmarkReports(b *testing.B) {
	db := sqldbtest.SQLite(b)
	runner, store := newRunner(b, db, nil)
	target := newTarget(b)
	var ids []string
	for range 2 {
		id, err := runner.Start(b.Context(),
			suite.Input{URL: target.url, Token: secret, Profiles: []string{"rfc", "okta", "entra"}, Consent: true})
		require.NoError(b, err)
		ended(b, runner)
		ids = append(ids, id)
	}
	for name, read := range map[string]func(ctx context.Context, id string) (report.Document, error){
		"report": store.Report, "outline": store.Outline,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before, err := read(b.Context(), ids[0])
				require.NoError(b, err)
				after, err := read(b.Context(), ids[1])
				require.NoError(b, err)
				report.Compare(before, after)
			}
		})
	}
}
