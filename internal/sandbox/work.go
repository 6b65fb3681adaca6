package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// drainPoll is how often a drain looks whether work is left.
const drainPoll = 10 * time.Millisecond

// work gives the management API's sandbox surface its view of the engine.
type work struct {
	engine *provision.Engine
	bridge *bridge
}

var _ sandboxapi.Work = (*work)(nil)

// poll asks until the answer is yes.
func poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		if yes, err := done(); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// syncing reports whether a sequence of a user is running, or the target has accepted a change and not carried it out yet. The latter is
// a query, which is not made for an assignment that has nothing to wait for.
func (w *work) syncing(ctx context.Context, a mgmtapi.Account) bool {
	if w.engine.Running(a.App, engine.User, a.ID) {
		return true
	}
	if !a.Waiting {
		return false
	}
	s, err := w.engine.State(ctx, a.App, engine.User, a.ID)
	return err == nil && s.Status == engine.StatusPending
}

// Drain implements sandboxapi.Work. An event that is still in the outbox counts as work, and so does what requests have left
// to do. They are counted in the order in which one becomes the other, so that none is missed.
func (w *work) Drain(ctx context.Context) (left sandboxapi.Left, err error) {
	other := 0 // work that is not the engine's
	err = poll(ctx, func() (bool, error) {
		unfinished, err := w.bridge.wanted.Unfinished(ctx)
		if err != nil {
			return false, err
		}
		other = unfinished.Total()
		due, err := w.engine.Pending(ctx)
		if err != nil {
			return false, err
		}
		left.Pending = other + due
		return left.Pending == 0, nil
	})
	if err == nil {
		err = w.engine.Wait(ctx, "") // until the last results are written down, too
	}
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return left, err
	}
	held, told := w.held(context.WithoutCancel(ctx))
	if held = min(held, other); held > 0 {
		left.Waiting = append(left.Waiting, fmt.Sprintf("held: %d users or applications; PUT /sandbox/v1/work releases them", held))
	}
	if other -= held; other > 0 {
		left.Waiting = append(left.Waiting, strconv.Itoa(other)+" changes or imports were not taken up yet")
	}
	waiting, err := waitingFor(ctx, w.bridge.wanted, w.engine, "", nil)
	left.Waiting = append(left.Waiting, waiting...)
	return left, errors.Join(ctx.Err(), told, err)
}

// held counts the users and applications with work while /sandbox/v1/work holds that work, and 0 otherwise.
func (w *work) held(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	unfinished, err := w.bridge.wanted.Unfinished(ctx)
	if err != nil || !unfinished.Held {
		return 0, err
	}
	return unfinished.Requests, nil
}

// maxTasks bounds the list of failed tasks of one app.
const maxTasks = 1000

// Tasks implements sandboxapi.Work. A task's id is the id of its principal.
func (w *work) Tasks(ctx context.Context, app string) ([]sandboxapi.Task, error) {
	found, err := w.engine.Tasks(ctx, engine.TaskQuery{App: app, Limit: maxTasks})
	if err != nil {
		return nil, err
	}
	about := make([]engine.Principal, 0, len(found))
	for _, f := range found {
		about = append(about, engine.Principal{Kind: f.Kind, ID: f.ID})
	}
	names, err := namesOf(ctx, w.bridge.wanted, w.engine, app, about)
	if err != nil {
		return nil, err
	}
	var tasks []sandboxapi.Task
	for i, f := range found {
		t := sandboxapi.Task{
			ID: f.ID, Name: names[about[i]], Status: string(f.Status), Operation: string(f.Operation), Error: f.Error, Created: f.Since,
			Attempts: f.Attempts, Next: f.NextAt, Pending: pendingOf(f.Pending),
		}
		if f.Kind == engine.User {
			t.User = f.ID
		} else {
			t.Group = f.ID
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// Retry implements sandboxapi.Work.
func (w *work) Retry(ctx context.Context, app, task string) error {
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		if err := w.engine.Retry(ctx, app, kind, task); !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	return sandboxapi.ErrNoTask
}

// Attempts implements sandboxapi.Work.
func (w *work) Attempts(ctx context.Context, q sandboxapi.AttemptQuery) ([]sandboxapi.Attempt, error) {
	query := engine.AttemptQuery{App: q.App, Before: q.Before, Limit: q.Limit}
	switch {
	case q.User != "":
		query.Kind, query.Principal = engine.User, q.User
	case q.Group != "":
		query.Kind, query.Principal = engine.Group, q.Group
	}
	list, err := w.engine.Attempts(ctx, query)
	if err != nil {
		return nil, err
	}
	out := make([]sandboxapi.Attempt, 0, len(list))
	for _, a := range list {
		t := sandboxapi.Attempt{ID: a.ID, At: a.At, Method: a.Method, Path: relativePath(a.URL), Status: a.Status, Duration: a.Duration,
			Request: a.RequestBody, Response: a.ResponseBody, Error: a.Error, Curl: a.Curl(true)}
		if a.Kind == engine.User {
			t.User = a.Principal
		} else {
			t.Group = a.Principal
		}
		out = append(out, t)
	}
	return out, nil
}

// relativePath cuts a request's URL to what follows the base URL of the target: the part from the last /Users
// or /Groups on, with the query.
func relativePath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	p := u.EscapedPath()
	for _, endpoint := range []string{"/Users", "/Groups"} {
		if i := strings.LastIndex(p, endpoint); i >= 0 {
			p = p[i:]
			break
		}
	}
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return p
}
