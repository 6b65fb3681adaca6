package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/rehearse"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// DryRun tells what the engine would do now about one principal, with the exact requests, without doing it: reads go to the
// target, writes are pretended, nothing is stored and no lane is taken. A principal that was never marked is rehearsed as if it
// were marked now. What the directory or the target cannot tell is in Trace.Message, as it would be in State.LastError; the error
// is about the app (ErrUnknownApp) or the store.
//
// The target may answer otherwise than is pretended: it may refuse, alter what it is sent, or answer without the resource, which
// is then read back.
func (e *Engine) DryRun(ctx context.Context, app string, kind engine.Kind, id string) (engine.Trace, error) {
	x, err := e.rehearsal(ctx, app, nil)
	if err != nil {
		return engine.Trace{}, err
	}
	r, err := x.one(ctx, kind, id, rehearsalOptions{})
	if err != nil {
		return engine.Trace{}, err
	}
	trace := r.trace()
	trace.Hold, err = e.hold(ctx, app, x.connection, trace.State)
	return trace, err
}

// rehearsal is what takes the place of a lane.
type rehearsal struct {
	app        string
	w          *work // of an engine that asks the directory of the rehearsal
	connection *connection
	known      engine.Learned
}

// rehearsal prepares to rehearse principals of an app under a directory of its own, or (nil) under the engine's.
func (e *Engine) rehearsal(ctx context.Context, app string, d engine.Directory) (*rehearsal, error) {
	o, pace := e.o, e.pace(app)
	if d != nil {
		o.Directory = d
		pace = lane.NewRateLimiter(o.Now) // what a candidate allows must not change how fast the lane works
	}
	t, err := o.Directory.Target(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	x := &rehearsal{app: app, connection: e.connection(t)}
	x.w = &work{e: &Engine{o: o, backoff: e.backoff, network: e.network}, pace: pace}
	row, err := e.o.Store.Lane(ctx, app)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	if x.known = row.Learned; x.known.BaseURL != t.BaseURL {
		x.known = engine.Learned{BaseURL: t.BaseURL}
	}
	x.known = x.known.UsedFor(t)
	x.w.pace.Resume(x.known.Rate)
	x.w.pace.Allow(t.Rate, t.Burst)
	if x.connection.client != nil && !configured(x.known, t.Style, o.Now()) {
		if config := readConfig(ctx, x.connection.client, o.Now()); config != nil {
			x.known.Config = config
		}
	}
	return x, nil
}

// hold says why nothing is sent at the moment.
func (e *Engine) hold(ctx context.Context, app string, c *connection, s engine.PrincipalState) (string, error) {
	l, err := e.o.Store.Lane(ctx, app)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return "", err
	}
	now := e.o.Now()
	switch rest := c.rest(now); {
	case c.target.Paused:
		return "the app is paused", nil
	case rest.Reason != "":
		return fmt.Sprintf("%s until %s", rest.Reason, rest.Until.Format(time.RFC3339)), nil
	case l.Hold.Kind != engine.HoldNone && l.Hold.Until.After(now):
		return fmt.Sprintf("%s until %s: %s", l.Hold.Kind, l.Hold.Until.Format(time.RFC3339), l.Hold.Reason), nil
	case s.NextAt.After(now):
		return "it is tried again at " + s.NextAt.Format(time.RFC3339), nil
	}
	return "", nil
}

// rehearsalOptions says under which assumptions a principal is rehearsed.
type rehearsalOptions struct {
	marked    bool // as after a mark, of groups with all members
	unguarded bool // the deletion guard is not asked
	unsure    bool // the name that a group has at the target is not believed
	unwaiting bool // what the target has accepted is compared too, and not waited for
}

// one rehearses a principal.
func (x *rehearsal) one(ctx context.Context, kind engine.Kind, id string, o rehearsalOptions) (*run, error) {
	if err := principal.Check(x.app, kind, id); err != nil {
		return nil, err
	}
	row, err := principal.State(ctx, x.w.e.o.Store, x.app, kind, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		row = engine.State{App: x.app, Kind: kind, ID: id}
	case err != nil:
		return nil, err
	}
	d := &dry{before: row, at: x.w.e.o.Now(), unguarded: o.unguarded}
	if o.marked {
		if row.Desired++; kind == engine.Group {
			row.Full = row.Desired
		}
	}
	if o.unwaiting {
		row.Pending = nil
	}
	if o.unsure && kind == engine.Group {
		row.RemoteName = ""
	}
	known := x.known
	known.Traits = maps.Clone(known.Traits)
	r := &run{connection: x.connection, w: x.w, known: known, row: row, dry: d}
	switch {
	case r.broken != nil:
		r.outcome = r.keep(cannot(engine.Denied, "the connection is not configured: %v", r.broken))
	case kind == engine.User:
		err = r.user(ctx)
	default:
		err = r.group(ctx)
	}
	return r, err
}

