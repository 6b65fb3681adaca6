package webhooks_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// childDatabase is the environment variable with the database of a child process.
const childDatabase = "SCIMWRIGHT_TEST_WEBHOOKS"

type childOrders struct{ Dialect, Driver, DSN string }

// child delivers until its standard input ends.
func child() {
	var o childOrders
	if err := json.Unmarshal([]byte(os.Getenv(childDatabase)), &o); err != nil {
		panic(err)
	}
	db, err := sql.Open(o.Driver, o.DSN)
	if err != nil {
		panic(err)
	}
	s, err := processOf(context.Background(), db, sqlstore.Dialect(o.Dialect))
	if err == nil {
		err = s.Start(context.Background())
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("started")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// processOf returns the Service of one of several processes on a database.
func processOf(ctx context.Context, db *sql.DB, d sqlstore.Dialect) (*webhooks.Service, error) {
	source, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: d})
	if err != nil {
		return nil, err
	}
	seal, err := desired.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		return nil, err
	}
	return webhooks.Open(ctx, db, webhooks.Options{
		Dialect: d, Source: source, Seal: seal, AllowHTTP: true, RetryInitial: time.Millisecond, RetryMax: 10 * time.Millisecond,
		Attempts: 1_000_000, Lease: 400 * time.Millisecond, Poll: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
}

// startChild starts a child process. The returned function sends it a signal; SIGKILL also waits for its end.
func startChild(t *testing.T, p sqldbtest.Place) func(syscall.Signal) {
	t.Helper()
	text, err := json.Marshal(childOrders{p.Dialect.String(), p.Driver, p.DSN})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDatabase+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // ends with this process
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	var once sync.Once
	kill := func(s syscall.Signal) {
		if s != syscall.SIGKILL {
			require.NoError(t, cmd.Process.Signal(s))
			return
		}
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // "signal: killed"
			_ = in.Close()
		})
	}
	t.Cleanup(func() { kill(syscall.SIGKILL) })
	return kill
}

// users is the number of users of a producer.
const users = 5

// producer writes events of the users of crm to a store.
type producer struct {
	store *sqlstore.Store
	lease engine.Lease
}

func newProducer(t testing.TB, db *sql.DB, o sqlstore.Options) *producer {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), db, o)
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var marks []engine.Mark
	for u := range users {
		marks = append(marks, engine.Mark{App: "crm", Kind: engine.User, ID: fmt.Sprint("u-", u)})
	}
	require.NoError(t, s.Mark(t.Context(), tx, time.Now(), marks))
	require.NoError(t, tx.Commit())
	process, _, err := s.Join(t.Context(), store.Joining{Name: "test", Lease: time.Hour})
	require.NoError(t, err)
	leases, err := s.Claim(t.Context(), process.ID, time.Now(), 10)
	require.NoError(t, err)
	require.Len(t, leases, 1)
	return &producer{s, leases[0]}
}

// add stores an event of a user.
func (p *producer) add(ctx context.Context, user string, n int) error {
	_, err := p.store.Finish(ctx, p.lease, store.Finish{
		Kind: engine.User, ID: user, Gen: 1, Status: engine.StatusClean, RemoteID: fmt.Sprint("r", n), Origin: engine.Created, At: time.Now(),
		Operation: engine.OpCreate,
	})
	return err
}

