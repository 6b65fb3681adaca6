package riverjobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// childVariable is the environment variable with the task of a child process.
const childVariable = "SCIMWRIGHT_TEST_RIVERJOBS"

type orders struct {
	Database string
	Options  riverjobs.Options
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(childMain(text))
	}
	os.Exit(sqldbtest.Main(m))
}

const childDeadline = 5 * time.Minute

// childMain runs a job until the process has lost it. It writes "started" when the job starts and "lost" when its context ends.
func childMain(text string) int {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), childDeadline)
	defer stop()
	pool, err := pgxpool.New(ctx, o.Database)
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	o.Options.Logger = slog.New(slog.DiscardHandler)
	s, err := riverjobs.Open(ctx, pool, o.Options)
	if err != nil {
		panic(err)
	}
	err = s.Register(jobs.Kind{Name: "test.held", Work: func(ctx context.Context, _ jobs.Job) error {
		fmt.Println("started")
		<-ctx.Done()
		fmt.Println("lost")
		return ctx.Err()
	}})
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		panic(err)
	}
	<-ctx.Done()
	return 0
}

// child is a process that runs the job test.held.
type child struct {
	cmd   *exec.Cmd
	lines chan string
}

// startChild inserts the job and returns when a child process runs it.
func startChild(t testing.TB, pool *pgxpool.Pool, o riverjobs.Options, main jobs.Scheduler) *child {
	t.Helper()
	require.NoError(t, main.Insert(t.Context(), "test.held", "k", 0))
	o.Logger = nil
	text, err := json.Marshal(orders{pool.Config().ConnString(), o})
	require.NoError(t, err)
	c := &child{cmd: exec.Command(os.Args[0]), lines: make(chan string, 10)}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // fails if the process has ended
		for range c.lines {      // until the process has ended
		}
		_ = c.cmd.Wait()
	})
	require.Equal(t, "started", c.next(t))
	return c
}

func (c *child) next(t testing.TB) string {
	t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(time.Minute):
		require.Fail(t, "the child process writes nothing")
		return ""
	}
}

func (c *child) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Signal(s))
}

// survivor opens and starts a scheduler in this process, which reports the start of each job.
func survivor(t testing.TB, pool *pgxpool.Pool, o riverjobs.Options) (s jobs.Scheduler, start func(), started chan time.Time) {
	t.Helper()
	s, err := riverjobs.Open(t.Context(), pool, o)
	require.NoError(t, err)
	started = make(chan time.Time, 10)
	require.NoError(t, s.Register(jobs.Kind{Name: "test.held", Work: func(context.Context, jobs.Job) error {
		started <- time.Now()
		return nil
	}}))
	return s, func() {
		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) })
	}, started
}

// TestProcess_Killed checks that another process continues the job of a process that was killed or stopped, not before Options.Dead has
// passed, and that a stopped process notices that it has lost the job when it continues.
func TestProcess_Killed(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, schema := newPool(t)
			o := quick(schema)
			s, start, started := survivor(t, pool, o)
			c := startChild(t, pool, o, s)
			start()
			select {
			case <-started:
				require.Fail(t, "two processes run the job")
			case <-time.After(2 * o.Dead): // the child renews the job
			}
			began := time.Now()
			c.signal(t, signal)
			select {
			case at := <-started:
				require.Greater(t, at.Sub(began), o.Dead/2)
			case <-time.After(time.Minute):
				require.Fail(t, "no process continues the job")
			}
			finished := func() bool {
				found, err := s.List(t.Context(), jobs.Query{})
				require.NoError(t, err)
				return len(found) == 1 && found[0].State == jobs.Finished && found[0].Attempt == 2 &&
					strings.Contains(found[0].Error, "no longer responds")
			}
			require.Eventually(t, finished, time.Minute, 20*time.Millisecond)
			if signal == syscall.SIGSTOP {
				c.signal(t, syscall.SIGCONT)
				require.Equal(t, "lost", c.next(t))
				require.True(t, finished())
			}
		})
	}
}

// BenchmarkKilled measures the time from kill -9 of a process to the next attempt of its job in another process, with the default options.
func BenchmarkKilled(b *testing.B) {
	var took []time.Duration
	for b.Loop() {
		pool, schema := newPool(b)
		o := riverjobs.Options{Schema: schema, Logger: slog.New(slog.DiscardHandler)}
		s, start, started := survivor(b, pool, o)
		c := startChild(b, pool, o, s)
		start()
		time.Sleep(rand.N(5 * time.Second)) //nolint:gosec // any phase of the heartbeat
		began := time.Now()
		c.signal(b, syscall.SIGKILL)
		took = append(took, (<-started).Sub(began))
		require.NoError(b, s.Stop(b.Context()))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s/p50")
	b.ReportMetric(took[len(took)-1].Seconds(), "s/max")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle measures the transactions of idle processes, of which one is the leader, with the default options.
func BenchmarkIdle(b *testing.B) {
	for _, processes := range []int{1, 4} {
		b.Run(fmt.Sprint("processes=", processes), func(b *testing.B) {
			const during = 20 * time.Second
			pool, schema := newPool(b)
			for range processes {
				_, start, _ := survivor(b, pool, riverjobs.Options{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
				start()
			}
			count := func() (n int64) {
				_, err := pool.Exec(b.Context(), `SELECT pg_stat_force_next_flush()`)
				require.NoError(b, err)
				require.NoError(b, pool.QueryRow(b.Context(),
					`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`).Scan(&n))
				return n
			}
			time.Sleep(during / 4) // the election of the leader
			for b.Loop() {
				before, began := count(), time.Now()
				time.Sleep(during)
				b.ReportMetric(float64(count()-before)/time.Since(began).Seconds()/float64(processes), "tx/s/process")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
