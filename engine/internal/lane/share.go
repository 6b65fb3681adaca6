package lane

import (
	"math"
	"time"

	"github.com/scimwright/scimwright/engine/store"
)

const (
	// claimLimit is the maximum number of lanes per claim. Processes that claim at the same time each get a part of the lanes.
	claimLimit = 32
	// countLimit is the maximum number of claimable lanes that a process counts.
	countLimit = 1024
	// shareMinimum is the number of lanes that a process may have whatever its share: with a few lanes, a claim by another process takes
	// longer than the work.
	shareMinimum = 2
)

// counted returns how many claimable lanes a process counts before a claim. More lanes change neither its share, if that share is at least
// the limit of the claim, nor the search for tenants. The number is a power of two, so that there are few different queries.
func counted(own, free, processes int) int {
	n := 1
	for n < countLimit && n < (own+min(free, claimLimit))*processes+1 {
		n *= 2
	}
	return n
}

// share returns how many more lanes a process with own running lanes may claim, so that each process of the fleet gets the same number of
// the running and the claimable lanes. lanes is the number of running lanes by the heartbeats.
func share(p store.Claimable, own int, lanes float64) int {
	if p.Processes <= 1 {
		return math.MaxInt
	}
	running := max(p.Running, own)
	if p.Running >= store.CountedLanes { // there may be more
		running = max(running, int(lanes))
	}
	part := (running + p.Lanes + p.Processes - 1) / p.Processes
	return max(part, shareMinimum) - own
}

// leave returns the time for which a process that has its share leaves a claimable lane to the others. It is longer than the interval of
// their searches. After that time, the process claims the lane, because another process may have stalled, or may run as many lanes as it
// may.
func leave(sweep time.Duration) time.Duration { return sweep * 3 / 2 }