// dry is what a run that stores and sends nothing keeps instead.
type dry struct {
	before    engine.State
	at        time.Time
	unguarded bool
	client    *rehearse.Client // nil when no sequence was begun
	roster    []engine.Member  // of a group, ascending by user
}

// begun is a state as Store.Begin leaves it.
func begun(s engine.State, i engine.Intent) engine.State {
	if i.Want == engine.Active {
		if s.Kind == engine.Group && (s.Want == engine.Inactive || s.Want == engine.Absent) {
			s.Full = s.Desired
		}
		s.Activating = s.Activating || !s.MayExist
	}
	if s.RemoteID == "" && !s.MayExist && i.Name != "" {
		s.RemoteName = i.Name
	}
	s.MayExist = s.MayExist || i.Want == engine.Active
	s.Want, s.Manager = i.Want, cmp.Or(i.Manager, s.Manager)
	return s
}

// paced is a target that is asked no faster than it takes.
type paced struct {
	client *connect.Client
	pace   *lane.RateLimiter
}

// Do implements rehearse.Target.
func (p paced) Do(ctx context.Context, r plan.Request) plan.Response {
	if r.Method != http.MethodGet {
		return plan.Response{Err: fmt.Errorf("engine: a rehearsal sends no %s", r.Method)}
	}
	if err := p.pace.Wait(ctx); err != nil {
		return plan.Response{Err: err}
	}
	return p.client.Do(ctx, r)
}

// rehearse runs a sequence to its end without writing.
func (r *run) rehearse(ctx context.Context, s *plan.Sequence, secrets ...string) {
	c := rehearse.New(paced{r.client, r.w.pace}, rehearse.Options{Secrets: secrets, Redact: r.client.Redact, MaxBody: wirelog.DefaultMaxBody})
	r.dry.client = c
	step := s.Step()
	for step.Outcome == nil {
		if why := r.stop(ctx, *step.Request); why != nil {
			step = s.Stop(*why)
			continue
		}
		r.noteAlternative(*step.Request)
		step = s.Feed(c.Do(ctx, *step.Request))
	}
	r.outcome = r.withAlternatives(*step.Outcome)
	r.outcome.Message = r.client.Redact(r.outcome.Message)
}

// rehearseMembers does what members does, in memory.
func (r *run) rehearseMembers(ctx context.Context, in *plan.GroupInput) error {
	rows := map[string]engine.Member{}
	err := r.each(ctx, engine.MembersAll, func(page []engine.Member) error {
		for _, m := range page {
			rows[m.User] = m
		}
		return nil
	})
	if err != nil {
		return err
	}
	if in.Full || in.RemoteID == "" {
		if err := r.rehearseWalk(ctx, rows); err != nil || r.outcome.Class != "" {
			return err
		}
	}
	if err := r.rehearseAnswer(ctx, rows); err != nil || r.outcome.Class != "" {
		return err
	}
	for _, user := range slices.Sorted(maps.Keys(rows)) {
		m := rows[user]
		r.dry.roster = append(r.dry.roster, m)
		switch {
		case m.Want == m.Pushed && !m.MayBeMember:
		case !m.Want:
			in.Remove = append(in.Remove, engine.RemoteMember{User: m.User, ID: m.PushedID})
		case m.RemoteID == "":
			r.waiting.on(m.User)
		default:
			in.Add = append(in.Add, engine.RemoteMember{User: m.User, ID: m.RemoteID, Display: m.RemoteName})
		}
	}
	return nil
}

