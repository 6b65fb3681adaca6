package webhooks

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/engine"
)

// maxRound is the number of events of one app that a round delivers before it stores the cursor.
const maxRound = 100

// state is the stored state of an endpoint at the beginning of a round.
type state struct {
	endpoint Endpoint
	keys     [][]byte
	version  int64
	failures int
	failing  int64 // since
	held     int64 // until
}

// round delivers the letters whose next attempt is not later than now, and the next events of one app.
type round struct {
	*worker
	*state
	trial   bool // the endpoint has failed: one message at a time
	letters []*message
	fresh   []*message
	app     string // of fresh
	full    bool   // there may be more events of the app
	reset   bool   // the cursor of the app belongs to events that were removed with the app
	now     time.Time

	mu        sync.Mutex
	stopped   bool // no further message is sent
	gone      bool
	delivered bool
	after     time.Duration // the longest Retry-After
	problem   string        // the last failure
}

// round delivers messages. again reports whether there may be more. Otherwise, the next retry is at the time until, zero for none.
func (w *worker) round(ctx context.Context) (again bool, until time.Time, err error) {
	if !w.valid() {
		return false, w.s.o.Now().Add(w.s.o.Lease / 4), nil
	}
	st, err := w.load(ctx)
	if err != nil {
		return false, until, err
	}
	if err := w.prepare(ctx, st); err != nil {
		return false, until, err
	}
	r := &round{worker: w, state: st, trial: st.failures >= w.s.o.HoldAfter, now: w.s.o.Now()}
	switch {
	case st.endpoint.Disabled:
		return false, until, nil
	case st.held > milli(r.now):
		return false, timeOf(st.held), nil
	}
	if r.letters, err = w.parked(ctx); err != nil {
		return false, until, err
	}
	if err := r.read(ctx); err != nil {
		if r.app != "" {
			w.offer(r.app)
		}
		return false, until, err
	}
	groups, until := r.groups()
	if len(groups) == 0 && len(r.fresh) == 0 && !r.reset {
		return false, until, nil
	}
	r.send(ctx, groups)
	cut := r.cut()
	if r.app != "" && (r.full || cut < len(r.fresh)) {
		w.offer(r.app)
	}
	// The results are stored even if ctx has ended, so that the next owner does not send these messages again.
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.s.o.Lease)
	defer cancel()
	if err := r.commit(store, cut); err != nil {
		if r.app != "" {
			w.offer(r.app)
		}
		return false, until, err
	}
	return ctx.Err() == nil, until, nil
}

// load reads the endpoint, or returns errLost.
func (w *worker) load(ctx context.Context) (*state, error) {
	var st state
	var scope, types, secrets string
	var exact, disabled int64
	err := w.s.db.Reader().QueryRow(ctx, `SELECT scope, exact, url, types, secrets, disabled, version, failures, failing_since, hold_until
		FROM {webhook_endpoint} WHERE endpoint_id = ? AND epoch = ? AND owner = ?`, w.id, w.epoch, w.s.owner).Scan(
		&scope, &exact, &st.endpoint.URL, &types, &secrets, &disabled, &st.version, &st.failures, &st.failing, &st.held)
	switch {
	case errNone(err):
		return nil, errLost
	case err != nil:
		return nil, wrapped(err, "read the endpoint "+w.id)
	}
	if err := json.Unmarshal([]byte(types), &st.endpoint.Types); err != nil {
		return nil, wrapped(err, "read the endpoint "+w.id)
	}
	if st.endpoint.Disabled = disabled == 1; exact == 1 {
		st.endpoint.App = scope
	} else {
		st.endpoint.Prefix = scope
	}
	st.keys, err = w.s.keysOf(w.id, secrets)
	return &st, err
}

