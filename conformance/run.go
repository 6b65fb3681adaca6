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

	"github.com/scimwright/scimwright/internal/counted"
)

// Options configure a run. With Checks and otherwise zero values, the run is complete and may only write to a target on this machine.
type Options struct {
	// Checks are the checks to run: checks.All() or a selection of them. Result.Checks has their order. Required, unless there are Profiles.
	Checks []Check
	// Order is the order in which the run executes the checks. The value of checks.Order() begins with what every client needs. Default:
	// the order of Checks, and after them the client flows.
	Order []Phase
	// Profiles are the provisioning clients whose client flows run after the checks; see package profiles. Default: none.
	Profiles []Profile
	// ReadOnly runs only checks that create nothing.
	ReadOnly bool
	// AllowWrites permits creating and removing objects on a target that is not this machine. Default: not permitted; [Run] then returns a
	// [*ConsentError] unless ReadOnly is set.
	AllowWrites bool
	// KeepGoing runs all checks although the target deletes no objects, so that all created objects remain as [Result.Leftovers]. Default:
	// if the target rejects the first DELETE of an object in a collection, or the DELETE has no effect, the run skips the checks that create
	// objects in this collection, and the client flows share objects. At most 5 objects then remain.
	KeepGoing bool
	// Journal is the path of the file that lists the objects of the run. The file must not exist. It is removed at the end unless there are
	// leftovers. Default: no journal; after a crash the created objects cannot be found.
	Journal string
	// JournalStarted, if set, is called with the path when the journal is created, before the first object is created.
	JournalStarted func(path string)
	// MaxRequests is the maximum number of requests of a run, excluding cleanup. Default: 5,000.
	MaxRequests int
	// Timeout is the maximum duration of the whole run, including cleanup. Default: 5 minutes.
	Timeout time.Duration
	// LimitNames are what the reasons of an incomplete run call Timeout and MaxRequests, such as the flags of a command. Default: no names.
	LimitNames LimitNames
	// RequestTimeout is the timeout of one request. The repeat of a request that has timed out waits three times as long. Default: 15 seconds.
	RequestTimeout time.Duration
	// Rate is the maximum number of requests per second. Default: no limit. After a 429 the run always waits, whatever the rate.
	Rate float64
	// Settle is the maximum time that the suite waits for a write to become visible. A run that writes first creates objects and measures the
	// time until one is visible. The checks then wait that long after each write, and [Result.Lag] contains the time. Default: 2 seconds.
	Settle time.Duration
	// Unmeasured omits the measurement of the steadiness before the checks: eleven requests, three of which create objects. The run then does
	// not wait for delayed writes. Default: measured.
	Unmeasured bool
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
	// Planned, if set, is called once before the first check, with the plan of the run and the estimate of its duration.
	Planned func(p *Plan)
	// Progress, if set, is called after each check that ran.
	Progress func(done, planned int, r CheckResult)
	// Logger receives messages for the operator of the suite. Default: no log.
	Logger *slog.Logger
}

// LimitNames are names of the limits of a run for its reasons: "the time limit of 5m0s (--timeout) is used up".
type LimitNames struct{ Timeout, MaxRequests string }

// usedUp returns the reason of a run that has reached a limit.
func usedUp(limit, name string) string {
	if name != "" {
		limit += " (" + name + ")"
	}
	return limit + " is used up"
}

// budgetUsedUp returns the reason of a run that has sent Options.MaxRequests requests.
func (o Options) budgetUsedUp() string {
	return usedUp("the budget of "+counted.Of(o.MaxRequests, "request"), o.LimitNames.MaxRequests)
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
	o.Settle = cmp.Or(o.Settle, defaultSettle)
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
	s.started = result.Started
	deadline, cancel := context.WithTimeout(ctx, opts.checkTime())
	defer cancel()
	s.began = time.Now()
	s.watchers.watches = watchesOf(opts.Checks)
	if problem := s.discover(deadline, opts.Checks); problem != "" {
		result.Verdict, result.Reason = Untested, problem
	} else {
		s.measureSteadiness(deadline)
		s.probePermission(deadline)
		interrupted := s.runChecks(deadline, result)
		cleanup, done := s.cleanupContext(ctx)
		s.created.cleanUp(cleanup, deletesFail(result))
		done()
		s.fillWatched(result)
		s.conclude(result, interrupted)
	}
	result.Requests = s.wire.requests
	result.Leftovers = s.created.leftovers
	result.Lag, result.Steadiness = s.lag, s.steadiness()
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

// Validate returns the error with which [Run] would not start because of the target or the options: a [*UsageError] or a [*ConsentError].
// It sends no request.
func Validate(target Target, opts Options) error {
	_, err := newSession(target, opts.withDefaults())
	return err
}

// deletesFail reports whether a check of DELETE failed, so that responses to DELETE cannot be trusted.
func deletesFail(r *Result) bool {
	return slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.Check.Area() == "delete" && c.Outcome == Fail })
}

