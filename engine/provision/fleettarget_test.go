package provision_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/enginetest"
)

// fleetTarget is a target per app that detects requests which a correct fleet does not send.
type fleetTarget struct {
	errors, lost, slow float64       // parts of the requests: 503, applied without a response, applied after slowFor
	slowFor            time.Duration // longer than a lease
	latency            func() time.Duration
	arrived            func(app, process string, at time.Time) // called for each request; may be nil

	mu      sync.Mutex
	aim     *aim // ends the sender of a request; may be nil
	apps    map[string]*enginetest.Target
	epoch   map[string]int64     // the highest epoch of each app
	owner   map[string]string    // the process of each app and epoch
	applied map[string]int       // the last title of each account
	replied map[string]time.Time // the last response about a principal to a process
	count   map[string]int
	perApp  map[string]int // number of requests
	texts   []string       // violations
	delayed sync.WaitGroup
}

func newFleetTarget() *fleetTarget {
	return &fleetTarget{
		latency: func() time.Duration { return 0 },
		apps:    map[string]*enginetest.Target{}, epoch: map[string]int64{}, owner: map[string]string{}, applied: map[string]int{},
		count: map[string]int{}, perApp: map[string]int{}, replied: map[string]time.Time{},
	}
}

// wireTime is the longest time between the last check of the validity and the arrival of a request of a process that runs.
const wireTime = 300 * time.Millisecond

// What a fleetTarget counts. The first three never happen in a correct fleet. A request that arrives after a request of a later epoch was
// sent by a process that stalled between its last check and the connection, or has stalled on the way. The transport, which sets the time
// of a request, runs after the last check, so that this time alone does not show a stall.
const (
	doubleOwner = "two processes in one epoch"
	inversion   = "an older change replaced a newer one of the same epoch"
	staleSent   = "sent although a later epoch had begun"
	staleStall  = "stalled between check and connection"
	lateEffect  = "took effect after the takeover"
)

// app returns the target of an app.
func (f *fleetTarget) app(name string) *enginetest.Target {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.apps[name]
	if t == nil {
		t = enginetest.NewTarget()
		t.Unique = true
		f.apps[name] = t
	}
	return t
}

// names returns the apps that have a target.
func (f *fleetTarget) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.apps))
}

var titleMember = regexp.MustCompile(`"title":"(\d+)"`)

// ServeHTTP implements http.Handler.
func (f *fleetTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := fleetApp(r.URL.Path)
	process := r.Header.Get(processHeader)
	epoch, _ := strconv.ParseInt(r.Header.Get(epochHeader), 10, 64)
	body, err := io.ReadAll(r.Body)
	onTheWay := time.Since(headerTime(r, sentHeader)) // of the whole request: a process may stall after the header
	about := process + " " + principalOf(r, body)
	f.arrive(name, process, about, epoch, onTheWay, r)
	if err != nil {
		return // the process was killed while it sent the request
	}
	time.Sleep(f.latency())
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.Context().Err() == nil { // otherwise the process does not wait for the response any more
			f.replied[about] = time.Now()
		}
	}()
	if a := f.aimed(name, process, r, body); a != nil {
		defer close(a.done)
		if a.applied() {
			reply(w, f.apply(name, epoch, r, body))
		}
		return
	}
	x := rand.Float64()
	if x < f.errors {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	x -= f.errors
	if x < f.slow && r.Method != http.MethodGet {
		f.delayed.Add(1)
		defer f.delayed.Done()
		time.Sleep(f.slowFor) // the target applies it although the client has disconnected
	}
	got := f.apply(name, epoch, r, body)
	if x -= f.slow; x >= 0 && x < f.lost {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
		return
	}
	reply(w, got)
}

func reply(w http.ResponseWriter, got *httptest.ResponseRecorder) {
	for key, values := range got.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes())
}

// headerTime returns the time in a header, or the zero time.
func headerTime(r *http.Request, name string) time.Time {
	n, err := strconv.ParseInt(r.Header.Get(name), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, n)
}