// A process with the name of a killed one delivers without waiting for the lease of the killed one.
func TestOwner_DeliversAfterRestart(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		source := &events{apps: map[string][]engine.Event{}}
		x := newReceiver(t, nil)
		seal := newSeal(t)
		o := webhooks.Options{
			Dialect: sqlstore.Dialect(p.Dialect.String()), Source: source, Seal: seal, AllowHTTP: true, Owner: "daemon", Lease: time.Hour,
		}
		s, err := webhooks.Open(t.Context(), db, o)
		require.NoError(t, err)
		_, _, err = s.Create(t.Context(), webhooks.Endpoint{App: "crm", URL: x.URL}, webhooks.CreateOptions{})
		require.NoError(t, err)
		// A killed process leaves its lease.
		_, err = db.ExecContext(t.Context(), `UPDATE scimwright_webhook_endpoint SET owner = 'daemon', epoch = 7, lease_until = 9000000000000`)
		require.NoError(t, err)
		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
		source.user("u-1")
		s.Wake("crm")
		require.Eventually(t, func() bool { return len(x.requests()) == 1 }, patience, time.Millisecond)
		var epoch int
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT epoch FROM scimwright_webhook_endpoint`).Scan(&epoch))
		require.Equal(t, 8, epoch, "a late transaction of the killed process stores nothing")
	})
}

// While processes are killed, every event is delivered, and the first deliveries of the events of each user have the order of the events.
// On PostgreSQL, two processes share the endpoints, and one is also stopped for longer than its lease.
func TestDelivery_KilledProcesses(t *testing.T) {
	const kills = 6
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		var mu sync.Mutex
		var accepted []request
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(accepted)
		}
		x := newReceiver(t, func(_ http.ResponseWriter, r request) int {
			if rand.IntN(10) == 0 {
				return http.StatusInternalServerError
			}
			mu.Lock()
			defer mu.Unlock()
			accepted = append(accepted, r)
			return http.StatusOK
		})
		db := p.Open(t)
		d := sqlstore.Dialect(p.Dialect.String())
		producer := newProducer(t, db, sqlstore.Options{Dialect: d})
		for u := range users {
			require.NoError(t, producer.add(t.Context(), fmt.Sprint("u-", u), 0))
		}
		s, err := processOf(t.Context(), db, d)
		require.NoError(t, err)
		e, _, err := s.Create(t.Context(), webhooks.Endpoint{App: "crm", URL: x.URL}, webhooks.CreateOptions{FromStart: true})
		require.NoError(t, err)

		ctx, stop := context.WithCancel(t.Context())
		var producing sync.WaitGroup
		var failed error
		producing.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				for n > count()+300 && ctx.Err() == nil { // the producer waits for deliveries, but always leaves some pending
					pause.For(ctx, time.Millisecond)
				}
				if failed = producer.add(context.WithoutCancel(ctx), fmt.Sprint("u-", n%users), n); failed != nil {
					return
				}
			}
		})
		t.Cleanup(producing.Wait)
		t.Cleanup(stop)
		old := func(syscall.Signal) {}
		for n := range kills {
			now := startChild(t, p)
			before := count()
			require.Eventually(t, func() bool { return count() > before+5+rand.IntN(20) }, patience, time.Millisecond)
			if p.Dialect == sqldb.SQLite {
				now(syscall.SIGKILL)
				continue
			}
			if n%2 == 1 {
				now(syscall.SIGSTOP)
				before = count()
				old(syscall.SIGKILL)
				third := startChild(t, p)
				require.Eventually(t, func() bool { return count() > before+5 }, patience, time.Millisecond)
				now(syscall.SIGCONT)
				before = count()
				require.Eventually(t, func() bool { return count() > before+5 }, patience, time.Millisecond)
				third(syscall.SIGKILL)
			}
			old(syscall.SIGKILL)
			old = now
		}
		old(syscall.SIGKILL)
		stop()
		producing.Wait()
		require.NoError(t, failed)

		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
		want, total := map[string][]int64{}, 0
		for after := int64(0); ; {
			page, err := producer.store.Events(t.Context(), engine.EventQuery{App: "crm", After: after, Limit: 1000})
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				want[e.Principal] = append(want[e.Principal], e.Seq)
				after, total = e.Seq, total+1
			}
		}
		distinct := func() int {
			mu.Lock()
			defer mu.Unlock()
			n := 0
			for _, seqs := range firsts(accepted) {
				n += len(seqs)
			}
			return n
		}
		require.Eventually(t, func() bool { return distinct() >= total }, patience, 20*time.Millisecond)
		require.Eventually(t, func() bool {
			now, err := s.Get(t.Context(), e.ID)
			return err == nil && now.Parked == 0
		}, patience, 20*time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, want, firsts(accepted))
		t.Logf("%d events, %d requests with success", total, len(accepted))
	})
}
