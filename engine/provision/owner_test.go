package provision_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// manyLeases is much longer than tinyLease, after which an engine on PostgreSQL would be dead.
const (
	tinyLease  = 40 * time.Millisecond
	manyLeases = 50 * tinyLease
)

// TestSQLite_LongTransaction checks that a transaction of the embedder that takes longer than any lease, such as a MarkAll of a million
// principals, does not end the leases of the engine. Requests are sent meanwhile, and their results are stored afterwards.
func TestSQLite_LongTransaction(t *testing.T) {
	var log lockedBuffer
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{Lease: tinyLease, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	hang := make(chan struct{})
	w.fake.Inject(enginetest.Fault{Method: http.MethodPost, Hang: hang})
	before := w.process()
	w.set("u-1", user("u-1", "ann"))
	w.poll("the create", func() bool { return w.state(engine.User, "u-1").MayExist && len(w.fake.Requests()) > 0 })
	begun := time.Now()
	require.NoError(t, w.db.Update(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := w.engine.MarkAll(t.Context(), tx.Execer(), engine.MarkAll{App: app}); err != nil {
			return err
		}
		close(hang) // the request ends during the transaction
		w.poll("the end of many leases", func() bool { return time.Since(begun) > manyLeases })
		return nil
	}))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
	require.Equal(t, before.ID, w.process().ID, "the same process")
	require.NotContains(t, log.String(), "lost", "no lane was lost")
}

// process returns the only process.
func (w *world) process() engine.Process {
	w.t.Helper()
	found, err := w.engine.Processes(w.t.Context())
	require.NoError(w.t, err)
	require.Len(w.t, found, 1)
	return found[0]
}

// TestSQLite_StoppedProcess checks that a process that is stopped for longer than any lease continues with the same leases, and that no
// other process gets the database meanwhile.
func TestSQLite_StoppedProcess(t *testing.T) {
	const at = "carried out POST /Users"
	w := newKillWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "engine.db"), scenario("a user is created"), engine.Catalog)
	t.Cleanup(w.begin("app"))
	o := orders{
		Database: w.url, Scenario: w.scenario.name, Style: w.style, App: w.app, Target: w.server.URL, Lease: tinyLease, Owner: "stopped", At: at,
		Signal: syscall.SIGSTOP,
	}
	told, out := io.Pipe()
	var log bytes.Buffer
	child := o.start(t, out, &log)
	t.Cleanup(func() { // only necessary if the test fails
		if t.Failed() {
			_ = child.Process.Kill()
			t.Log(child.Wait())
			t.Log(log.String())
		}
	})
	line, err := bufio.NewReader(told).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, at+"\n", line)
	awaitStalled(t, child.Process.Pid)
	for begun := time.Now(); time.Since(begun) < manyLeases; time.Sleep(tinyLease) { // poll interval
		_, _, err := w.store.Join(t.Context(), store.Joining{Name: "another", Lease: tinyLease, Replace: true})
		require.ErrorIs(t, err, store.ErrInUse)
	}
	require.NoError(t, child.Process.Signal(syscall.SIGCONT))
	require.NoError(t, child.Wait(), "%s", &log)
	require.NotContains(t, log.String(), "lost")
	require.NotContains(t, log.String(), "new one")
	require.Empty(t, w.verify())
	posts := 0
	for _, r := range w.log.all() {
		if r.method == http.MethodPost {
			posts++
		}
	}
	require.Equal(t, 1, posts)
}

// TestStart_DatabaseInUse checks that a second engine on an SQLite database is rejected at its start, and can start after the first one has
// stopped.
func TestStart_DatabaseInUse(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
	second, err := provision.New(provision.Options{Store: w.store, Directory: w.dir})
	require.NoError(t, err)
	require.ErrorIs(t, second.Start(t.Context()), store.ErrInUse)
	w.stop(w.engine)
	require.NoError(t, second.Start(t.Context()))
	w.stop(second)
}