// checkTime returns the part of the timeout that is not reserved for cleanup.
func (o Options) checkTime() time.Duration {
	return o.Timeout - min(maxCleanup, o.Timeout/cleanupShare)
}

// runChecks runs the checks and the client flows in the order of the plan. It returns the reason if it stopped early, otherwise "".
func (s *session) runChecks(ctx context.Context, result *Result) (interrupted string) {
	plan := s.plan()
	if s.opts.Planned != nil {
		s.opts.Planned(plan)
	}
	s.planned = len(plan.Checks)
	own := len(s.opts.Checks)
	result.Checks = make([]CheckResult, own, len(plan.Checks))
	for _, i := range plan.Order {
		if i >= own { // i is the first step of the client flows. Their order is fixed, so all of them run now.
			if result.Profiles == nil {
				interrupted = s.runProfiles(ctx, result, interrupted)
			}
			continue
		}
		p := plan.Checks[i]
		r := CheckResult{Check: p.Check, Outcome: Skip, Reason: p.Skip}
		if r.Reason == "" {
			r.Reason = s.unmet(p.Check) // since the plan was made, the run may have detected that the credentials do not permit writes
		}
		if p.Check.Watch != nil {
			if interrupted = cmp.Or(interrupted, s.interruption(ctx)); interrupted == "" {
				s.buildWatched(ctx, p.Check)
			}
			result.Checks[i] = r // a placeholder: the result of a check with Watch is complete at the end of the run
			continue
		}
		if r.Reason == "" {
			if interrupted == "" {
				interrupted = s.interruption(ctx)
			}
			if interrupted != "" {
				r.Reason = notRun + interrupted
			} else if r.Reason = s.prepareWrites(ctx, p.Check); r.Reason == "" {
				r = s.runCheck(ctx, i, p.Check)
				if p.Check.needs(NeedWrite) && s.probePermission(ctx) {
					r = CheckResult{Check: p.Check, Outcome: Skip, Reason: s.rights.denied, Requests: r.Requests, Duration: r.Duration,
						notApplicable: true}
				}
			}
		}
		result.Checks[i] = r
		s.progress(r, p.Skip == "")
	}
	if interrupted == "" && s.late(ctx) {
		interrupted = s.overtime(ctx)
	}
	return interrupted
}

// progress counts a check of the plan, and reports it if it ran.
func (s *session) progress(r CheckResult, ran bool) {
	s.done++
	if s.opts.Progress != nil && ran {
		s.opts.Progress(s.done, s.planned, r)
	}
}

// interruption returns the reason if the run cannot continue, otherwise "".
func (s *session) interruption(ctx context.Context) string {
	switch {
	case s.late(ctx):
		return s.overtime(ctx)
	case s.created.broken != nil:
		return s.created.broken.Error()
	case s.wire.unanswered >= maxUnanswered:
		return fmt.Sprintf("the target stopped responding: %d consecutive requests got no response", s.wire.unanswered)
	case s.wire.requests >= s.opts.MaxRequests:
		return s.opts.budgetUsedUp()
	}
	return ""
}

// runProfiles runs the client flows of the profiles. It returns the reason if it stopped early, otherwise "".
func (s *session) runProfiles(ctx context.Context, result *Result, interrupted string) string {
	number := 0
	for _, p := range s.opts.Profiles {
		for _, c := range p.ClientFlows {
			steps, verdict := s.runClientFlow(ctx, number, p, c, &interrupted, func(r CheckResult) { s.progress(r, true) })
			verdict.Steps = steps
			result.Profiles = append(result.Profiles, verdict)
			number++
		}
	}
	return interrupted
}

