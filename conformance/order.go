package conformance

import (
	"cmp"
	"slices"
	"time"
)

// A Phase is a part of a run, for [Options.Order]. A run executes the phases in their order, so that a run that ends early has tested the
// first ones completely.
//
// Within a phase, checks of stronger levels come first, then checks with fewer requests, then the order of Options.Checks. Checks with
// Watch come last.
type Phase struct {
	// Name names the phase in a [Plan].
	Name string
	// Checks are the checks of the phase, in the form of Selection.Only: ids, areas, levels, clauses or sections. A check that several phases
	// name belongs to the first of them.
	Checks []string
	// Clients reports whether the client flows of Options.Profiles belong to the phase. Without such a phase, the flows come last.
	Clients bool
}

// order returns the indexes of planned in the order in which the run executes them, and sets their phases. own is the number of checks of
// Options.Checks, which come first in planned. The others are steps of client flows, whose order does not change.
func order(planned []PlannedCheck, own int, phases []Phase) []int {
	sequence := make([]int, len(planned))
	rank := make([]int, len(planned))
	for i := range planned {
		sequence[i], rank[i] = i, len(phases)
		p := slices.IndexFunc(phases, func(p Phase) bool {
			if i >= own {
				return p.Clients
			}
			return slices.ContainsFunc(p.Checks, planned[i].Check.named)
		})
		if p >= 0 {
			rank[i], planned[i].Phase = p, phases[p].Name
		}
	}
	if len(phases) == 0 {
		return sequence
	}
	slices.SortStableFunc(sequence, func(i, j int) int {
		a, b := planned[i].Check, planned[j].Check
		if i >= own || j >= own {
			return cmp.Or(cmp.Compare(rank[i], rank[j]), cmp.Compare(i, j))
		}
		return cmp.Or(
			compareBool(a.Watch != nil, b.Watch != nil),
			cmp.Compare(rank[i], rank[j]),
			cmp.Compare(slices.Index(Levels(), a.Level), slices.Index(Levels(), b.Level)),
			cmp.Compare(a.Requests, b.Requests),
			cmp.Compare(i, j),
		)
	})
	return sequence
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Duration returns the estimated duration of the run. It is 0 if Interval is 0.
func (p *Plan) Duration() time.Duration { return time.Duration(p.Requests) * p.Interval }

// Within returns the checks that the run is expected to complete within Limit and MaxRequests, and those for which time or requests will
// probably not suffice. Both lists have the order of the run and omit checks that would be skipped.
func (p *Plan) Within() (complete, incomplete []PlannedCheck) {
	budget := p.MaxRequests
	if p.Interval > 0 {
		budget = min(budget, int(p.Limit/p.Interval))
	}
	sent := p.first
	for _, i := range p.Order {
		if p.Checks[i].Skip != "" {
			continue
		}
		if sent += p.requests[i]; sent > budget {
			incomplete = append(incomplete, p.Checks[i])
		} else {
			complete = append(complete, p.Checks[i])
		}
	}
	return complete, incomplete
}

// interval returns the expected time from one request to the next, from the options and the requests that the run has sent so far.
func (s *session) interval() time.Duration {
	var interval time.Duration
	if s.opts.Rate > 0 {
		interval = time.Duration(float64(time.Second) / s.opts.Rate)
	}
	if n := len(s.wire.took); n > 0 {
		// The median ignores the first request, which opens a connection and may start the server.
		took := slices.Sorted(slices.Values(s.wire.took))
		interval = max(interval, took[n/2])
	}
	if s.wire.throttled > 0 {
		interval = max(interval, s.opts.Now().Sub(s.started)/time.Duration(s.wire.requests))
	}
	return interval
}
