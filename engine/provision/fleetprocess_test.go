package provision_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// fleetOrders configure a process of a fleet: an engine on PostgreSQL that works until SIGTERM.
type fleetOrders struct {
	Database string
	Target   string // base URL, without the app
	Name     string
	// Lease and RequestTimeout are those of provision.Options; zero means the defaults.
	Lease, RequestTimeout time.Duration
	Lanes                 int    // of provision.Options; zero means the default
	Concurrency           int    // of each target. Default: 4
	Without               string // the protection that the process lacks, or empty
}

// fleetVariable is the environment variable with the orders of a process of a fleet.
const fleetVariable = "SCIMWRIGHT_TEST_FLEET"

// Protections that a process can lack, to show that the test of the fleet detects it: the recheck of principals in flight, the check
// whether the process is still valid, the increase of the epoch of a lane with each lease (a trigger of the database then keeps it
// constant), and the fence, which is the rejection of writes with an old epoch.
const (
	withoutRecheck  = "recheck"
	withoutValidity = "validity"
	withoutEpoch    = "epoch"
	withoutFence    = "fence"
)

// Headers of the requests of a fleet: the process, the epoch of its lease of the app, and, in nanoseconds, the time of the request and the
// start and the end of the last stall of the process.
const (
	processHeader  = "X-Fleet-Process"
	epochHeader    = "X-Fleet-Epoch"
	sentHeader     = "X-Fleet-Sent"
	stallHeader    = "X-Fleet-Stall"
	stallEndHeader = "X-Fleet-Stall-End"
)

// fleetMain runs a process of a fleet.
func fleetMain(text string) int {
	var o fleetOrders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fleetConnections is the maximum number of connections of a process to the database.
const fleetConnections = 12

func (o fleetOrders) run(ctx context.Context) error {
	db, err := sqlopen.Open(ctx, o.Database, sqlopen.Options{MaxConns: fleetConnections})
	if err != nil {
		return err
	}
	defer db.Close()
	inner, err := enginestore.Open(ctx, db, sqlstore.Options{})
	if err != nil {
		return err
	}
	kept := &fleetStore{All: inner, db: db, without: o.Without}
	pulse := newPulse(ctx)
	e, err := provision.New(provision.Options{
		Store: kept, Directory: fleetDirectory{sqlDirectory{db: db}, o.Target, cmp.Or(o.Concurrency, 4)}, Owner: o.Name, Lanes: o.Lanes,
		Lease: o.Lease, RequestTimeout: o.RequestTimeout,
		RetryInitial: 20 * time.Millisecond, RetryMax: time.Second, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Transport: fleetTransport{name: o.Name + "-" + strconv.Itoa(os.Getpid()), store: kept, pulse: pulse},
	})
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), deadline)
	defer stop()
	return e.Stop(last)
}

// fleetDirectory is a directory whose apps each have a target below the same base URL.
type fleetDirectory struct {
	sqlDirectory
	base        string
	concurrency int
}

// Target implements engine.Directory.
func (d fleetDirectory) Target(_ context.Context, app string) (engine.Target, error) {
	return engine.Target{
		BaseURL: d.base + "/" + app, Concurrency: d.concurrency, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true,
	}, nil
}

// fleetStore records the epochs of the leases of a process, and can lack a protection.
type fleetStore struct {
	store.All
	db      *sqldb.DB
	without string
	epochs  sync.Map // from an app to the epoch of its last lease
}

// Join implements store.Processes. With withoutValidity, the process assumes that the database belongs to it alone, and does not check
// whether it is still valid.
func (s *fleetStore) Join(ctx context.Context, j store.Joining) (engine.Process, []store.Takeover, error) {
	p, taken, err := s.All.Join(ctx, j)
	if s.without == withoutValidity {
		p.Until = time.Time{}
	}
	return p, taken, err
}

// Claim implements store.Leases.
func (s *fleetStore) Claim(ctx context.Context, process string, due time.Time, limit int) ([]engine.Lease, error) {
	leases, err := s.All.Claim(ctx, process, due, limit)
	s.record(leases)
	return leases, err
}

// Held implements store.Leases. The engine calls it after a claim with an unknown outcome, such as one during a failover.
func (s *fleetStore) Held(ctx context.Context, process string) ([]engine.Lease, error) {
	leases, err := s.All.Held(ctx, process)
	s.record(leases)
	return leases, err
}

func (s *fleetStore) record(leases []engine.Lease) {
	for _, l := range leases {
		s.epochs.Store(l.App, l.Epoch)
	}
}

