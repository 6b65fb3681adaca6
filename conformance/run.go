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

// Options say what a run does. The zero value, with Checks, is a full run against this machine.
type Options struct {
	// Checks are the checks to run, in order: checks.All() or a selection of them. Required, unless there are Profiles.
	Checks []Check
	// Profiles are the provisioning clients whose conversations are held after the checks; package profiles has them. Defaults
	// to none.
	Profiles []Profile
	// ReadOnly runs only what creates nothing.
	ReadOnly bool
	// AllowWrites consents to creating and removing objects on a target that is not this machine. Defaults to no consent,
	// and [Run] then refuses with a [*ConsentError] unless ReadOnly is set.
	AllowWrites bool
	// Journal is the path of the file that lists what the run created; it must not exist yet. It is removed at the end unless
	// something was left behind. Defaults to none: after a crash nothing can then be found again.
	Journal string
	// JournalStarted, when set, is called with the path when the journal comes into being, before the first object does.
	JournalStarted func(path string)
	// MaxRequests bounds the requests of a run; cleaning up is not bounded by it. Defaults to 5,000.
	MaxRequests int
	// Timeout bounds the whole run, cleaning up included. Defaults to 5 minutes.
	Timeout time.Duration
	// RequestTimeout bounds one request. Defaults to 15 seconds.
	RequestTimeout time.Duration
	// Rate bounds the requests per second. Defaults to no bound. Whatever it is, a 429 is waited out.
	Rate float64
	// Settle bounds how long the suite waits for what it wrote to become visible. When it is set, the run first creates an
	// object and measures how long that takes; the checks then wait as long after each write, and the result tells
	// ([Result.Lag]). Defaults to no patience: what is written is expected to be there.
	Settle time.Duration
	// Concurrency bounds the requests that a check may have in flight at once. Defaults to 8.
	Concurrency int
	// UserDomain is the domain of the user names and addresses that the suite makes up, for targets that accept their own
	// alone. Defaults to example.com.
	UserDomain string
	// Attributes are what creating an object takes on this target beyond what the suite sends, by the name of the resource
	// type ("User", "Group"). A check that sends one of these attributes itself has its way; one that finds something about
	// them is skipped, because it counts on objects without. What tells the objects of the suite apart, such as userName,
	// cannot be given.
	Attributes map[string]Doc
	// ResourceTypes are the names of the resource types to test. Defaults to all that the target serves.
	ResourceTypes []string
	// Seed chooses what the checks that make up their requests ask (area "oracle"): equal seeds make equal choices, so that a
	// finding can be had again. Defaults to DefaultSeed.
	Seed uint64
	// OracleRounds is how often these checks ask, each time with new choices. Defaults to 1.
	OracleRounds int
	// Record keeps every exchange of the run in [Result.Traffic]. Defaults to those that show a finding.
	Record bool
	// Now tells the time. Defaults to time.Now.
	Now func() time.Time
	// Progress, when set, is called after each check that ran.
	Progress func(done, planned int, r CheckResult)
	// Logger gets what an operator of the suite wants to know. Defaults to none.
	Logger *slog.Logger
}

// DefaultSeed is the seed of a run that names none: two runs against the same target then ask the same.
const DefaultSeed uint64 = 1