// rehearseWalk does what walk does, in memory.
func (r *run) rehearseWalk(ctx context.Context, rows map[string]engine.Member) error {
	users, err := allMembers(ctx, r.w.e.o.Directory, r.row.App, r.row.ID)
	if err != nil {
		r.directoryFailed(err)
		return nil
	}
	var strangers []string
	for _, user := range users {
		if _, known := rows[user]; !known {
			strangers = append(strangers, user)
		}
	}
	for page := range slices.Chunk(strangers, directory.Page) {
		states, err := r.w.e.o.Store.StatesByID(ctx, r.row.App, engine.User, page)
		if err != nil {
			return err
		}
		for _, user := range page {
			rows[user] = engine.Member{User: user}
		}
		for _, s := range states {
			rows[s.ID] = engine.Member{User: s.ID, RemoteID: s.RemoteID, RemoteName: s.RemoteName}
		}
	}
	for user, m := range rows {
		_, m.Want = slices.BinarySearch(users, user)
		rows[user] = m
	}
	return nil
}

// rehearseAnswer does what answer does, in memory.
func (r *run) rehearseAnswer(ctx context.Context, rows map[string]engine.Member) error {
	var asked []string
	for _, user := range slices.Sorted(maps.Keys(rows)) {
		if rows[user].Asked > 0 {
			asked = append(asked, user)
		}
	}
	for page := range slices.Chunk(asked, directory.Page) {
		in, err := r.w.e.o.Directory.IsMember(ctx, r.row.App, r.row.ID, page)
		if err != nil {
			r.directoryFailed(err)
			return nil
		}
		for _, user := range page {
			m := rows[user]
			m.Want = in[user]
			rows[user] = m
		}
	}
	return nil
}

// accounts are all members of the group that have an account at the target.
func (d *dry) accounts() (all []engine.RemoteMember) {
	for _, m := range d.roster {
		if m.Want && m.RemoteID != "" {
			all = append(all, engine.RemoteMember{User: m.User, ID: m.RemoteID, Display: m.RemoteName})
		}
	}
	return all
}

// trace tells a rehearsal.
func (r *run) trace() engine.Trace {
	d, o := r.dry, r.outcome
	t := engine.Trace{
		App: r.row.App, Kind: r.row.Kind, ID: r.row.ID, Rehearsed: true, At: d.at, State: principal.Shown(d.before), Requests: []engine.Sent{},
		Operation: o.Operation, Outcome: o.Class, HTTP: o.Status, Message: cmp.Or(o.Message, r.waiting.String()),
	}
	t.Want, t.Desired = wanted(r.desired)
	for _, m := range d.roster {
		if m.Want && m.RemoteID == "" && len(t.Waiting) < engine.MaxNamed {
			t.Waiting = append(t.Waiting, m.User)
		}
	}
	if d.client == nil {
		return t
	}
	for _, q := range d.client.Requests() {
		t.Requests = append(t.Requests, engine.Sent{
			Method: q.Method, Path: q.Path, IfMatch: q.IfMatch, Body: q.Body, Pretended: q.Pretended, Status: q.Status, Answer: q.Answer, Error: q.Error,
		})
	}
	addChanges(&t, d.client.Changes(), d.roster)
	return t
}

// addChanges compares what was written with what it was before. roster are the members that the engine knows.
func addChanges(t *engine.Trace, all []rehearse.Change, roster []engine.Member) {
	users := make(map[string]engine.Member, len(roster))
	for _, m := range roster {
		if m.PushedID != "" {
			users[m.PushedID] = m
		}
	}
	for _, m := range roster {
		if m.RemoteID != "" {
			users[m.RemoteID] = m
		}
	}
	for _, c := range all {
		t.Diff = append(t.Diff, differences(c.Before, c.After)...)
		if t.Kind == engine.Group {
			t.Members = mergeDiffs(t.Members, memberDiff(c.Before, c.After, users))
		}
	}
}

// wanted is what a directory said, without secrets.
func wanted(desired any) (engine.Want, *scim.Resource) {
	switch d := desired.(type) {
	case engine.UserState:
		if d.Resource == nil {
			return d.Want, nil
		}
		r := &scim.Resource{}
		for name, value := range d.Resource.All() {
			if !scim.EqualName(name, "password") {
				r.Set(name, unveiled(name, value))
			}
		}
		return d.Want, r
	case engine.GroupState:
		r := &scim.Resource{}
		r.Set("displayName", d.DisplayName)
		return d.Want, r
	}
	return "", nil
}

// allMembers is directory.Members at once.
func allMembers(ctx context.Context, d engine.Directory, app, group string) (all []string, err error) {
	for page, err := range directory.Members(ctx, d, app, group) {
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}