// Start implements store.Sequences.
func (s *fleetStore) Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error {
	if s.without == withoutRecheck {
		inFlight = nil
	}
	return s.All.Start(ctx, l, intents, inFlight)
}

// Finish implements store.Sequences. With withoutFence, it repeats a rejected write with the current epoch of the lane, as if the owner of
// the lane had written it. The epoch may change before the write, so that it repeats it several times.
func (s *fleetStore) Finish(ctx context.Context, l engine.Lease, f store.Finish) (engine.Status, error) {
	status, err := s.All.Finish(ctx, l, f)
	for tries := 0; s.without == withoutFence && errors.Is(err, engine.ErrLeaseLost) && tries < 20; tries++ {
		row := s.db.Reader().QueryRow(ctx, `SELECT epoch FROM scimwright_app_lane WHERE app_id = ?`, l.App)
		if err := row.Scan(&l.Epoch); err != nil {
			return "", err
		}
		status, err = s.All.Finish(ctx, l, f)
	}
	return status, err
}

// fleetTransport adds the headers.
type fleetTransport struct {
	name  string
	store *fleetStore
	pulse *pulse
}

// pulse finds the times for which a process was stopped or got no processor.
type pulse struct {
	mu         sync.Mutex
	last       time.Time
	begun, end time.Time // of the last stall
}

// beatEvery is the interval of a pulse. If it is three times as long, the process was stalled.
const beatEvery = 10 * time.Millisecond

func newPulse(ctx context.Context) *pulse {
	now := time.Now()
	p := &pulse{last: now, begun: now, end: now}
	go func() {
		for ticker := time.NewTicker(beatEvery); ctx.Err() == nil; <-ticker.C {
			p.stall(time.Now())
		}
	}()
	return p
}

// stall returns the start and the end of the last stall until now.
func (p *pulse) stall(now time.Time) (begun, end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) >= 3*beatEvery {
		p.begun, p.end = p.last, now
	}
	p.last = now
	return p.begun, p.end
}

// RoundTrip implements http.RoundTripper.
func (t fleetTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	epoch, _ := t.store.epochs.Load(fleetApp(r.URL.Path))
	r.Header.Set(processHeader, t.name)
	r.Header.Set(epochHeader, fmt.Sprint(epoch))
	now := time.Now()
	r.Header.Set(sentHeader, strconv.FormatInt(now.UnixNano(), 10))
	begun, end := t.pulse.stall(now)
	r.Header.Set(stallHeader, strconv.FormatInt(begun.UnixNano(), 10))
	r.Header.Set(stallEndHeader, strconv.FormatInt(end.UnixNano(), 10))
	res, err := http.DefaultTransport.RoundTrip(r)
	t.pulse.stall(time.Now()) // a stall after the next check of the validity, which the response causes, begins later than the response
	return res, err
}

// fleetApp returns the app to whose target a path belongs.
func fleetApp(path string) string {
	app, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return app
}

// members are the running processes of a fleet.
type members struct {
	t      testing.TB
	orders fleetOrders
	log    lockedBuffer
	all    []*exec.Cmd
}

// startFleet starts n processes, which are killed at the end of the test if they still run.
func startFleet(t testing.TB, o fleetOrders, n int) *members {
	t.Helper()
	m := &members{t: t, orders: o, all: make([]*exec.Cmd, n)}
	for i := range m.all {
		m.restart(i)
	}
	t.Cleanup(func() {
		for _, p := range m.all {
			_ = p.Process.Signal(syscall.SIGCONT)
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return m
}

func (m *members) name(i int) string { return "engine-" + strconv.Itoa(i) }

// process returns the value of processHeader of a process.
func (m *members) process(i int) string { return m.name(i) + "-" + strconv.Itoa(m.all[i].Process.Pid) }

func (m *members) restart(i int) {
	o := m.orders
	o.Name = m.name(i)
	m.all[i] = startChild(m.t, fleetVariable, o, &m.log, &m.log)
}

// add starts another process.
func (m *members) add() {
	m.all = append(m.all, nil)
	m.restart(len(m.all) - 1)
}

// stop stops a process, which releases its lanes.
func (m *members) stop(i int) {
	m.signal(i, syscall.SIGTERM)
	if err := m.all[i].Wait(); err != nil {
		m.t.Errorf("%s: %v", m.name(i), err)
	}
}

// kill kills a process without a chance to release anything.
func (m *members) kill(i int) {
	_ = m.all[i].Process.Kill()
	_ = m.all[i].Wait()
}

func (m *members) signal(i int, s syscall.Signal) { _ = m.all[i].Process.Signal(s) }
