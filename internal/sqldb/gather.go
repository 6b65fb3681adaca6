package sqldb

import "time"

const (
	gatherShare = 2                      // a batch waits for its next caller for at most half the time of the last commit
	gatherLeast = 100 * time.Microsecond // no shorter waits: they would take longer than intended
	gatherMost  = time.Millisecond
	maxSkipped  = 64

	batchLeast = 8 // see full
)

// gathering decides whether a batch waits for further callers before its commit. Without a wait, callers that send one update after the
// other form two halves: one half waits while the other one is committed, so each commit, whose cost hardly depends on its size, is for
// half of them. A batch therefore waits for as many callers as there were at the end of the last commit, unless it is full: those that
// this commit has released are about to come again. If nobody comes, the next 2 batches do not wait; if that happens again, the next 4,
// 8 and so on.
type gathering struct {
	took     time.Duration // by the last commit
	expected int           // callers at its end: those of the batch, and those that waited
	gained   bool          // a caller came while the present batch waited
	vain     int           // consecutive batches that waited although nobody came
	skip     int           // number of batches that do not wait
}

// committed is called after a commit, with the number of callers that are in an update.
func (g *gathering) committed(took time.Duration, callers int) {
	g.took, g.expected, g.gained, g.skip = took, callers, false, max(g.skip-1, 0)
}

// full reports whether a batch of this size, and with functions that have taken that long, is committed without further callers: a batch of
// some callers takes at most as long as the last commit has taken, so that commits are about half of the writer's time. Callers of earlier
// batches prepare their next updates during a commit. If a batch took every caller that comes before it ends, soon all callers would be in
// one batch: then nobody prepares an update during the commit, and nobody waits after it.
func (g *gathering) full(size int, took time.Duration) bool {
	return size >= maxBatch || took >= maxBatchTime || size >= batchLeast && g.took > 0 && took >= g.took
}

// limit returns how long a batch of this size waits for another caller. If it returns 0, the batch is committed now.
func (g *gathering) limit(size int) time.Duration {
	wait := min(g.took/gatherShare, gatherMost)
	if size >= g.expected || g.skip > 0 || wait < gatherLeast {
		return 0
	}
	return wait
}

// came is called when a caller came during the wait.
func (g *gathering) came() { g.gained, g.vain = true, 0 }

// timedOut is called when nobody came until the end of the wait.
func (g *gathering) timedOut() {
	if !g.gained {
		g.vain++
		g.skip = min(1<<min(g.vain, 10), maxSkipped) + 1 // committed is called for the present batch, too
	}
}
