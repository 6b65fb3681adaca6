package provision_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// faultPoints are named points of a process at which it can be killed or stopped. They are before and after each write to the store, before
// each read of the store, and at three places of each request. Points with the same name are numbered. The methods can be called
// concurrently.
type faultPoints struct {
	at     string         // name of the point at which the process sends itself the signal; empty: print the names of all points
	signal syscall.Signal // the signal that the process sends to itself
	reads  bool           // also include reads of the store as points

	mu        sync.Mutex
	passed    map[string]int // number of passes by name
	continued atomic.Bool    // the process was stopped and continued
}

// hit is called at each point. It does not return after SIGKILL. SIGSTOP stops all threads until SIGCONT.
func (f *faultPoints) hit(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.passed == nil {
		f.passed = map[string]int{}
	}
	f.passed[name]++
	if n := f.passed[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	if f.at == "" || f.at == name {
		_, _ = os.Stdout.WriteString(name + "\n")
	}
	if f.at == name {
		_ = syscall.Kill(os.Getpid(), f.signal)
		time.Sleep(stopTime) // the kernel stops this thread a moment later
		f.continued.Store(true)
	}
}

// stopTime is longer than the kernel takes to stop all threads after the signal. The sleep continues during the stop. If SIGCONT is sent
// later than stopTime after the signal, hit therefore returns immediately.
const stopTime = 500 * time.Millisecond

// reading adds the point of a call that only reads the store. One point is enough, because a read changes nothing.
func reading[T any](f *faultPoints, name string, call func() (T, error)) (T, error) {
	if f.reads {
		f.hit("before " + name)
	}
	return call()
}

// around adds the points of a call of the store: before it, when nothing is stored, and after it, when everything is stored.
func around[T any](f *faultPoints, name string, call func() (T, error)) (T, error) {
	f.hit("before " + name)
	v, err := call()
	f.hit("after " + name)
	return v, err
}

func (f *faultPoints) around(name string, call func() error) error {
	_, err := around(f, name, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// faultyStore has fault points around every call of a sequence or a lane.
type faultyStore struct {
	store.All
	points *faultPoints
}

func (s faultyStore) Join(ctx context.Context, j store.Joining) (p engine.Process, taken []store.Takeover, err error) {
	err = s.points.around("Join", func() error { p, taken, err = s.All.Join(ctx, j); return err })
	return p, taken, err
}

func (s faultyStore) Leave(ctx context.Context, id string, w store.When) error {
	if s.points.continued.Load() {
		return s.All.Leave(ctx, id, w) // a stopped process that ends has not reached this point in a run without a stop
	}
	return s.points.around("Leave", func() error { return s.All.Leave(ctx, id, w) })
}

func (s faultyStore) Claim(ctx context.Context, process string, due time.Time, limit int) (leases []engine.Lease, err error) {
	if s.points.continued.Load() {
		// a stopped process must not claim the lane again: the test checks what it sends under its previous lease
		return nil, nil
	}
	return around(s.points, "Claim", func() ([]engine.Lease, error) { return s.All.Claim(ctx, process, due, limit) })
}

func (s faultyStore) Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) (time.Time, error) {
	return around(s.points, "Release", func() (time.Time, error) { return s.All.Release(ctx, l, hold, notBefore) })
}

func (s faultyStore) Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error {
	return s.points.around("Start", func() error { return s.All.Start(ctx, l, intents, inFlight) })
}

func (s faultyStore) Mark(ctx context.Context, tx engine.Execer, now time.Time, marks []engine.Mark) error {
	return s.points.around("Mark", func() error { return s.All.Mark(ctx, tx, now, marks) })
}

func (s faultyStore) Due(ctx context.Context, app string, now time.Time, limit int) ([]engine.State, error) {
	return reading(s.points, "Due", func() ([]engine.State, error) { return s.All.Due(ctx, app, now, limit) })
}

func (s faultyStore) Begin(ctx context.Context, l engine.Lease, intents []store.Intent) error {
	return s.points.around("Begin", func() error { return s.All.Begin(ctx, l, intents) })
}

func (s faultyStore) Finish(ctx context.Context, l engine.Lease, f store.Finish) (engine.Status, error) {
	return around(s.points, "Finish", func() (engine.Status, error) { return s.All.Finish(ctx, l, f) })
}

func (s faultyStore) Remove(ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard) (int, error) {
	return around(s.points, "Remove", func() (int, error) { return s.All.Remove(ctx, l, kind, id, now, g) })
}

func (s faultyStore) Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (engine.Learned, error) {
	return around(s.points, "Learn", func() (engine.Learned, error) { return s.All.Learn(ctx, l, change) })
}

func (s faultyStore) Members(ctx context.Context, app string, q store.MemberQuery) ([]store.Member, error) {
	return reading(s.points, "Members", func() ([]store.Member, error) { return s.All.Members(ctx, app, q) })
}

func (s faultyStore) SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error {
	return s.points.around("SaveMembers", func() error { return s.All.SaveMembers(ctx, l, group, walk, answers) })
}

func (s faultyStore) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	return s.points.around("EndWalk", func() error { return s.All.EndWalk(ctx, l, group, walk, last) })
}

func (s faultyStore) States(ctx context.Context, q engine.StateQuery) ([]engine.State, error) {
	return reading(s.points, "States", func() ([]engine.State, error) { return s.All.States(ctx, q) })
}

func (s faultyStore) Lane(ctx context.Context, app string) (engine.Lane, error) {
	return reading(s.points, "Lane", func() (engine.Lane, error) { return s.All.Lane(ctx, app) })
}

// faultyTransport has three fault points per request: before it is sent, when the target has processed it and its response is in flight,
// and when the response was read.
type faultyTransport struct {
	base   http.RoundTripper
	points *faultPoints
	before func() // called before each request, may be nil
}

func (t faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.before != nil {
		t.before()
	}
	path, _, _ := strings.Cut(r.URL.Path[1:], "/")
	name := r.Method + " /" + path
	t.points.hit("before " + name)
	res, err := t.base.RoundTrip(r)
	t.points.hit("carried out " + name)
	if err == nil {
		res.Body = &faultyBody{ReadCloser: res.Body, end: func() { t.points.hit("answered " + name) }}
	}
	return res, err
}

type faultyBody struct {
	io.ReadCloser
	end func()
}

func (b *faultyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.end != nil {
		b.end()
		b.end = nil
	}
	return n, err
}
