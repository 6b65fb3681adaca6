package provision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
)

const (
	rollingAnswer = 500 * time.Millisecond // latency of the targets
	rollingUsers  = 200                    // users of each app: work for three minutes
)

// rolling restarts the processes of a fleet in turn, and returns how long each lane waited between its release by the process that stopped
// and the next claim. A trigger of the database records the times.
func rolling(t testing.TB, processes, apps int, lease time.Duration) (waits []time.Duration) {
	t.Helper()
	f := newFairFleet(t, processes, apps, rollingAnswer, fleetOrders{Lease: lease})
	require.NoError(t, f.db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Apply(t.Context(), `CREATE TABLE owner_change (n BIGINT GENERATED ALWAYS AS IDENTITY, app TEXT, was TEXT, now TEXT, due BIGINT,
				at TIMESTAMPTZ);
			CREATE FUNCTION log_owner() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
				INSERT INTO owner_change (app, was, now, due, at) VALUES (NEW.app_id, OLD.process, NEW.process, NEW.next_at, clock_timestamp());
				RETURN NEW; END';
			CREATE TRIGGER log_owner BEFORE UPDATE ON scimwright_app_lane FOR EACH ROW WHEN (OLD.process <> NEW.process)
				EXECUTE FUNCTION log_owner()`)
	}))
	require.NoError(t, f.assign(t.Context(), apps, 0, rollingUsers))
	ready := func(i int) func() bool {
		return func() bool {
			lanes := f.lanes()
			return len(lanes) == processes && lanes[f.fleet.name(i)] > 0
		}
	}
	for i := range processes {
		require.Eventually(t, ready(i), 4*deadline, fairSample, "the processes run, and the next one has lanes")
		var stopped string
		require.NoError(t, f.db.Reader().QueryRow(t.Context(), `SELECT id FROM scimwright_process WHERE name = ?
			ORDER BY started_at DESC LIMIT 1`, f.fleet.name(i)).Scan(&stopped))
		f.fleet.stop(i)
		require.Eventually(t, func() bool {
			var free int
			err := f.db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM scimwright_app_lane WHERE process = '' OR process = ?`, stopped).
				Scan(&free)
			require.NoError(t, err)
			return free == 0
		}, 4*deadline, fairSample, "other processes have claimed the lanes")
		waits = append(waits, f.waits(stopped)...)
		f.fleet.restart(i)
	}
	var taken int
	require.NoError(t, f.db.Reader().QueryRow(t.Context(), `SELECT COALESCE(SUM(takeovers), 0) FROM scimwright_process`).Scan(&taken))
	require.Zero(t, taken, "no process was dead")
	_, violations := f.target.counts()
	require.Empty(t, violations)
	return waits
}

// waits returns the times between the releases of lanes by a process after its stop and the next claims. A stopped process claims nothing,
// so the last release of each lane counts.
func (f *fairFleet) waits(process string) (waits []time.Duration) {
	f.t.Helper()
	rows, err := f.db.Reader().Query(f.t.Context(), `SELECT CAST(EXTRACT(EPOCH FROM c.at - r.at) * 1000000 AS BIGINT)
		FROM (SELECT app, MAX(n) AS n, MAX(at) AS at FROM owner_change WHERE was = ? AND now = '' GROUP BY app) r
		JOIN LATERAL (SELECT at FROM owner_change c WHERE c.app = r.app AND c.n > r.n AND c.was = '' ORDER BY c.n LIMIT 1) c ON TRUE`, process)
	require.NoError(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var us int64
		require.NoError(f.t, rows.Scan(&us))
		waits = append(waits, time.Duration(us)*time.Microsecond)
	}
	require.NoError(f.t, rows.Err())
	return waits
}

// TestFleet_RollingRestart restarts the processes of a fleet in turn while all lanes have work. Without the release of its lanes, other
// processes would wait for the death of a process, which is a minute here.
func TestFleet_RollingRestart(t *testing.T) {
	t.Parallel() // it mostly waits
	const processes, apps = 4, 24
	waits := rolling(t, processes, apps, time.Minute)
	require.GreaterOrEqual(t, len(waits), processes, "each process had lanes")
	var longest time.Duration
	for _, w := range waits {
		longest = max(longest, w)
	}
	t.Logf("%d lanes handed over, the longest wait was %s", len(waits), longest)
	require.Less(t, longest, 20*time.Second, "lanes are handed over at once; see BenchmarkRollingRestart for the time")
}

// BenchmarkRollingRestart restarts four processes in turn. s-max is the longest time for which one of 80 lanes that always have work has no
// owner after its process has stopped.
func BenchmarkRollingRestart(b *testing.B) {
	for b.Loop() {
		waits := rolling(b, 4, 80, 0)
		var sum, longest time.Duration
		for _, w := range waits {
			longest = max(longest, w)
			sum += w
		}
		b.ReportMetric(longest.Seconds(), "s-max")
		b.ReportMetric(sum.Seconds()/float64(len(waits)), "s-mean")
		b.ReportMetric(float64(len(waits)), "lanes")
	}
}
