package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Options configure a run. With Checks and otherwise zero values, the run is complete and may only write to a target on this machine.
type Options struct {
	// Checks are the checks to run, in order: checks.All() or a selection of them. Required, unless there are Profiles.
	Checks []Check
	// Profiles are the provisioning clients whose client flows run after the checks; see package profiles. Default: none.
	Profiles []Profile
	// ReadOnly runs only checks that create nothing.
	ReadOnly bool
	// AllowWrites permits creating and removing objects on a target that is not this machine. Default: not permitted; [Run] then returns a
	// [*ConsentError] unless ReadOnly is set.
	AllowWrites bool
	// Journal is the path of the file that lists the objects of the run. The file must not exist. It is removed at the end unless there are
	// leftovers. Default: no journal; after a crash the created objects cannot be found.
	Journal string
	// JournalStarted, if set, is called with the path when the journal is created, before the first object is created.
	JournalStarted func(path string)
	// MaxRequests is the maximum number of requests of a run, excluding cleanup. Default: 5,000.
	MaxRequests int
	// Timeout is the maximum duration of the whole run, including cleanup. Default: 5 minutes.
	Timeout time.Duration
	// RequestTimeout is the timeout of one request. Default: 15 seconds.
	RequestTimeout time.Duration
	// Rate is the maximum number of requests per second. Default: no limit. After a 429 the run always waits, whatever the rate.
	Rate float64
	// Settle is the maximum time that the suite waits for a write to become visible. If it is set, the run first creates an object and
	// measures the time until it is visible. The checks then wait that long after each write, and [Result.Lag] contains the time. Default: no
	// wait, a write must be visible immediately.
	Settle time.Duration
	// Concurrency is the maximum number of concurrent requests of a check. Default: 8.
	Concurrency int
	// UserDomain is the domain of generated user names and addresses, for targets that accept only their own domain. Default: example.com.
	UserDomain string
	// Attributes are additional attributes that the target requires in new objects, by the name of the resource type ("User", "Group"). If a
	// check sends one of them itself, the value of the check is used. A check with a finding about one of them is skipped, because the check
	// expects objects without the attribute. Attributes that identify the objects of the suite, such as userName, cannot be set.
	Attributes map[string]Doc
	// ResourceTypes are the names of the resource types to test. Default: all that the target serves.
	ResourceTypes []string
	// Seed is the seed of the checks that generate their requests (area "oracle"). Equal seeds generate equal requests, so that a finding can
	// be reproduced. Default: DefaultSeed.
	Seed uint64
	// OracleRounds is the number of rounds of these checks, each with new requests. Default: 1.
	OracleRounds int
	// Record stores every exchange of the run in [Result.Traffic]. Default: only the exchanges that show a finding are stored, with the
	// finding.
	Record bool
	// Now returns the time. Default: time.Now.
	Now func() time.Time
	// Progress, if set, is called after each check that ran.
	Progress func(done, planned int, r CheckResult)
	// Logger receives messages for the operator of the suite. Default: no log.
	Logger *slog.Logger
}

// DefaultSeed is the seed of a run without a seed: two such runs against the same target generate the same requests.
const DefaultSeed uint64 = 1

const (
	defaultMaxRequests    = 5000
	defaultTimeout        = 5 * time.Minute
	defaultRequestTimeout = 15 * time.Second
	defaultConcurrency    = 8
	defaultUserDomain     = "example.com"
	defaultOracleRounds   = 1

	// maxNamed is the maximum number of checks whose ids a caution lists.
	maxNamed = 10
	// maxUnanswered is the number of consecutive requests without a response after which the run stops.
	maxUnanswered = 3
	// cleanupShare is the share of the timeout that is reserved for cleanup: one fifth, at most maxCleanup.
	cleanupShare = 5
	maxCleanup   = 20 * time.Second
)

