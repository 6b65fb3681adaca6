package suite

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/report"
)

const (
	// Limit is the time limit of a run, including the removal of its objects.
	Limit = 5 * time.Minute
	// requestLimit is the time limit of one request.
	requestLimit = 15 * time.Second
	// maxRequests is the maximum number of requests of a run.
	maxRequests = 10000
	// settle is the maximum time that a run waits for a write to become visible.
	settle = 5 * time.Second
	// endTime is the time to store the result of a run and to end its credentials.
	endTime = 10 * time.Second
)

// ErrBusy is the error of Start while another run is active.
var ErrBusy = errors.New("suite: another run is active")

// Input describes a run.
type Input struct {
	URL string
	// Token is sent as a bearer token. It is not stored.
	Token string
	// Profiles are names of profiles, as the flag --profile of scim-conformance has them. Default: rfc.
	Profiles []string
	ReadOnly bool
	// Consent permits creating and removing objects on a server of another machine.
	Consent bool
	// By is the name of the caller.
	By string
	// Done, if set, is called at the end of the run.
	Done func(ctx context.Context)
}

// Options configure a Runner. Store and Transport are required.
type Options struct {
	Store     *Store
	Transport http.RoundTripper
	// Version is the version of the suite for the reports. Default: none.
	Version string
	// Now is the clock. It is not that of the host, which an operator may move. Default: time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Runner runs tests, one at a time.
type Runner struct {
	o Options

	mu      sync.Mutex
	current *active // nil while no run is active
	closed  bool
	running sync.WaitGroup
}

// active is the run of this moment.
type active struct {
	progress Progress
	cancel   context.CancelFunc
}

// Progress is the state of the active run.
type Progress struct {
	Run
	Planned, Done int // checks
	Found         int // findings
	Requests      int
	Check         string // the last check that ran
	Journal       string // path of the file that lists the objects of the run; empty if the run creates none
	Canceling     bool
}

// New returns a runner.
func New(o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Runner{o: o}
}

// Start starts a run and returns its id. The error is a *conformance.UsageError or a *conformance.ConsentError for an input with which no
// run can start, and ErrBusy while another run is active.
func (r *Runner) Start(ctx context.Context, in Input) (id string, err error) {
	in.URL = strings.TrimSpace(in.URL)
	selected, clients, err := profiles.Select(checks.All(), in.Profiles...)
	if err != nil {
		return "", err
	}
	target := conformance.Target{URL: in.URL, Token: in.Token, Transport: r.o.Transport}
	opts := conformance.Options{
		Checks: selected, Profiles: clients, Order: checks.Order(), ReadOnly: in.ReadOnly, AllowWrites: in.Consent, MaxRequests: maxRequests,
		Timeout: Limit, RequestTimeout: requestLimit, Settle: settle, Logger: r.o.Logger,
	}
	if err := conformance.Validate(target, opts); err != nil {
		return "", err
	}
	run := Run{
		ID: strings.ToLower(rand.Text()[:12]), Target: in.URL, Profiles: strings.Join(in.Profiles, ","), ReadOnly: in.ReadOnly, By: in.By,
		Started: r.o.Now(), State: Running,
	}
	run.Profiles = cmp.Or(run.Profiles, "rfc")
	a := &active{progress: Progress{Run: run}}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	if err := r.begin(a); err != nil {
		cancel()
		return "", err
	}
	if err := r.o.Store.Begin(ctx, run); err != nil {
		cancel()
		r.end()
		return "", err
	}
	if !in.ReadOnly {
		opts.Journal = journal(run.ID)
	}
	opts.JournalStarted = func(path string) { r.change(func(p *Progress) { p.Journal = path }) }
	opts.Planned = func(p *conformance.Plan) { r.change(func(shown *Progress) { shown.Planned = len(p.Checks) }) }
	opts.Progress = func(done, planned int, c conformance.CheckResult) {
		r.change(func(p *Progress) {
			p.Done, p.Planned, p.Check = done, planned, c.Check.ID
			p.Found += len(c.Findings)
			p.Requests += c.Requests
		})
	}
	go r.run(working, a, target, opts, in.Done)
	return run.ID, nil
}

// begin makes a run the active one. Only one run is active.
func (r *Runner) begin(a *active) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil || r.closed {
		return ErrBusy
	}
	r.current = a
	r.running.Add(1)
	return nil
}

func (r *Runner) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = nil
	r.running.Done()
}

func (r *Runner) change(fn func(p *Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		fn(&r.current.progress)
	}
}

// journal returns the path of a new file for the objects of a run, empty if the directory for temporary files is not writable.
func journal(id string) string {
	path := filepath.Join(os.TempDir(), "scim-conformance-"+id+".journal")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return ""
	}
	_ = f.Close()
	_ = os.Remove(path)
	return path
}

func (r *Runner) run(ctx context.Context, a *active, target conformance.Target, opts conformance.Options, done func(context.Context)) {
	defer r.end()
	result, err := protect(func() (*conformance.Result, error) { return conformance.Run(ctx, target, opts) })
	canceled := ctx.Err() != nil
	a.cancel()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if done != nil {
		done(ending)
	}
	out := a.progress.Run
	out.State, out.Ended = Done, r.o.Now()
	if canceled {
		out.State = Canceled
	}
	var text bytes.Buffer
	if result != nil {
		out.add(result)
		err = errors.Join(err, report.JSON(&text, result, r.o.Version))
	}
	if err != nil {
		r.o.Logger.ErrorContext(ending, "conformance run", "run", out.ID, "error", err)
		out.Reason = cmp.Or(out.Reason, "The run has failed. The log of the server has the cause.")
		if result == nil {
			out.State = Failed
		}
	}
	if err := r.o.Store.End(ending, out, text.Bytes()); err != nil {
		r.o.Logger.ErrorContext(ending, "the result of a conformance run was not stored", "run", out.ID, "error", err)
	}
}

// protect converts a panic of a check to an error, so that a run cannot end the server.
func protect(fn func() (*conformance.Result, error)) (result *conformance.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return fn()
}

// Cancel stops the active run if it has this id. The run then removes its objects.
func (r *Runner) Cancel(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.current.progress.ID != id {
		return false
	}
	r.current.progress.Canceling = true
	r.current.cancel()
	return true
}

// Progress returns the state of the active run, and false if no run is active.
func (r *Runner) Progress() (Progress, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return Progress{}, false
	}
	return r.current.progress, true
}

// Close cancels the active run, and waits until it has removed its objects or until ctx ends.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	if r.current != nil {
		r.current.cancel()
	}
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() { r.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the conformance run: %w", ctx.Err())
	}
}