// late reports whether the time of the run is over, or will be over before Options.Rate permits another request.
func (s *session) late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && s.opts.Rate > 0 && time.Until(deadline).Seconds() < 1/s.opts.Rate
}

func (s *session) overtime(ctx context.Context) string {
	if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return usedUp(fmt.Sprintf("the time limit of %s", s.opts.Timeout), s.opts.LimitNames.Timeout)
	}
	return "the run was interrupted"
}

// attempt runs a check once. If the target does not store attributes of users that the check sends, attempt runs the check again with other
// attributes. n is the number of the attempt; each attempt creates objects with different names.
func (s *session) attempt(ctx context.Context, number int, check Check, n int) attempt {
	s.wire.checking = check.ID
	defer func() { s.wire.checking = "" }()
	start, failures := s.opts.Now(), s.wire.repeats.failures
	e := execution{number: number, attempt: n, check: check}
	t := s.execute(ctx, e)
	hung := t.hung
	for again := 1; s.learnSelection(ctx, t) || s.learnPlainUser(ctx, t); again++ {
		spent := t.requests
		e.round = len(substitutes) + again
		t = s.execute(ctx, e)
		t.requests += spent
		hung = hung || t.hung
	}
	for e.round = 1; e.round <= len(substitutes); e.round++ {
		next, ok := s.substituted(ctx, t)
		if !ok {
			break
		}
		e.substitution = next
		t = s.repeat(ctx, e, t)
		hung = hung || t.hung
	}
	s.settle(ctx, t)
	s.settleMembers(ctx, t)
	a := attempt{disturbed: s.wire.repeats.failures > failures, hung: hung, CheckResult: CheckResult{
		Check: check, Outcome: t.outcome, Reason: t.reason, Findings: t.findings, Notes: t.notes,
		Requests: t.requests, Duration: s.opts.Now().Sub(start), notApplicable: t.notApplicable,
		BlockedBy: t.blocker(),
	}}
	for _, f := range t.findings {
		a.keys = append(a.keys, t.key(f))
	}
	return a
}

// An execution is one call of the Run of a check. attempt and round are part of the names of its objects, so that the names differ from
// those of other executions. round is 0 in the first call, and 1 larger after
// each new substitution of attributes.
type execution struct {
	number, attempt, round int
	check                  Check
	substitution           substitution
}

// execute calls the Run of a check, and removes the objects that it created.
func (s *session) execute(ctx context.Context, e execution) *T {
	var ledger []*Created
	prefix := fmt.Sprintf("%s-%d%s-", s.created.run, e.number+1, attemptMark(e.attempt))
	if e.round > 0 {
		prefix += fmt.Sprintf("r%d-", e.round)
	}
	t := &T{Capabilities: s.caps, session: s, check: &e.check, prefix: prefix, ledger: &ledger, outcome: Pass, substitution: e.substitution}
	before := s.wire.requests
	if e.check.Fixture != nil {
		var blocked string
		if t.Fixture, blocked = s.fixture(ctx, t, s.fixtureOf(ctx, t, e.check)); t.Fixture == nil {
			t.outcome, t.reason = graver(t.outcome, Skip), blocked
		}
		before = s.wire.requests
	}
	if t.outcome == Pass {
		t.run(func() { e.check.Run(ctx, t) })
		t.control()
		for _, member := range t.fixtureLacks {
			t.Note("objects of the fixture %s lack %s: the target rejects it in a create and in the updates", e.check.Fixture.Name,
				e.substitution.path(member))
		}
	}
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.created.remove(cleanup, ledger)
	t.requests = s.wire.requests - before
	return t
}

// attemptMark returns the part of names that distinguishes the n-th repetition of a check: "", "b", "c".
func attemptMark(n int) string {
	if n == 0 {
		return ""
	}
	return string(rune('a' + n))
}

// buildWatched builds the fixture of a check that watches, so that the run contains exchanges to check. A failure to build it is not a
// finding. A read-only run does not build it.
func (s *session) buildWatched(ctx context.Context, check Check) {
	if check.Fixture == nil || s.opts.ReadOnly || s.rights.denied != "" || !s.caps.Users {
		return
	}
	if s.prepareWrites(ctx, check) != "" {
		return
	}
	s.fixture(ctx, &T{Capabilities: s.caps, session: s, check: &check}, check.Fixture)
}

