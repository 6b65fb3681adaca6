package conformance

import (
	"context"
	"slices"
	"time"
)

// A Plan describes what a run would do.
type Plan struct {
	// Target is the base URL.
	Target string
	// Checks are the checks in the order of Options.Checks, as in Result.Checks. The checks of profile steps come last.
	Checks []PlannedCheck
	// Order contains the indexes of Checks in the order in which the run executes them; see Options.Order.
	Order []int
	// Requests is the estimated number of requests to a conforming target, including discovery and cleanup. It does not include the survey of
	// attributes, at most 60 requests and their cleanup, and the repetition of checks with other attributes, which depend on findings.
	Requests int
	// Interval is the estimated time from one request to the next: the interval of Options.Rate, or the time that the target takes for a
	// request if that is longer.
	Interval time.Duration
	// Limit is the time that Options.Timeout leaves for the checks: a part of the timeout is reserved for cleanup. MaxRequests is the maximum
	// number of requests.
	Limit       time.Duration
	MaxRequests int
	// Throttled reports whether the target has already returned 429.
	Throttled bool
	// Writes reports whether the run would create objects.
	Writes bool
	// Reason is a sentence that explains why the target cannot be tested, empty if it can.
	Reason string

	first    int   // the requests before the first check
	requests []int // the requests of each check, with those of its fixture if it is the first check of the run that needs it
}

// A PlannedCheck is a check of a plan.
type PlannedCheck struct {
	Check Check
	// Skip is the reason why the check would not run, empty if it would.
	Skip string
	// Phase is the name of the phase of Options.Order, empty if no phase names the check.
	Phase string
}

// NewPlan runs discovery on the target and returns what [Run] with the same options would do. It does not write to the target. The error is
// a [*UsageError].
func NewPlan(ctx context.Context, target Target, opts Options) (*Plan, error) {
	opts = opts.withDefaults()
	opts.AllowWrites = true // planning writes nothing
	s, err := newSession(target, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	if problem := s.discover(ctx, opts.Checks); problem != "" {
		return &Plan{Target: s.wire.base.String(), Reason: problem}, nil
	}
	return s.plan(), nil
}

func (s *session) plan() *Plan {
	p := &Plan{
		Target: s.wire.base.String(), Requests: s.caps.Requests, Interval: s.interval(), Limit: s.opts.checkTime(),
		MaxRequests: s.opts.MaxRequests, Throttled: s.wire.throttled > 0, first: s.caps.Requests,
	}
	all := slices.Clone(s.opts.Checks)
	population := map[string]int{} // requests for the objects of populate, by the id of the first step of the profile
	for _, profile := range s.opts.Profiles {
		steps := profile.Checks()
		if !s.opts.ReadOnly && len(steps) > 0 {
			population[steps[0].ID] = populationRequests * len(profile.ClientFlows)
		}
		all = append(all, steps...)
	}
	for _, c := range all {
		p.Checks = append(p.Checks, PlannedCheck{Check: c, Skip: s.unmet(c)})
	}
	p.requests = make([]int, len(all))
	p.Order = order(p.Checks, len(s.opts.Checks), s.opts.Order)
	fixtures := map[*Fixture]bool{}
	for _, i := range p.Order {
		c := all[i]
		p.requests[i] = population[c.ID]
		if p.Checks[i].Skip == "" {
			p.requests[i] += c.Requests + (s.opts.OracleRounds-1)*c.PerRound
			p.Writes = p.Writes || c.needs(NeedWrite)
			if c.Fixture != nil && !fixtures[c.Fixture] && (c.Watch == nil || !s.opts.ReadOnly) {
				p.Writes = p.Writes || c.Watch != nil
				fixtures[c.Fixture] = true
				p.requests[i] += c.Fixture.Requests
			}
		}
		p.Requests += p.requests[i]
	}
	switch {
	case s.opts.Unmeasured, !s.caps.Users && !s.caps.Groups:
	case p.Writes:
		p.Requests += steadinessWrites
	default:
		p.Requests += steadinessReads
	}
	return p
}

// unmet returns why a check does not apply, "" if it does.
func (s *session) unmet(c Check) string {
	for _, n := range c.Needs {
		if reason := s.missing(n); reason != "" {
			return reason
		}
	}
	return ""
}