const (
	defaultMaxRequests    = 5000
	defaultTimeout        = 5 * time.Minute
	defaultRequestTimeout = 15 * time.Second
	defaultConcurrency    = 8
	defaultUserDomain     = "example.com"
	defaultOracleRounds   = 1

	// maxNamed is how many checks a caution names.
	maxNamed = 10
	// maxUnanswered is how many calls in a row may get no answer before the target counts as gone.
	maxUnanswered = 3
	// cleanupShare is the part of the timeout that is kept for cleaning up, at most maxCleanup.
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

// Run tests the target and returns what it found. A target that cannot be tested is a result with the verdict [Untested],
// not an error. The error is a [*UsageError] or a [*ConsentError] when the run was asked for in a way that cannot work (a journal that
// cannot be created included), and something else when the journal could not be written; a result then comes with it.
//
// When ctx ends, the run stops, removes what it created and returns a result that says so.
func Run(ctx context.Context, target Target, opts Options) (*Result, error) {
	opts = opts.withDefaults()
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	if err := s.estate.journal.probe(); err != nil {
		return nil, err
	}
	result := &Result{Target: s.wire.base.String(), Run: s.estate.run, Seed: opts.Seed, Started: opts.Now()}
	deadline, cancel := context.WithTimeout(ctx, opts.Timeout-min(maxCleanup, opts.Timeout/cleanupShare))
	defer cancel()
	s.watching.watches = watchesOf(opts.Checks)
	if problem := s.discover(deadline, opts.Checks); problem != "" {
		result.Verdict, result.Reason = Untested, problem
	} else {
		s.measureLag(deadline)
		s.probePermission(deadline)
		interrupted := s.runChecks(deadline, result)
		interrupted = s.runProfiles(deadline, result, interrupted)
		cleanup, done := s.cleanupContext(ctx)
		s.estate.remove(cleanup, s.estate.shared)
		s.estate.resolve(cleanup)
		s.estate.sweep(cleanup, s.estate.run, s.estate.journal.places)
		s.estate.confirmDeletes(cleanup, deletesFail(result))
		done()
		s.fillWatched(result)
		s.conclude(result, interrupted)
	}
	result.Requests = s.wire.requests
	result.Leftovers = s.estate.leftovers
	result.Lag = s.lag
	result.Traffic = s.wire.traffic
	s.wire.masker.maskResult(result, s.wire.secrets.all())
	journal, err := s.estate.journal.close(len(s.estate.leftovers) > 0)
	if s.estate.broken != nil {
		return result, s.estate.broken
	}
	result.Journal = journal
	result.Duration = opts.Now().Sub(result.Started)
	return result, err
}

// deletesFail tells whether the checks of DELETE have shown that its answers are not to be believed.
func deletesFail(r *Result) bool {
	return slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.Check.Area() == "delete" && c.Outcome == Fail })
}