func (o Options) withDefaults() Options {
	o.MaxRequests = cmp.Or(o.MaxRequests, defaultMaxRequests)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	o.UserDomain = cmp.Or(o.UserDomain, defaultUserDomain)
	o.Seed = cmp.Or(o.Seed, DefaultSeed)
	o.OracleRounds = cmp.Or(o.OracleRounds, defaultOracleRounds)
	o.RequestTimeout = min(cmp.Or(o.RequestTimeout, defaultRequestTimeout), o.Timeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Run tests the target and returns the result. If the target cannot be tested, the result has the verdict [Untested], and the error is nil.
// The error is a [*UsageError] or a [*ConsentError] if the run cannot start with these options, for example because the journal cannot be
// created. Any other error means that the journal could not be written during the run; Run then also returns the result.
//
// When ctx ends, the run stops, removes what it created and returns a result with the reason.
func Run(ctx context.Context, target Target, opts Options) (*Result, error) {
	opts = opts.withDefaults()
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	if err := s.created.journal.probe(); err != nil {
		return nil, err
	}
	result := &Result{Target: s.wire.base.String(), Run: s.created.run, Seed: opts.Seed, Started: opts.Now()}
	deadline, cancel := context.WithTimeout(ctx, opts.Timeout-min(maxCleanup, opts.Timeout/cleanupShare))
	defer cancel()
	s.watchers.watches = watchesOf(opts.Checks)
	if problem := s.discover(deadline, opts.Checks); problem != "" {
		result.Verdict, result.Reason = Untested, problem
	} else {
		s.measureLag(deadline)
		s.probePermission(deadline)
		interrupted := s.runChecks(deadline, result)
		interrupted = s.runProfiles(deadline, result, interrupted)
		cleanup, done := s.cleanupContext(ctx)
		s.created.remove(cleanup, s.created.shared)
		s.created.resolve(cleanup)
		s.created.sweep(cleanup, s.created.run, s.created.journal.places)
		s.created.confirmDeletes(cleanup, deletesFail(result))
		done()
		s.fillWatched(result)
		s.conclude(result, interrupted)
	}
	result.Requests = s.wire.requests
	result.Leftovers = s.created.leftovers
	result.Lag = s.lag
	result.Traffic = s.wire.traffic
	s.wire.masker.maskResult(result, s.wire.secrets.all())
	journal, err := s.created.journal.close(len(s.created.leftovers) > 0)
	if s.created.broken != nil {
		return result, s.created.broken
	}
	result.Journal = journal
	result.Duration = opts.Now().Sub(result.Started)
	return result, err
}

// deletesFail reports whether a check of DELETE failed, so that responses to DELETE cannot be trusted.
func deletesFail(r *Result) bool {
	return slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.Check.Area() == "delete" && c.Outcome == Fail })
}

// runChecks runs the checks of the plan. It returns the reason if it stopped early, otherwise "".
func (s *session) runChecks(ctx context.Context, result *Result) (interrupted string) {
	plan := s.plan()
	for i, p := range plan.Checks[:len(s.opts.Checks)] {
		r := CheckResult{Check: p.Check, Outcome: Skip, Reason: p.Skip}
		if r.Reason == "" {
			r.Reason = s.unmet(p.Check) // the run may have detected missing permissions since the plan was made
		}
		if p.Check.Watch != nil {
			if interrupted = cmp.Or(interrupted, s.interruption(ctx)); interrupted == "" {
				s.buildWatched(ctx, p.Check)
			}
			result.Checks = append(result.Checks, r) // filled in at the end of the run
			continue
		}
		if r.Reason == "" {
			if interrupted == "" {
				interrupted = s.interruption(ctx)
			}
			if interrupted != "" {
				r.Reason = "not run: " + interrupted
			} else {
				r = s.runCheck(ctx, i, p.Check)
				if p.Check.needs(NeedWrite) && s.probePermission(ctx) {
					r = CheckResult{Check: p.Check, Outcome: Skip, Reason: s.rights.denied, Requests: r.Requests, Duration: r.Duration,
						notApplicable: true}
				}
			}
		}
		result.Checks = append(result.Checks, r)
		if s.opts.Progress != nil && p.Skip == "" {
			s.opts.Progress(i+1, len(plan.Checks), r)
		}
	}
	if interrupted == "" && ctx.Err() != nil {
		interrupted = s.overtime(ctx)
	}
	return interrupted
}