// prepare reads the cursors before the first round.
func (w *worker) prepare(ctx context.Context, st *state) error {
	if w.seen != nil { // only this goroutine sets it
		return nil
	}
	rows, err := w.s.db.Reader().Query(ctx, `SELECT app_id, seq FROM {webhook_cursor} WHERE endpoint_id = ?`, w.id)
	if err != nil {
		return wrapped(err, "read cursors")
	}
	defer rows.Close()
	seen := map[string]int64{}
	for rows.Next() {
		var app string
		var seq int64
		if err := rows.Scan(&app, &seq); err != nil {
			return wrapped(err, "read cursors")
		}
		seen[app] = seq
	}
	if err := rows.Err(); err != nil {
		return wrapped(err, "read cursors")
	}
	heads, err := w.s.heads(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.scope, w.seen = &Endpoint{App: st.endpoint.App, Prefix: st.endpoint.Prefix}, seen
	w.mu.Unlock()
	w.compare(heads)
	return nil
}

// parked returns the messages that wait for a retry.
func (w *worker) parked(ctx context.Context) (out []*message, err error) {
	rows, err := w.s.db.Reader().Query(ctx, `SELECT app_id, kind, principal_id, seq, type, message_id, body, attempts, next_at, created_at
		FROM {webhook_letter} WHERE endpoint_id = ? AND dead = 0 ORDER BY app_id, seq, message_id`, w.id)
	if err != nil {
		return nil, wrapped(err, "read letters")
	}
	defer rows.Close()
	for rows.Next() {
		m := message{letter: true}
		err := rows.Scan(&m.app, &m.subject.kind, &m.subject.id, &m.seq, &m.kind, &m.id, &m.body, &m.attempts, &m.next, &m.created)
		if err != nil {
			return nil, wrapped(err, "read letters")
		}
		out = append(out, &m)
	}
	return out, wrapped(rows.Err(), "read letters")
}

// read reads the next events of one app.
func (r *round) read(ctx context.Context) error {
	limit := min(maxRound, r.s.o.MaxParked-len(r.letters))
	if r.trial {
		limit = min(1, limit)
	}
	if limit <= 0 {
		return nil
	}
	var ok bool
	if r.app, ok = r.next(); !ok {
		return nil
	}
	var seq, at int64
	err := r.s.db.Reader().QueryRow(ctx, `SELECT seq, at FROM {webhook_cursor} WHERE endpoint_id = ? AND app_id = ?`, r.id(), r.app).
		Scan(&seq, &at)
	if err != nil && !errNone(err) {
		return wrapped(err, "read a cursor")
	}
	// The event at the cursor shows whether the events are still those of the same app.
	events, err := r.events(ctx, max(seq-1, 0), limit+1)
	if err != nil {
		return err
	}
	switch {
	case seq == 0:
	case len(events) == 0, events[0].Seq == seq && at != 0 && milli(events[0].At) != at:
		r.reset, seq = true, 0
		if events, err = r.events(ctx, 0, limit+1); err != nil {
			return err
		}
	case events[0].Seq == seq:
		events = events[1:]
	}
	if len(events) > 0 && events[0].Seq > seq+1 {
		from, to := seq+1, events[0].Seq-1
		m, err := messageOf(&engine.Event{App: r.app, Seq: to, At: r.now, Type: Missed}, from, to, r.s.o.Shown)
		if err != nil {
			return err
		}
		r.fresh, r.full = []*message{m}, true
		return nil
	}
	r.full = len(events) > limit
	for i := range events[:min(len(events), limit)] {
		m, err := messageOf(&events[i], 0, 0, r.s.o.Shown)
		if err != nil {
			return err
		}
		m.skipped = !selects(r.endpoint.Types, m.kind)
		r.fresh = append(r.fresh, m)
	}
	return nil
}

func (r *round) id() string { return r.worker.id }

func (r *round) events(ctx context.Context, after int64, limit int) ([]engine.Event, error) {
	return r.s.o.Source.Events(ctx, engine.EventQuery{App: r.app, After: after, Limit: limit})
}

// groups returns the messages to send: for each user, group and app those of this subject, in order. Events of a subject with a letter
// become letters. until is the time of the first retry after now.
func (r *round) groups() (groups [][]*message, until time.Time) {
	index := map[subject]int{} // of the group; -1: the first letter of the subject waits
	var first *message         // the letter for a trial: that with the fewest attempts
	for _, m := range r.letters {
		i, known := index[m.subject]
		due := m.next <= milli(r.now)
		switch {
		case !known && due:
			index[m.subject] = len(groups)
			groups = append(groups, []*message{m})
		case !known:
			index[m.subject] = -1
			if at := timeOf(m.next); until.IsZero() || at.Before(until) {
				until = at
			}
		case i >= 0 && due:
			groups[i] = append(groups[i], m)
		}
		if !known && (first == nil || m.attempts < first.attempts) {
			first = m
		}
	}
	letters := len(groups)
	for _, m := range r.fresh {
		i, known := index[m.subject]
		switch {
		case m.skipped:
		case known && i < letters:
			m.parked = true
		case known:
			groups[i] = append(groups[i], m)
		default:
			index[m.subject] = len(groups)
			groups = append(groups, []*message{m})
		}
	}
	if !r.trial {
		return groups, until
	}
	switch {
	case len(groups) > letters:
		return groups[letters:], until // one event
	case len(r.fresh) == 0 && first != nil:
		return [][]*message{{first}}, until
	}
	return nil, until
}

// send sends the messages: those of a group in order, and several groups concurrently.
func (r *round) send(ctx context.Context, groups [][]*message) {
	var sending errgroup.Group
	sending.SetLimit(r.s.o.Concurrency)
	for _, group := range groups {
		sending.Go(func() error {
			for i, m := range group {
				if ctx.Err() != nil || !r.valid() || r.ended() {
					return nil
				}
				if m.sent = r.s.post(ctx, r.id(), r.endpoint.URL, r.keys, m); m.sent == nil {
					return nil
				}
				if r.record(m); m.sent != nil && m.sent.ok {
					continue
				}
				for _, later := range group[i+1:] {
					later.parked = !later.letter && m.sent != nil
				}
				return nil
			}
			return nil
		})
	}
	_ = sending.Wait() // returns no error
}

func (r *round) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// record counts the outcome of a message.
func (r *round) record(m *message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.sent.ok:
		r.delivered, r.failures, r.failing = true, 0, 0
		return
	case m.sent.gone:
		r.gone, r.stopped = true, true
		r.problem = m.sent.text
		m.sent = nil // not an attempt: the message waits until the endpoint is enabled
		return
	}
	r.problem = m.sent.text
	if m.attempts == 0 || r.trial { // a repeated failure of one message says nothing about the endpoint
		if r.failures++; r.failing == 0 {
			r.failing = milli(r.now)
		}
	}
	r.after = max(r.after, m.sent.after)
	if r.after > 0 || r.failures >= r.s.o.HoldAfter {
		r.stopped = true
	}
}

// cut returns the number of events that are done or become letters. The others are read again: all after the last attempt, from the first
// that was not sent.
func (r *round) cut() int {
	unsent, attempted := len(r.fresh), 0
	for i, m := range r.fresh {
		switch {
		case m.sent != nil:
			attempted = i + 1
		case !m.skipped && !m.parked && unsent == len(r.fresh):
			unsent = i
		}
	}
	return max(unsent, attempted)
}
