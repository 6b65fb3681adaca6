package provision

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/scim"
)

// Provision has the engine work on one principal at once, waits as WaitFor does, and returns what was done, step by step. It ends
// a back-off of the principal and a hold of its lane. When ctx ends first, e.g. because the target fails or the app is paused, its
// error comes with what was done so far.
func (e *Engine) Provision(ctx context.Context, app string, kind engine.Kind, id string, o engine.ProvisionOptions) (engine.Trace, error) {
	if err := principal.Check(app, kind, id); err != nil {
		return engine.Trace{}, err
	}
	mark := engine.Mark{App: app, Kind: kind, ID: id, Retry: true, AllMembers: o.AllMembers && kind == engine.Group}
	generation, err := e.o.Store.Requeue(ctx, e.o.Now(), mark, o.ForceSync)
	if err != nil {
		return engine.Trace{}, err
	}
	e.Wake(app)
	s, waited := e.waitFor(ctx, app, kind, id, generation)
	if waited != nil && ctx.Err() == nil {
		return engine.Trace{}, waited // the store failed, or the app is forgotten
	}
	report, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if waited != nil {
		if s, err = principal.State(report, e.o.Store, app, kind, id); err != nil {
			return engine.Trace{}, errors.Join(waited, err)
		}
	}
	t, err := e.trace(report, s, generation)
	return t, errors.Join(waited, err)
}

// trace tells the last run of a principal that began at or beyond a generation.
func (e *Engine) trace(ctx context.Context, s engine.State, generation int64) (engine.Trace, error) {
	t := engine.Trace{
		App: s.App, Kind: s.Kind, ID: s.ID, At: s.UpdatedAt, Want: s.Want, State: principal.Shown(s), Requests: []engine.Sent{},
		Operation: s.LastOperation, Outcome: s.Status.Outcome(), HTTP: s.LastStatus, Message: s.LastError,
	}
	target, err := e.o.Directory.Target(ctx, s.App)
	if err != nil {
		return t, err
	}
	if s.Kind == engine.User {
		if u, err := e.o.Directory.User(ctx, s.App, s.ID); err == nil {
			_, t.Desired = wanted(u)
		}
	} else if g, err := e.o.Directory.Group(ctx, s.App, s.ID); err == nil {
		_, t.Desired = wanted(g)
	}
	all, err := e.o.Store.Attempts(ctx, engine.AttemptQuery{App: s.App, Kind: s.Kind, Principal: s.ID})
	if err != nil {
		return t, err
	}
	run := lastRun(all, generation)
	for _, a := range run {
		t.Requests = append(t.Requests, sent(a, target.BaseURL))
	}
	addChanges(&t, replay(ctx, t.Requests), nil)
	if s.Kind == engine.Group {
		if t.Waiting, err = e.waitsOn(ctx, s); err != nil {
			return t, err
		}
	}
	t.Hold, err = e.hold(ctx, s.App, e.connection(target), t.State)
	return t, err
}

// lastRun are the exchanges of the last run, in order, of those that are given newest first.
func lastRun(all []engine.Attempt, generation int64) (run []engine.Attempt) {
	for i := len(all) - 1; i >= 0; i-- {
		if a := all[i]; a.Gen >= generation && a.Run == all[0].Run {
			run = append(run, a)
		}
	}
	return run
}

func sent(a engine.Attempt, base string) engine.Sent {
	s := engine.Sent{
		Method: a.Method, Path: a.URL, IfMatch: a.RequestHeader.Get("If-Match"), Body: a.RequestBody, Status: a.Status, Answer: a.ResponseBody,
		Error: a.Error, At: a.At, Took: a.Duration,
	}
	if path, ok := strings.CutPrefix(a.URL, strings.TrimRight(base, "/")); ok {
		s.Path = path
	}
	return s
}

// replay tells what was written: it rehearses what was sent and answered with success, with the answers to the reads as they were
// recorded. What an account was afterwards is taken from the last answer that shows it, if there is one: the target may not have
// kept what it was sent.
func replay(ctx context.Context, all []engine.Sent) []rehearse.Change {
	recorded := &recording{}
	c := rehearse.New(recorded, rehearse.Options{})
	for _, s := range all {
		body, err := scim.Decode([]byte(s.Body))
		if s.Error != "" || s.Status < 200 || s.Status > 299 || s.Status == http.StatusAccepted || s.Body != "" && err != nil {
			continue
		}
		recorded.answer.Status = s.Status
		recorded.answer.Body, _ = scim.Decode([]byte(s.Answer)) // one that was cut tells nothing
		if s.Method != http.MethodGet {
			recorded.answer = unread(s.Path)
		}
		c.Do(ctx, plan.Request{Method: s.Method, Path: s.Path, Body: body})
	}
	changes := c.Changes()
	if len(changes) == 0 {
		return nil
	}
	last := &changes[len(changes)-1]
	known := last.Before == nil || last.Before.Text("userName") != ""
	if shown := lastShown(all); last.Endpoint == "Users" && known && shown != nil {
		last.After = shown
	}
	return changes
}

// lastShown is the account that the last answer shows, nil when it shows none.
func lastShown(all []engine.Sent) *scim.Resource {
	if len(all) == 0 {
		return nil
	}
	shown, err := scim.DecodeResource([]byte(all[len(all)-1].Answer))
	if err != nil || shown.Text("userName") == "" {
		return nil
	}
	return shown
}

// recording answers as was recorded.
type recording struct{ answer plan.Response }

// Do implements rehearse.Target.
func (r *recording) Do(context.Context, plan.Request) plan.Response { return r.answer }

// unread stands for a resource that was changed without being read: nothing but its id is known.
func unread(path string) plan.Response {
	id, _ := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	return plan.Response{Status: http.StatusOK, Body: scim.NewObject(scim.Member{Name: "id", Value: id})}
}

// waitsOn are the users of a group that have no account yet, the first MaxNamed of them.
func (e *Engine) waitsOn(ctx context.Context, s engine.State) (users []string, err error) {
	after := ""
	for {
		page, err := e.o.Store.Members(ctx, s.App, engine.MemberQuery{Group: s.ID, Which: engine.MembersPending, After: after, Limit: directory.Page})
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.Want && m.RemoteID == "" && len(users) < engine.MaxNamed {
				users = append(users, m.User)
			}
		}
		if len(page) < directory.Page || len(users) == engine.MaxNamed {
			return users, nil
		}
		after = page[len(page)-1].User
	}
}