// runChecks runs what the plan says and returns why it stopped before the end, "" when it did not.
func (s *session) runChecks(ctx context.Context, result *Result) (interrupted string) {
	plan := s.plan()
	for i, p := range plan.Checks[:len(s.opts.Checks)] {
		r := CheckResult{Check: p.Check, Outcome: Skip, Reason: p.Skip}
		if r.Reason == "" {
			r.Reason = s.unmet(p.Check) // the credentials may have turned out to be too weak meanwhile
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
					r = CheckResult{Check: p.Check, Outcome: Skip, Reason: s.rights.denied, Requests: r.Requests, Duration: r.Duration, outside: true}
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

// interruption returns why nothing more can be run, "" when it can.
func (s *session) interruption(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return s.overtime(ctx)
	case s.estate.broken != nil:
		return s.estate.broken.Error()
	case s.wire.unanswered >= maxUnanswered:
		return fmt.Sprintf("the target stopped answering: %d requests in a row got no answer", s.wire.unanswered)
	case s.wire.requests >= s.opts.MaxRequests:
		return fmt.Sprintf("the budget of %d requests is used up", s.opts.MaxRequests)
	}
	return ""
}

// runProfiles holds the conversations of the profiles and returns why that stopped before the end, "" when it did not.
func (s *session) runProfiles(ctx context.Context, result *Result, interrupted string) string {
	planned, done := len(s.plan().Checks), len(result.Checks)
	number := 0
	for _, p := range s.opts.Profiles {
		for _, c := range p.Conversations {
			steps, verdict := s.runConversation(ctx, number, p, c, &interrupted, func(r CheckResult) {
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
	start, before := s.opts.Now(), s.wire.requests
	var ledger []*Created
	t := &T{Capabilities: s.caps, session: s, check: &check, prefix: fmt.Sprintf("%s-%d-", s.estate.run, number+1), ledger: &ledger,
		outcome: Pass}
	if check.Fixture != nil {
		var blocked string
		if t.Fixture, blocked = s.fixture(ctx, t, check.Fixture); t.Fixture == nil {
			t.outcome, t.reason = Skip, blocked
		}
		before = s.wire.requests
	}
	if t.outcome == Pass {
		t.run(func() { check.Run(ctx, t) })
		t.excuse()
	}
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.estate.remove(cleanup, ledger)
	return CheckResult{
		Check: check, Outcome: t.outcome, Reason: t.reason, Findings: t.findings, Notes: t.notes,
		Requests: s.wire.requests - before, Duration: s.opts.Now().Sub(start), outside: t.outside,
	}
}

// buildWatched builds the fixture of a check that watches, so that the run contains exchanges to check. A failure to build it is not a
// finding. A read-only run does not build it.
func (s *session) buildWatched(ctx context.Context, check Check) {
	if check.Fixture == nil || s.opts.ReadOnly || s.rights.denied != "" || !s.caps.Users {
		return
	}
	s.fixture(ctx, &T{Capabilities: s.caps, session: s, check: &check}, check.Fixture)
}

// conclude draws the verdict. A run in which nothing was proved is never clean.
func (s *session) conclude(result *Result, interrupted string) {
	result.interrupted, result.denied = interrupted, s.rights.denied
	result.Conclude()
	s.caution(result)
}

// Conclude draws the verdict anew, after findings were waived. A result of a target that could not be tested at all stays so.
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
			passed++ // what only watched has not asked for anything
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
			r.Reason = r.denied + "; nothing that writes was tested"
		}
		if r.interrupted != "" {
			r.Reason = r.interrupted + ": the run is incomplete"
		}
	case r.interrupted != "":
		r.Verdict, r.Reason = Untested, r.interrupted+": the run is incomplete and proves nothing"
	case r.denied != "":
		r.Verdict, r.Reason = Untested, r.denied
	case errored > 0:
		r.Verdict, r.Reason = Untested, fmt.Sprintf("%s ended without an answer: nothing was found, but not everything was tested",
			plural(errored, "check"))
	case passed == 0:
		r.Verdict, r.Reason = Untested, "every check was skipped: nothing was tested"
	case writes > 0 && wrote == 0:
		r.Verdict, r.Reason = Untested, "no check could create an object: only reading was tested; check what the credentials may do, or ask "+
			"for a read-only run"
	case len(r.Complaints) > 0:
		r.Verdict, r.Reason = Findings, "the target is clean, the waivers are not"
	default:
		r.Verdict = Clean
	}
}

// caution adds what a reader of the verdict should know about its worth.
func (s *session) caution(result *Result) {
	if s.opts.ReadOnly {
		result.Cautions = append(result.Cautions, "the run was read-only: nothing that needs objects of its own was tested")
	}
	if s.opts.ReadOnly && s.caps.Users && s.caps.empty {
		result.Cautions = append(result.Cautions, "the target holds no users: what passed about lists, filters and single users proves little")
	}
	if !s.wire.target.hasCredentials() {
		result.Cautions = append(result.Cautions, "no credentials were given: whether the target asks for them was not tested")
	}
	if !s.caps.Users {
		why := "the target serves no users"
		if len(s.opts.ResourceTypes) > 0 {
			why = "the run was limited to other resource types than User"
		}
		result.Cautions = append(result.Cautions, why+": most of the suite did not apply")
	}
	if s.lag > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target is eventually consistent: a created object could be found after %s; the checks waited for it",
				s.lag.Round(time.Millisecond)))
	}
	if s.wire.throttled > 0 {
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("the target limits the rate of requests: %s answered with 429 and sent again", plural(s.wire.throttled, "request")))
	}
	var blocked []string
	for _, c := range result.Checks {
		if c.ran() && c.Outcome == Skip && !c.outside {
			blocked = append(blocked, c.Check.ID)
		}
	}
	if n := len(blocked); n > 0 {
		names := strings.Join(blocked[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			names += ", …"
		}
		result.Cautions = append(result.Cautions,
			fmt.Sprintf("%s that would apply did not get as far as the question: %s", plural(n, "check"), names))
	}
}

// ran tells whether a check sent anything.
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