var (
	nameFilter = regexp.MustCompile(`userName eq "([^"]*)"`)
	nameMember = regexp.MustCompile(`"userName":"([^"]*)"`)
)

// principalOf returns what the requests of a sequence have in common: the name in a search and in the create that follows, or the path of a
// read and of the change that follows.
func principalOf(r *http.Request, body []byte) string {
	if found := nameFilter.FindStringSubmatch(r.URL.Query().Get("filter")); found != nil {
		return r.URL.Path + " " + found[1]
	}
	if found := nameMember.FindSubmatch(body); r.Method == http.MethodPost && found != nil {
		return r.URL.Path + " " + string(found[1])
	}
	return r.URL.Path
}

// stalled reports whether a process may have checked its validity before it was stalled: it was stalled on the way, or immediately before
// it sent the request. In the second case it has not checked after the stall, unless the response before, which causes the check, was sent
// later. The caller holds f.mu.
func (f *fleetTarget) stalled(about string, onTheWay time.Duration, r *http.Request) bool {
	return onTheWay > wireTime || headerTime(r, sentHeader).Sub(headerTime(r, stallEndHeader)) <= wireTime &&
		f.replied[about].Before(headerTime(r, stallHeader))
}

// arrive checks the order of epochs. about is the process and what principalOf returns.
func (f *fleetTarget) arrive(app, process, about string, epoch int64, onTheWay time.Duration, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count["requests"]++
	f.perApp[app]++
	if epoch < f.epoch[app] {
		if f.stalled(about, onTheWay, r) {
			f.count[staleStall]++
		} else {
			f.violate(staleSent, "%s: %s %s of %s: epoch %d after %d of %s, sent at %s, %s ago, last stall %s to %s, last response %s", app,
				r.Method, r.URL, about, epoch, f.epoch[app], f.owner[ownerKey(app, f.epoch[app])],
				headerTime(r, sentHeader).Format(time.StampMicro), onTheWay, headerTime(r, stallHeader).Format(time.StampMicro),
				headerTime(r, stallEndHeader).Format(time.StampMicro), f.replied[about].Format(time.StampMicro))
		}
	}
	f.epoch[app] = max(f.epoch[app], epoch)
	key := ownerKey(app, epoch)
	if o := f.owner[key]; o != "" && o != process {
		f.violate(doubleOwner, "%s: %s and %s", key, o, process)
	}
	f.owner[key] = process
	if f.arrived != nil {
		f.arrived(app, process, time.Now())
	}
}

func ownerKey(app string, epoch int64) string { return app + "/" + strconv.FormatInt(epoch, 10) }

func (f *fleetTarget) violate(what, format string, args ...any) {
	f.count[what]++
	f.texts = append(f.texts, what+": "+fmt.Sprintf(format, args...))
}

// apply passes a request to the target of the app, and checks the order of changes of an account.
func (f *fleetTarget) apply(name string, epoch int64, r *http.Request, body []byte) *httptest.ResponseRecorder {
	inner := r.Clone(context.WithoutCancel(r.Context()))
	inner.Body = io.NopCloser(bytes.NewReader(body))
	inner.URL.Path = r.URL.Path[len("/"+name):]
	got := httptest.NewRecorder()
	f.app(name).ServeHTTP(got, inner)
	found := titleMember.FindSubmatch(body)
	if r.Method == http.MethodPost || found == nil || got.Code >= 300 {
		return got
	}
	title, _ := strconv.Atoi(string(found[1]))
	f.mu.Lock()
	defer f.mu.Unlock()
	if title < f.applied[r.URL.Path] {
		if epoch < f.epoch[name] {
			f.count[lateEffect]++
		} else {
			f.violate(inversion, "%s: %d after %d in epoch %d", r.URL.Path, title, f.applied[r.URL.Path], epoch)
		}
	}
	f.applied[r.URL.Path] = title
	return got
}

// counts returns what was counted, and the violations.
func (f *fleetTarget) counts() (map[string]int, []string) {
	f.delayed.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.texts
}
