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
	// ShareMinimum is the number of lanes that a process may have even if its share is smaller: with a few lanes, a claim by another process
	// takes longer than the work.
	ShareMinimum = 2
)

// counted returns the maximum number of claimable lanes that a process counts before a claim. If all of them are claimable, the share of
// the process is at least the limit of its claim, and further lanes change nothing. The number is a power of two, at most countLimit, so
// that there are few different queries.
func counted(own, free, processes int) int {
	n := 1
	for n < countLimit && n < (own+min(free, claimLimit))*processes+1 {
		n *= 2
	}
	return n
}

// share returns the number of lanes that a process with own running lanes may claim immediately. The running and the claimable lanes
// together are divided evenly among the processes of the fleet. lanes is the number of running lanes according to the heartbeats.
func share(p store.Claimable, own int, lanes float64) int {
	if p.Processes <= 1 {
		return math.MaxInt
	}
	running := max(p.Running, own)
	if p.Running >= store.CountedLanes { // there may be more
		running = max(running, int(lanes))
	}
	part := (running + p.Lanes + p.Processes - 1) / p.Processes
	return max(part, ShareMinimum) - own
}

// leave returns the time for which a process that has its share leaves a claimable lane to the others. It is longer than the interval of
// their searches. After that time, the process claims the lane: the others may have stalled, or may run their maximum number of lanes.
func leave(sweep time.Duration) time.Duration { return sweep * 3 / 2 }
