package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A session is the state of one run. It belongs to one goroutine.
type session struct {
	opts  Options
	caps  *Capabilities
	shown map[string]bool // the attributes that occurred in responses, such as "/Users/nickname"
	// shownByDefault are the attributes that responses to a GET without the parameter attributes had.
	shownByDefault map[string]bool
	began          time.Time     // the start of the run, by the clock that deadlines of contexts use
	lag            time.Duration // the measured time after which the target shows a write

	lastWrite        time.Time       // the time of the last write, zero if a later request has waited until it is visible
	posted           map[string]bool // the collections and names of all objects that the run has tried to create, in lower case
	unstableOrder    bool            // lists without sortBy changed their order
	unsteadyFindings int
	recovered        int       // number of checks that were blocked by a failed request, and not blocked when repeated
	started          time.Time // the start of the run
	planned          int       // number of checks of the plan, with the steps of client flows
	done             int       // number of checks that the run has reported as progress

	wire      *wire
	created   *createdObjects
	rights    rights
	watchers  watchers
	survey    *survey // nil before the first finding that depends on it
	members   memberSurvey
	reduced   reducedForms
	selection selectionProbe
	served    servedFilters
}

func newSession(target Target, opts Options) (*session, error) {
	base, err := target.parse()
	if err != nil {
		return nil, err
	}
	if err := checkAttributes(opts.Attributes); err != nil {
		return nil, err
	}
	if !opts.ReadOnly && !opts.AllowWrites && !isLoopback(base.Hostname()) {
		return nil, &ConsentError{Host: base.Host}
	}
	run := newMarker()
	s := &session{opts: opts, shown: map[string]bool{}, shownByDefault: map[string]bool{}, posted: map[string]bool{},
		reduced: newReducedForms(), served: servedFilters{}}
	s.wire = newWire(target, base, run, &s.opts, s.received)
	s.created = newCreatedObjects(s.wire, run, &journal{path: opts.Journal, started: opts.JournalStarted,
		header: journalLine{Journal: journalVersion, Target: base.String(), Run: run, Started: opts.Now().UTC()}})
	s.created.settle = func(ctx context.Context) { s.waitForLag(ctx, Request{Method: http.MethodDelete}) }
	return s, nil
}

// received passes a response to all parts of the run that collect data from responses.
func (s *session) received(req Request, res *Response) {
	s.recordShown(req, res)
	s.selection.observe(req, res)
	s.served.observe(req, res)
	s.rights.observe(req, res)
	s.watchers.observe(&ObservedExchange{Response: res, Request: req, Capabilities: s.caps, Base: s.wire.base.String()}, s.wire.secrets)
}

// fixture returns the objects of a fixture. It builds them on the first call. If they cannot be built, it returns the reason.
func (s *session) fixture(ctx context.Context, t *T, f *Fixture) (map[string]*Created, string) {
	key := fixtureKey{f, t.substitution.key()}
	built, ok := s.created.fixtures[key]
	if !ok {
		built = &builtFixture{}
		s.created.fixtures[key] = built
		name := f.Name
		if !t.substitution.none() {
			// Objects of the same fixture without the substitution may exist. The new names must not start with the prefix of those.
			name = fmt.Sprintf("%s%d", f.Name, len(s.created.fixtures))
		}
		// If a request failed, the fixture is built again, because the target may be unsteady: the same request may succeed now.
		for n, failures := 0, -1; (n < 2 || n < maxBuilds && s.unsteady()) && built.objects == nil && s.wire.repeats.failures > failures; n++ {
			failures = s.wire.repeats.failures
			prefix := s.created.run + "-" + name + attemptMark(n) + "-"
			builder := &T{Capabilities: t.Capabilities, session: s, check: t.check, prefix: prefix, ledger: &s.created.shared, outcome: Pass,
				substitution: t.substitution, building: true}
			builder.run(func() { built.objects = f.Build(ctx, builder) })
			built.sent = builder.sent
			if built.blocked = cmp.Or(builder.stoppedBy, builder.reason); built.objects == nil {
				t.findings, t.outcome = builder.findings, graver(t.outcome, builder.outcome)
				built.by = &Blocker{What: "the fixture " + f.Name + ": " + strings.TrimPrefix(built.blocked, blockedPrefix), Exchange: builder.last}
			}
		}
		if built.objects != nil {
			t.findings, t.outcome, built.by = nil, Pass, nil
		}
	}
	t.fixtureSent, t.blockedBy = built.sent, built.by
	t.fixtureLacks = lackedBy(built.objects)
	return built.objects, built.blocked
}

// cleanupContext returns a context for removing objects that does not end with ctx. It ends after a share of the timeout.
func (s *session) cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), min(maxCleanup, s.opts.Timeout/cleanupShare))
}

// scratch calls fn with the body of a plain user, or of a group if the target serves no users, and the path to send it to. Afterwards it
// removes what fn has created.
func (s *session) scratch(ctx context.Context, name string, fn func(t *T, where string, body Doc)) {
	check := Check{ID: "discovery." + name}
	var ledger []*Created
	t := &T{Capabilities: s.caps, session: s, check: &check, prefix: s.created.run + "-" + name + "-", ledger: &ledger, outcome: Pass}
	t.run(func() {
		where, body := "/Users", t.User("probe", nil)
		if !s.caps.Users {
			where, body = "/Groups", t.Group("probe", nil)
		}
		fn(t, where, body)
	})
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.created.remove(cleanup, ledger)
}