// interruption returns the reason if the run cannot continue, otherwise "".
func (s *session) interruption(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return s.overtime(ctx)
	case s.created.broken != nil:
		return s.created.broken.Error()
	case s.wire.unanswered >= maxUnanswered:
		return fmt.Sprintf("the target stopped responding: %d consecutive requests got no response", s.wire.unanswered)
	case s.wire.requests >= s.opts.MaxRequests:
		return fmt.Sprintf("the budget of %d requests is used up", s.opts.MaxRequests)
	}
	return ""
}

// runProfiles runs the client flows of the profiles. It returns the reason if it stopped early, otherwise "".
func (s *session) runProfiles(ctx context.Context, result *Result, interrupted string) string {
	planned, done := len(s.plan().Checks), len(result.Checks)
	number := 0
	for _, p := range s.opts.Profiles {
		for _, c := range p.ClientFlows {
			steps, verdict := s.runClientFlow(ctx, number, p, c, &interrupted, func(r CheckResult) {
				done++
				if s.opts.Progress != nil {
					s.opts.Progress(done, planned, r)
				}
			})
			result.Checks = append(result.Checks, steps...)
			result.Profiles = append(result.Profiles, verdict)
			number++
		}
	}
	return interrupted
}

func (s *session) overtime(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("the time limit of %s is used up", s.opts.Timeout)
	}
	return "the run was interrupted"
}

func (s *session) runCheck(ctx context.Context, number int, check Check) CheckResult {
	s.wire.checking = check.ID
	defer func() { s.wire.checking = "" }()
	start := s.opts.Now()
	t := s.attempt(ctx, number, 0, check, substitution{})
	for again := 1; s.learnSelection(ctx, t) || s.learnPlainUser(ctx, t); again++ {
		spent := t.requests
		t = s.attempt(ctx, number, len(substitutes)+again, check, substitution{})
		t.requests += spent
	}
	for round := 1; round <= len(substitutes); round++ {
		next, ok := s.substituted(ctx, t)
		if !ok {
			break
		}
		t = s.repeat(ctx, number, round, t, next)
	}
	s.settle(ctx, t)
	return CheckResult{
		Check: check, Outcome: t.outcome, Reason: t.reason, Findings: t.findings, Notes: t.notes,
		Requests: t.requests, Duration: s.opts.Now().Sub(start), notApplicable: t.notApplicable,
		BlockedBy: t.blocker(),
	}
}

// attempt runs a check with a substitution and removes the objects that it created. The round distinguishes the names of its objects from
// those of earlier attempts.
func (s *session) attempt(ctx context.Context, number, round int, check Check, x substitution) *T {
	var ledger []*Created
	prefix := fmt.Sprintf("%s-%d-", s.created.run, number+1)
	if round > 0 {
		prefix += fmt.Sprintf("r%d-", round)
	}
	t := &T{Capabilities: s.caps, session: s, check: &check, prefix: prefix, ledger: &ledger, outcome: Pass, substitution: x}
	before := s.wire.requests
	if check.Fixture != nil {
		var blocked string
		if t.Fixture, blocked = s.fixture(ctx, t, s.fixtureOf(ctx, t, check)); t.Fixture == nil {
			t.outcome, t.reason = Skip, blocked
		}
		before = s.wire.requests
	}
	if t.outcome == Pass {
		t.run(func() { check.Run(ctx, t) })
		for _, member := range t.fixtureLacks {
			t.Note("objects of the fixture %s lack %s: the target rejects it in a create and in the updates", check.Fixture.Name, x.path(member))
		}
	}
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.created.remove(cleanup, ledger)
	t.requests = s.wire.requests - before
	return t
}

// buildWatched builds the fixture of a check that watches, so that the run contains exchanges to check. A failure to build it is not a
// finding. A read-only run does not build it.
func (s *session) buildWatched(ctx context.Context, check Check) {
	if check.Fixture == nil || s.opts.ReadOnly || s.rights.denied != "" || !s.caps.Users {
		return
	}
	s.fixture(ctx, &T{Capabilities: s.caps, session: s, check: &check}, check.Fixture)
}

// conclude sets the verdict. The verdict of a run in which no check was completed is never clean.
func (s *session) conclude(result *Result, interrupted string) {
	result.interrupted, result.denied = interrupted, s.rights.denied
	result.Blocks = blocks(result.Checks)
	result.Conclude()
	s.caution(result)
}

