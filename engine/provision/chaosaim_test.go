package provision_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// aim ends the process that sends the next change of an app, before the process gets the response.
type aim struct {
	app  string
	kind aimKind
	end  func(process string) (int, bool) // stops or kills the process, and returns its index

	ended chan int      // receives the index of the process
	apply chan bool     // receives whether the change takes effect
	done  chan struct{} // closed afterwards
}

// aimKind is what happens to the process and to its change.
type aimKind int

const (
	// aimKill: the process is killed. Its change takes effect after the next owner of the lane has sent a newer one, and earlier than the
	// time limit of a request.
	aimKill aimKind = iota
	// aimLate: the process is stopped. Another process takes over the lane, sends a newer change of the same user, rechecks the user and
	// releases the lane. Then the change takes effect, and the process continues. No process works on the lane at this time.
	aimLate
	// aimEarly is aimLate, but the change takes effect before the stop.
	aimEarly

	aimKinds
)

// aimed ends the process if the request is the one that the aim waits for. It returns the aim, or nil.
func (f *fleetTarget) aimed(app, process string, r *http.Request, body []byte) *aim {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.aim
	if a == nil || a.app != app || r.Method == http.MethodPost || !titleMember.Match(body) {
		return nil
	}
	i, ok := a.end(process)
	if !ok {
		return nil
	}
	f.aim = nil
	a.ended <- i
	return a
}

// applied waits until the change takes effect. It returns false if it does not.
func (a *aim) applied() bool { return a.kind == aimEarly || <-a.apply }

// setAim sets the aim of the next requests, nil for none.
func (f *fleetTarget) setAim(a *aim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aim = a
}

// requests returns the number of requests of an app.
func (f *fleetTarget) requests(app string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.perApp[app]
}

// title returns the title of the only user of an app on the target.
func (f *fleetTarget) title(app string) string {
	for _, u := range f.app(app).Users() {
		return u.Text("title")
	}
	return ""
}

// disturbed is a fleet whose processes are killed and stopped. The lock of a process belongs to the goroutine that kills or stops it.
type disturbed struct {
	*members
	locks []sync.Mutex
}

// end locks a process, and stops or kills it. It returns the index of the process, or false if the process is not running or is locked.
func (d *disturbed) end(process string, kind aimKind) (int, bool) {
	for i := range d.locks {
		if !d.locks[i].TryLock() {
			continue
		}
		if d.process(i) == process {
			if kind == aimKill {
				d.kill(i)
			} else {
				d.signal(i, syscall.SIGSTOP)
				waitStopped(d.all[i].Process.Pid)
			}
			return i, true
		}
		d.locks[i].Unlock()
	}
	return 0, false
}

// waitStopped waits until no thread of a process runs. Without /proc, it does not wait.
func waitStopped(pid int) {
	poll(time.Second, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if _, state, ok := bytes.Cut(text, []byte(") ")); err == nil && ok && state[0] != 'T' {
				return false
			}
		}
		return true
	})
}

// poll calls ok until it returns true, for at most the limit. It returns the last result.
func poll(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// atRest reports whether nothing is pending or scheduled in the lane of an app, rechecks included.
func atRest(t *testing.T, kept *sqlstore.Store, app string) bool {
	pending, err := kept.Pending(t.Context(), app)
	if err != nil {
		t.Error("pending:", err)
	}
	l, err := kept.Lane(t.Context(), app)
	return err == nil && pending == 0 && l.NextAt.IsZero()
}

// aimAll ends processes by aims of all kinds in turns, each at a user of an app of its own, until stop is closed. Afterwards it sends the
// apps.
func (c chaos) aimAll(t *testing.T, db *sqldb.DB, kept *sqlstore.Store, target *fleetTarget, fleet *disturbed, stop chan struct{}) chan []string {
	aimed := make(chan []string, 1)
	go func() {
		var apps []string
		defer func() { aimed <- apps }()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			app, kind := fmt.Sprint("aimed-", n), aimKind(n)%aimKinds
			apps = append(apps, app)
			r := aimRun{chaos: c, t: t, db: db, kept: kept, target: target, fleet: fleet, app: app}
			if why := r.run(kind); why != "" {
				t.Errorf("%s: %s", app, why)
				return
			}
		}
	}()
	return aimed
}

// aimRun is one aim.
type aimRun struct {
	chaos
	t      *testing.T
	db     *sqldb.DB
	kept   *sqlstore.Store
	target *fleetTarget
	fleet  *disturbed
	app    string
	title  int // of the last change
}

// run returns the reason if it cannot end a process.
func (r *aimRun) run(kind aimKind) string {
	limit := 2*deadline + 3*r.lease + r.requestTimeout
	sent := func() bool { return r.target.title(r.app) == strconv.Itoa(r.title) }
	rests := func() bool { return sent() && atRest(r.t, r.kept, r.app) }
	if !r.change() || !poll(limit, rests) {
		return "the account is not created"
	}
	a := &aim{
		app: r.app, kind: kind, end: func(process string) (int, bool) { return r.fleet.end(process, kind) },
		ended: make(chan int, 1), apply: make(chan bool, 1), done: make(chan struct{}),
	}
	r.target.setAim(a)
	defer r.target.setAim(nil)
	i := -1
	for begun := time.Now(); i < 0; {
		if time.Since(begun) > limit || !r.change() {
			return "no change reaches the target"
		}
		select {
		case i = <-a.ended:
		case <-time.After(r.lease): // another stop or a kill has locked the owner of the lane
		}
	}
	ended := time.Now()
	defer r.fleet.locks[i].Unlock()
	r.change()
	if kind == aimKill {
		poll(r.requestTimeout, sent)
		a.apply <- time.Since(ended) < r.requestTimeout
		<-a.done
		r.fleet.restart(i)
		return ""
	}
	taken := poll(limit, rests)
	a.apply <- true
	<-a.done
	requests := r.target.requests(r.app)
	r.fleet.signal(i, syscall.SIGCONT)
	if !taken {
		return "no other process takes over the lane and sends the newer change"
	}
	if *chaosWithout != "" {
		limit = 2 * r.lease
	}
	// The process requeues the user, which the owner of the lane reads. Until then it must not be killed.
	poll(limit, func() bool { return r.target.requests(r.app) > requests && rests() })
	return ""
}

// change commits a change of the user.
func (r *aimRun) change() bool {
	r.title++
	err := putUser(r.t, r.db, r.kept, r.app, "u-0", engine.Active, r.title)
	if err != nil {
		r.t.Error("change:", err)
	}
	return err == nil
}
