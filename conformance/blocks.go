package conformance

import (
	"cmp"
	"slices"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// blockedPrefix starts the reason of a check that is skipped because a preparation failed.
const blockedPrefix = "blocked: "

// ManyBlocked is the least number of checks of a large [Block]. A large block is one of the main results of a run: reports show it before
// the findings, and the run is not clean.
const ManyBlocked = 6

// A Blocker is what kept a check from its result: a fixture that could not be built, or a prerequisite that failed.
type Blocker struct {
	// What names the fixture or the prerequisite and the failure, as text.
	What string
	// Exchange is the redacted request and response that show the failure. It is nil if no exchange shows it.
	Exchange *wirelog.Exchange
}

// A Block is a Blocker with the checks that it kept from their results.
type Block struct {
	Blocker
	// Checks contains the ids of the checks, in the order of the run.
	Checks []string
}

// blocker returns what blocked the check, nil if it was not blocked.
func (t *T) blocker() *Blocker {
	if t.outcome != Skip || t.notApplicable {
		return nil
	}
	return t.blockedBy
}

// blocks groups the blocked checks by what blocked them, most checks first. The exchange of a block is that of its first check.
func blocks(results []CheckResult) []Block {
	var out []Block
	for _, c := range results {
		if c.BlockedBy == nil {
			continue
		}
		i := slices.IndexFunc(out, func(b Block) bool { return b.What == c.BlockedBy.What })
		if i < 0 {
			i = len(out)
			out = append(out, Block{Blocker: *c.BlockedBy})
		}
		out[i].Checks = append(out[i].Checks, c.Check.ID)
	}
	slices.SortStableFunc(out, func(a, b Block) int { return cmp.Compare(len(b.Checks), len(a.Checks)) })
	return out
}

// manyBlocked returns the number of checks without a result in blocks of at least ManyBlocked checks.
func manyBlocked(list []Block) int {
	n := 0
	for _, b := range list {
		if len(b.Checks) >= ManyBlocked {
			n += len(b.Checks)
		}
	}
	return n
}