// Conclude sets the verdict again after findings were waived. It does not change the result of a target that could not be tested at all.
func (r *Result) Conclude() {
	if len(r.Checks) == 0 {
		return
	}
	writes, wrote, passed, weighty := 0, 0, 0, 0
	for _, c := range r.Checks {
		if (c.Outcome == Fail || c.Outcome == Warn) && !c.Waived() {
			weighty++
		}
		if c.Outcome == Skip && !c.ran() {
			continue
		}
		proved := c.Outcome != Skip && c.Outcome != Error
		if proved && c.Check.Watch == nil {
			passed++ // a check with Watch sends no requests, so it proves nothing alone
		}
		if c.Check.needs(NeedWrite) {
			writes++
			if proved {
				wrote++
			}
		}
	}
	errored := r.Count(Error)
	r.Reason = ""
	switch {
	case weighty > 0:
		r.Verdict = Findings
		if r.denied != "" {
			r.Reason = r.denied + "; no check that writes was run"
		}
		if r.interrupted != "" {
			r.Reason = r.interrupted + ": the run is incomplete"
		}
	case r.interrupted != "":
		r.Verdict, r.Reason = Untested, r.interrupted+": the run is incomplete and proves nothing"
	case r.denied != "":
		r.Verdict, r.Reason = Untested, r.denied
	case errored > 0:
		r.Verdict, r.Reason = Untested, fmt.Sprintf("%s ended with an error: no findings, but not everything was tested",
			plural(errored, "check"))
	case passed == 0:
		r.Verdict, r.Reason = Untested, "every check was skipped: nothing was tested"
	case writes > 0 && wrote == 0:
		r.Verdict, r.Reason = Untested, "no check could create an object: only reading was tested; check the permissions of the credentials, "+
			"or start "+
			"a read-only run"
	case manyBlocked(r.Blocks) > 0:
		r.Verdict, r.Reason = Untested, fmt.Sprintf("%s blocked: no findings, but not everything was tested",
			plural(manyBlocked(r.Blocks), "check"))
	case len(r.Complaints) > 0:
		r.Verdict, r.Reason = Findings, "the target has no findings, but the waivers have problems"
	default:
		r.Verdict = Clean
	}
}

// caution adds cautions: limits of the run that make a clean verdict less significant.
func (s *session) caution(result *Result) {
	if s.opts.ReadOnly {
		result.Cautions = append(result.Cautions, "the run was read-only: no check that creates objects was run")
	}
	if s.opts.ReadOnly && s.caps.Users && s.caps.empty {
		result.Cautions = append(result.Cautions, "the target has no users: checks of lists, filters and single users that passed prove little")
	}
	if !s.wire.target.hasCredentials() {
		result.Cautions = append(result.Cautions, "no credentials were configured: whether the target requires them was not tested")
	}
	if !s.caps.Users {
		why := "the target serves no users"
		if len(s.opts.ResourceTypes) > 0 {
			why = "the run was limited to other resource types than User"
		}
		result.Cautions = append(result.Cautions, why+": most of the suite did not apply")
	}
	result.Cautions = append(result.Cautions, s.survey.cautions()...)
	if s.lag > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target is eventually consistent: a created object could be found after %s; the checks waited for it",
				s.lag.Round(time.Millisecond)))
	}
	if s.wire.throttled > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target limits the rate of requests: %s answered with 429 and sent again", plural(s.wire.throttled, "request")))
	}
	if caution := s.reduced.caution(); caution != "" {
		result.Cautions = append(result.Cautions, caution)
	}
	var blocked []string
	for _, c := range result.Checks {
		if c.Outcome == Skip && (c.BlockedBy != nil || c.ran() && !c.notApplicable) {
			blocked = append(blocked, c.Check.ID)
		}
	}
	if n := len(blocked); n > 0 {
		names := strings.Join(blocked[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			names += ", …"
		}
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("%s blocked without a result: %s", plural(n, "applicable check"), names))
	}
}

// ran reports whether a check sent requests.
func (c CheckResult) ran() bool { return c.Requests > 0 }

func (c Check) needs(n Need) bool {
	for _, have := range c.Needs {
		if have == n {
			return true
		}
	}
	return false
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
