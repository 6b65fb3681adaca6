package conformance

import (
	"context"
	"slices"
)

// A Plan describes what a run would do.
type Plan struct {
	// Target is the base URL.
	Target string
	// Checks are the checks in the order of the run. The checks of profile steps come last.
	Checks []PlannedCheck
	// Requests is the estimated number of requests to a conforming target, including discovery and cleanup. It does not include the survey of
	// attributes, at most 60 requests and their cleanup, and the repetition of checks with other attributes, which depend on findings.
	Requests int
	// Writes reports whether the run would create objects.
	Writes bool
	// Reason is a sentence that explains why the target cannot be tested, empty if it can.
	Reason string
}

// A PlannedCheck is a check of a plan.
type PlannedCheck struct {
	Check Check
	// Skip is the reason why the check would not run, empty if it would.
	Skip string
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
	p := &Plan{Target: s.wire.base.String(), Requests: s.caps.Requests}
	fixtures := map[*Fixture]bool{}
	all := slices.Clone(s.opts.Checks)
	for _, profile := range s.opts.Profiles {
		all = append(all, profile.Checks()...)
		if !s.opts.ReadOnly {
			p.Requests += populationRequests * len(profile.ClientFlows)
		}
	}
	for _, c := range all {
		planned := PlannedCheck{Check: c, Skip: s.unmet(c)}
		if planned.Skip == "" {
			p.Requests += c.Requests + (s.opts.OracleRounds-1)*c.PerRound
			p.Writes = p.Writes || c.needs(NeedWrite)
			if c.Fixture != nil && !fixtures[c.Fixture] && (c.Watch == nil || !s.opts.ReadOnly) {
				p.Writes = p.Writes || c.Watch != nil
				fixtures[c.Fixture] = true
				p.Requests += c.Fixture.Requests
			}
		}
		p.Checks = append(p.Checks, planned)
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
