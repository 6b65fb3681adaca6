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

// aim stops the process that sends the next change of an app, before the process gets the response. The process continues after another
// one has taken over the lane of the app, has sent a newer change of the same user, has rechecked the user, and has released the lane. The
// result of the first process then arrives at a lane that no process works on.
type aim struct {
	app  string
	late bool                             // the change takes effect at the end of the stop, otherwise before
	stop func(process string) (int, bool) // returns the index of the process

	stopped chan int      // receives the index of the process after it was stopped
	apply   chan struct{} // closed when a late change may take effect
	done    chan struct{} // closed after the change has taken effect
}

// aimed stops the process if the request is the one that the aim waits for. It returns the aim, or nil.
func (f *fleetTarget) aimed(app, process string, r *http.Request, body []byte) *aim {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.aim
	if a == nil || a.app != app || r.Method == http.MethodPost || !titleMember.Match(body) {
		return nil
	}
	i, ok := a.stop(process)
	if !ok {
		return nil
	}
	f.aim = nil
	a.stopped <- i
	return a
}

// wait waits until the change of the aim may take effect.
func (a *aim) wait() {
	if a.late {
		<-a.apply
	}
}

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

// stopSender locks and stops a process. It returns the index of the process, or false if the process is not running or is locked.
func (d *disturbed) stopSender(process string) (int, bool) {
	for i := range d.locks {
		if !d.locks[i].TryLock() {
			continue
		}
		if d.process(i) == process {
			d.signal(i, syscall.SIGSTOP)
			waitStopped(d.all[i].Process.Pid)
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

// aimStops stops processes by aims, each at a user of an app of its own, until stop is closed. Afterwards it sends the apps. The first
// change takes effect late, the second one before the stop, and so on.
func (c chaos) aimStops(t *testing.T, db *sqldb.DB, kept *sqlstore.Store, target *fleetTarget, fleet *disturbed, stop chan struct{}) chan []string {
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
			app := fmt.Sprint("aimed-", n)
			apps = append(apps, app)
			if why := c.aimStop(t, db, kept, target, fleet, app, n%2 == 0); why != "" {
				t.Errorf("%s: %s", app, why)
				return
			}
		}
	}()
	return aimed
}

// aimStop stops one process. It returns the reason if it cannot.
func (c chaos) aimStop(t *testing.T, db *sqldb.DB, kept *sqlstore.Store, target *fleetTarget, fleet *disturbed, app string, late bool) string {
	const id = "u-0"
	limit := 2*deadline + 3*c.lease + c.requestTimeout
	title := 0
	change := func() bool {
		title++
		err := putUser(t, db, kept, app, id, engine.Active, title)
		if err != nil {
			t.Error("change:", err)
		}
		return err == nil
	}
	if !change() || !poll(limit, func() bool { return target.title(app) == "1" && atRest(t, kept, app) }) {
		return "the account is not created"
	}
	a := &aim{app: app, late: late, stop: fleet.stopSender, stopped: make(chan int, 1), apply: make(chan struct{}), done: make(chan struct{})}
	target.setAim(a)
	defer target.setAim(nil)
	stopped := -1
	for begun := time.Now(); stopped < 0; {
		if time.Since(begun) > limit || !change() {
			return "no change reaches the target"
		}
		select {
		case stopped = <-a.stopped:
		case <-time.After(c.lease): // another stop or a kill has locked the owner of the lane
		}
	}
	defer fleet.locks[stopped].Unlock()
	change()
	newest := strconv.Itoa(title)
	taken := poll(limit, func() bool { return target.title(app) == newest && atRest(t, kept, app) })
	close(a.apply)
	<-a.done
	requests := target.requests(app)
	fleet.signal(stopped, syscall.SIGCONT)
	if !taken {
		return "no other process takes over the lane and sends the newer change"
	}
	if *chaosWithout != "" {
		limit = 2 * c.lease
	}
	// The process requeues the user, which the owner of the lane reads. Until then it must not be killed.
	poll(limit, func() bool { return target.requests(app) > requests && atRest(t, kept, app) })
	return ""
}
