package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// killableVariable is the environment variable with the killable of a child process.
const killableVariable = "SCIMWRIGHT_TEST_KILLABLE"

// killable configures a daemon in a child process that can end itself at a point.
type killable struct{ DB, Listen, Ready string }

// killableMain runs a daemon until it is killed.
func killableMain(text string) int {
	var k killable
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err)
	}
	p := &points{}
	o := daemon.Options{
		DB: k.DB, Listen: k.Listen, ReadyFile: k.Ready, AdminToken: adminToken, Keys: daemon.KeyOptions{Keys: testKey},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	wrap := func(all store.All) store.All { return pointStore{All: all, p: p} }
	if _, err := daemon.Start(context.Background(), o.WithHooks(wrap, pointTransport{p}, p.handler)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

// points are the places in the work of a daemon at which it can end itself by SIGKILL.
type points struct {
	mu     sync.Mutex
	at     string         // where the process ends, empty: nowhere
	passes map[string]int // by name
	passed []string       // since the last call of arm
}

// arm sets the point, and forgets the previous passes.
func (p *points) arm(at string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.passes, p.passed = at, map[string]int{}, nil
}

// pass is called at each point. It does not return at the armed one.
func (p *points) pass(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.passes == nil {
		return // not armed yet
	}
	p.passes[name]++
	if n := p.passes[name]; n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	p.passed = append(p.passed, name)
	if name == p.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute) // until the kernel ends this thread
	}
}

func (p *points) around(name string, call func() error) error {
	p.pass("before " + name)
	err := call()
	p.pass("after " + name)
	return err
}

// pointsPath is the path at which a test arms a point, and reads the passed ones.
const pointsPath = "/test/points"

// handler adds points before each write, and after its transaction, before the response is sent.
func (p *points) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == pointsPath && r.Method == http.MethodPost:
			p.arm(r.URL.Query().Get("at"))
		case r.URL.Path == pointsPath:
			p.mu.Lock()
			defer p.mu.Unlock()
			_ = json.NewEncoder(w).Encode(p.passed)
		case r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/wait"):
			next.ServeHTTP(w, r)
		default:
			steps := strings.Split(r.URL.Path, "/")
			if len(steps) > 5 {
				steps = append(steps[:4:4], steps[5:]...) // without the id of the app
			}
			_ = p.around(r.Method+" /"+steps[len(steps)-1], func() error { next.ServeHTTP(w, r); return nil })
		}
	})
}

// pointTransport has points before a request is sent to a target or to the endpoint of webhooks, and after it was processed.
type pointTransport struct{ p *points }

func (t pointTransport) RoundTrip(r *http.Request) (res *http.Response, err error) {
	path, _, _ := strings.Cut(r.URL.Path[1:], "/")
	err = t.p.around("request "+r.Method+" /"+path, func() error {
		res, err = http.DefaultTransport.RoundTrip(r)
		return err
	})
	return res, err
}

// pointStore has points around every transaction of the engine.
type pointStore struct {
	store.All
	p *points
}

func (s pointStore) Mark(ctx context.Context, tx engine.Execer, now time.Time, marks []engine.Mark) error {
	return s.p.around("Mark", func() error { return s.All.Mark(ctx, tx, now, marks) })
}

func (s pointStore) Claim(ctx context.Context, process string, due time.Time, limit int) (leases []engine.Lease, err error) {
	err = s.p.around("Claim", func() error { leases, err = s.All.Claim(ctx, process, due, limit); return err })
	return leases, err
}

func (s pointStore) Release(ctx context.Context, l engine.Lease, hold engine.Hold, notBefore time.Time) (next time.Time, err error) {
	err = s.p.around("Release", func() error { next, err = s.All.Release(ctx, l, hold, notBefore); return err })
	return next, err
}

func (s pointStore) Start(ctx context.Context, l engine.Lease, intents []store.Intent, inFlight []engine.Principal) error {
	return s.p.around("Start", func() error { return s.All.Start(ctx, l, intents, inFlight) })
}

func (s pointStore) Begin(ctx context.Context, l engine.Lease, intents []store.Intent) error {
	return s.p.around("Begin", func() error { return s.All.Begin(ctx, l, intents) })
}

func (s pointStore) Finish(ctx context.Context, l engine.Lease, f store.Finish) (status engine.Status, err error) {
	err = s.p.around("Finish", func() error { status, err = s.All.Finish(ctx, l, f); return err })
	return status, err
}

func (s pointStore) Remove(
	ctx context.Context, l engine.Lease, kind engine.Kind, id string, now time.Time, g engine.Guard,
) (held int, err error) {
	err = s.p.around("Remove", func() error { held, err = s.All.Remove(ctx, l, kind, id, now, g); return err })
	return held, err
}

func (s pointStore) Learn(ctx context.Context, l engine.Lease, change func(*engine.Learned)) (out engine.Learned, err error) {
	err = s.p.around("Learn", func() error { out, err = s.All.Learn(ctx, l, change); return err })
	return out, err
}

func (s pointStore) SaveMembers(ctx context.Context, l engine.Lease, group string, walk int64, answers []store.MemberAnswer) error {
	return s.p.around("SaveMembers", func() error { return s.All.SaveMembers(ctx, l, group, walk, answers) })
}

func (s pointStore) EndWalk(ctx context.Context, l engine.Lease, group string, walk int64, last []store.MemberAnswer) error {
	return s.p.around("EndWalk", func() error { return s.All.EndWalk(ctx, l, group, walk, last) })
}
