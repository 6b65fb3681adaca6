package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/metrics"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// shown returns the lines of the text format that start with one of the names, in the order of the text.
func shown(t *testing.T, m *metrics.Metrics, names ...string) (out []string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") &&
			(len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(line, n) })) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

type lags struct {
	all []engine.Lag
	err error
}

func (l lags) Lags(context.Context) ([]engine.Lag, error) { return l.all, l.err }

func TestMetrics_CountResults(t *testing.T) {
	m := metrics.New()
	for range 2 {
		m.Result(t.Context(), engine.Result{
			App: "crm", Operation: engine.OpCreate, Outcome: engine.Done, Status: engine.StatusClean, Duration: 20 * time.Millisecond,
			Steps: []engine.Step{{Method: "GET", Status: 200}, {Method: "POST", Status: 201}},
		})
	}
	m.Result(t.Context(), engine.Result{
		App: "crm", Operation: engine.OpUpdate, Outcome: engine.Transient, Status: engine.StatusRetrying, Duration: time.Second,
		Steps: []engine.Step{{Method: "GET", Status: 0}, {Method: "GET", Status: 999}, {Method: "GET", Status: 503}},
	})
	m.Overdue(t.Context(), engine.Overdue{App: "crm"})
	require.Empty(t, cmp.Diff([]string{
		`scim_engine_overdue_total{app="crm"} 1`,
		`scim_engine_requests_total{app="crm",method="GET",status="2xx"} 2`,
		`scim_engine_requests_total{app="crm",method="GET",status="5xx"} 1`,
		`scim_engine_requests_total{app="crm",method="GET",status="none"} 2`,
		`scim_engine_requests_total{app="crm",method="POST",status="2xx"} 2`,
		`scim_engine_retries_total{app="crm"} 1`,
		`scim_engine_sequences_total{app="crm",operation="create",outcome="done"} 2`,
		`scim_engine_sequences_total{app="crm",operation="update",outcome="transient"} 1`,
	}, shown(t, m, "scim_engine_overdue_total", "scim_engine_requests_total", "scim_engine_retries_total", "scim_engine_sequences_total")))
	require.Equal(t, []string{`scim_engine_sequence_duration_seconds_count{app="crm"} 3`},
		shown(t, m, "scim_engine_sequence_duration_seconds_count"))
	require.Equal(t, []string{`scim_engine_sequence_duration_seconds_sum{app="crm"} 1.04`},
		shown(t, m, "scim_engine_sequence_duration_seconds_sum"))
	m.Forget("other")
	require.NotEmpty(t, shown(t, m, ""))
	m.Forget("crm")
	require.Empty(t, shown(t, m, ""))
}

func TestMetrics_LagGauges(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	m := metrics.New()
	m.Now = func() time.Time { return now }
	m.Follow(lags{all: []engine.Lag{
		{App: "crm", Due: 7, Retrying: 2, Failed: 3, Held: 1, Oldest: now.Add(-90 * time.Second), Hold: engine.Hold{Kind: engine.HoldBreaker},
			LastSuccess: now.Add(-time.Second)},
		{App: "wiki"},
	}})
	require.Empty(t, cmp.Diff([]string{
		`scim_engine_due{app="crm"} 7`,
		`scim_engine_due{app="wiki"} 0`,
		`scim_engine_failed{app="crm"} 3`,
		`scim_engine_failed{app="wiki"} 0`,
		`scim_engine_held{app="crm"} 1`,
		`scim_engine_held{app="wiki"} 0`,
		`scim_engine_hold{app="crm",kind="breaker"} 1`,
		`scim_engine_hold{app="crm",kind="pause"} 0`,
		`scim_engine_hold{app="crm",kind="quarantine"} 0`,
		`scim_engine_hold{app="wiki",kind="breaker"} 0`,
		`scim_engine_hold{app="wiki",kind="pause"} 0`,
		`scim_engine_hold{app="wiki",kind="quarantine"} 0`,
		`scim_engine_lag_seconds{app="crm"} 90`,
		`scim_engine_lag_seconds{app="wiki"} 0`,
		`scim_engine_last_success_timestamp_seconds{app="crm"} 1.799999999e+09`,
		`scim_engine_retrying{app="crm"} 2`,
		`scim_engine_retrying{app="wiki"} 0`,
	}, shown(t, m)))
}

// TestMetrics_StoreError checks that an error of the store is an error of the collection.
func TestMetrics_StoreError(t *testing.T) {
	m := metrics.New()
	m.Follow(lags{err: errors.New("disk failure")})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	_, err := registry.Gather()
	require.ErrorContains(t, err, "disk failure")
}