// conclude sets the verdict. The verdict of a run in which no check was completed is never clean.
func (s *session) conclude(result *Result, interrupted string) {
	result.interrupted, result.denied = interrupted, s.rights.denied
	result.undeletable = s.undeletable()
	result.Blocks = blocks(result.Checks)
	result.Conclude()
	s.caution(result)
}

// Conclude sets the verdict again after findings were waived. It does not change the result of a target that could not be tested at all.
func (r *Result) Conclude() {
	if len(r.Checks)+len(r.Profiles) == 0 {
		return
	}
	writes, wrote, passed, weighty, errored := 0, 0, 0, 0, 0
	for c := range r.All() {
		if c.Outcome == Error {
			errored++
		}
		if (c.Outcome == Fail || c.Outcome == Warn) && !c.Waived() {
			weighty++
		}
		if c.Outcome == Skip && !c.ran() {
			continue
		}
		proved := c.Outcome != Skip && c.Outcome != Error
		if proved && c.Check.Watch == nil {
			passed++ // a check with Watch sends no requests: without other completed checks, the run has tested nothing
		}
		if c.Check.needs(NeedWrite) {
			writes++
			if proved {
				wrote++
			}
		}
	}
	r.Reason = ""
	switch {
	case weighty > 0:
		r.Verdict = Findings
		if r.denied != "" {
			r.Reason = r.denied + "; no check that writes was run"
		}
		if r.undeletable != "" {
			r.Reason = r.undeletable + "; most checks that create objects were not run"
		}
		if r.interrupted != "" {
			r.Reason = r.interrupted + ": the run is incomplete"
		}
	case r.interrupted != "":
		r.Verdict, r.Reason = Untested, r.interrupted+": the run is incomplete and proves nothing"
	case r.denied != "":
		r.Verdict, r.Reason = Untested, r.denied
	case r.undeletable != "":
		r.Verdict, r.Reason = Untested, r.undeletable+"; most checks that create objects were not run"
	case errored > 0:
		r.Verdict, r.Reason = Untested, fmt.Sprintf("%s ended with an error: no findings, but not everything was tested",
			counted.Of(errored, "check"))
	case passed == 0:
		r.Verdict, r.Reason = Untested, "every check was skipped: nothing was tested"
	case writes > 0 && wrote == 0:
		r.Verdict, r.Reason = Untested, "no check could create an object: only reading was tested; check the permissions of the credentials, "+
			"or start "+
			"a read-only run"
	case manyBlocked(r.Blocks) > 0:
		r.Verdict, r.Reason = Untested, fmt.Sprintf("%s blocked: no findings, but not everything was tested",
			counted.Of(manyBlocked(r.Blocks), "check"))
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
	s.cautionUndeletable(result)
	if s.lag > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target is eventually consistent: a created object could be found after %s; the checks waited for it",
				s.lag.Round(time.Millisecond)))
	}
	if s.wire.throttled > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target limits the rate of requests: %s answered with 429 and sent again", counted.Of(s.wire.throttled, "request")))
	}
	s.cautionUnrun(result)
	if caution := s.reduced.caution(); caution != "" {
		result.Cautions = append(result.Cautions, caution)
	}
	var blocked []string
	for _, c := range result.Checks {
		if c.BlockedBy != nil {
			blocked = append(blocked, c.Check.ID)
		}
	}
	if n := len(blocked); n > 0 {
		names := strings.Join(blocked[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			names += fmt.Sprintf(" and %d more", n-maxNamed)
		}
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("%s blocked without a result: %s", counted.Of(n, "applicable check"), names))
	}
}

// notRun starts the reason of a check that the run did not reach.
const notRun = "not run: "

// cautionUnrun adds a caution that names what a run that ended early has not tested.
func (s *session) cautionUnrun(result *Result) {
	byLevel, total := map[Level]int{}, 0
	for _, c := range result.Checks {
		if strings.HasPrefix(c.Reason, notRun) {
			byLevel[c.Check.Level]++
			total++
		}
	}
	if total == 0 {
		return
	}
	var parts []string
	for _, l := range Levels() {
		if n := byLevel[l]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d of the level %s", n, l))
		}
	}
	result.Cautions = append(result.Cautions, fmt.Sprintf("%s not run: %s", counted.Of(total, "check"), strings.Join(parts, ", ")))
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