func TestMetrics_RunningEngine(t *testing.T) {
	fake := enginetest.NewTarget()
	server := httptest.NewServer(fake)
	defer server.Close()
	db := sqldbtest.SQLite(t)
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	dir := &enginetest.Directory{}
	dir.SetTarget("crm", engine.Target{BaseURL: server.URL, CreateUsers: true})
	person := &scim.Resource{}
	person.Set("userName", "ann")
	dir.SetUser("crm", "u-1", engine.UserState{Want: engine.Active, UserName: "ann", Resource: person})
	m, seen := metrics.New(), 0
	other := engine.ObserverFunc(func(context.Context, engine.Result) { seen++ })
	e, err := provision.New(provision.Options{Store: store, Directory: dir, Observer: engine.Observers(m, other)})
	require.NoError(t, err)
	m.Follow(e.Apps())
	require.NoError(t, e.Start(t.Context()))
	err = db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return e.Mark(t.Context(), tx.Execer(), engine.Mark{App: "crm", Kind: engine.User, ID: "u-1"})
	})
	require.NoError(t, err)
	e.Wake()
	require.NoError(t, e.Wait(t.Context(), "crm"))
	require.NoError(t, e.Stop(t.Context()))
	require.Empty(t, cmp.Diff([]string{
		`scim_engine_due{app="crm"} 0`,
		`scim_engine_sequences_total{app="crm",operation="create",outcome="done"} 1`,
	}, shown(t, m, "scim_engine_due", "scim_engine_sequences_total")))
	require.Equal(t, 1, seen, "both observers are called")
}

type fleet struct {
	all []engine.Process
	err error
}

func (f fleet) Processes(context.Context) ([]engine.Process, error) { return f.all, f.err }

func TestMetrics_Fleet(t *testing.T) {
	m := metrics.New()
	require.Empty(t, shown(t, m), "without FollowFleet")
	now := time.Now()
	m.FollowFleet(fleet{all: []engine.Process{
		{ID: "1", Name: "a", Started: now.Add(-time.Hour), Seen: now.Add(-20 * time.Second), Until: now.Add(-10 * time.Second), Now: now,
			State: engine.ProcessTaken, Rechecks: 9},
		{ID: "2", Name: "a", Started: now.Add(-time.Minute), Seen: now.Add(-1500 * time.Millisecond), Until: now.Add(time.Second), Now: now,
			State: engine.ProcessAlive, Lanes: 3, Running: 2.5, InFlight: 7, Rechecks: 4},
		{ID: "3", Name: "b", Started: now.Add(-time.Minute), Seen: now, Until: now.Add(time.Second), Now: now, State: engine.ProcessAlive},
	}})
	m.Takeover(t.Context(), engine.Takeover{Apps: []string{"crm", "erp"}})
	require.Equal(t, []string{
		"scim_engine_lanes_taken_total 2",
		`scim_engine_process_heartbeat_age_seconds{process="a"} 1.5`,
		`scim_engine_process_heartbeat_age_seconds{process="b"} 0`,
		`scim_engine_process_in_flight{process="a"} 7`,
		`scim_engine_process_in_flight{process="b"} 0`,
		`scim_engine_process_lanes{process="a"} 3`,
		`scim_engine_process_lanes{process="b"} 0`,
		`scim_engine_process_rechecks_total{process="a"} 4`,
		`scim_engine_process_rechecks_total{process="b"} 0`,
		`scim_engine_process_running_lanes{process="a"} 2.5`,
		`scim_engine_process_running_lanes{process="b"} 0`,
		`scim_engine_processes{state="alive"} 2`,
		`scim_engine_processes{state="dead"} 0`,
		`scim_engine_processes{state="left"} 0`,
		`scim_engine_processes{state="taken"} 1`,
		"scim_engine_takeovers_total 1",
	}, shown(t, m))

	m.FollowFleet(fleet{err: errors.New("disk failure")})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	_, err := registry.Gather()
	require.ErrorContains(t, err, "disk failure")
}

// TestMetrics_FleetOfEngine reads the metrics of an engine on each database.
func TestMetrics_FleetOfEngine(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		kept, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
		require.NoError(t, err)
		e, err := provision.New(provision.Options{Store: kept, Directory: &enginetest.Directory{}, Owner: "one"})
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context()))
		defer func() { require.NoError(t, e.Stop(context.WithoutCancel(t.Context()))) }()
		m := metrics.New()
		m.FollowFleet(e)
		require.Contains(t, shown(t, m), `scim_engine_processes{state="alive"} 1`)
		require.Contains(t, shown(t, m), `scim_engine_process_lanes{process="one"} 0`)
		require.Len(t, shown(t, m, "scim_engine_process_heartbeat_age_seconds"), map[sqldb.Dialect]int{sqldb.Postgres: 1}[db.Dialect()])
	})
}
