package quirks

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Shared is the state of active quirks that several replicas of a server share, see [Switch.SetShared]. A key is the string form of a
// setting. Each call of SetShared needs a new state.
type Shared interface {
	// Draw returns the number of earlier calls of Draw with the key, by all replicas.
	Draw(ctx context.Context, key string) (int64, error)
	// Add stores the id of a resource under the key for a time.
	Add(ctx context.Context, key, id string, keep time.Duration) error
	// Recent returns the ids that are stored under the key.
	Recent(ctx context.Context, key string) (map[string]bool, error)
}

// unavailable is the response if the shared state of a quirk cannot be read or written.
func unavailable(err error) *response {
	return plain(http.StatusInternalServerError, "text/plain; charset=utf-8", "The state of a quirk is not available: "+err.Error()+"\n")
}

// draws decides which requests a chaos quirk affects: the n-th request, counted from 0, by the n-th random number.
type draws struct {
	s Setting

	mu      sync.Mutex
	dice    *rand.Rand
	next    int64
	left    int
	decided [drawsKept]bool // the last decisions, by the number of the request modulo drawsKept
}

// drawsKept is the number of decisions that remain available. Only a request that arrives after so many later ones requires that all
// decisions are computed again.
const drawsKept = 1024

func newDraws(s Setting) *draws {
	name := fnv.New64a()
	_, _ = name.Write([]byte(s.Name)) // writing to a hash never fails
	return &draws{s: s, dice: rand.New(rand.NewPCG(s.Seed, name.Sum64())), left: s.Times}
}

// following decides about the next request.
func (d *draws) following() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.advance()
}

func (d *draws) advance() bool {
	strikes := (d.s.Times == 0 || d.left > 0) && d.dice.Float64() < d.s.Probability
	if strikes {
		d.left--
	}
	d.decided[d.next%drawsKept] = strikes
	d.next++
	return strikes
}

// at decides about the request with the number n.
func (d *draws) at(n int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n < d.next-drawsKept {
		return newDraws(d.s).at(n)
	}
	for d.next <= n {
		d.advance()
	}
	return d.decided[n%drawsKept]
}

// strikes reports whether a chaos quirk affects the call.
func (d *draws) strikes(c *call) (bool, error) {
	if d.s.Method != "" && c.Method != d.s.Method {
		return false, nil
	}
	if c.shared == nil {
		return d.following(), nil
	}
	n, err := c.shared.Draw(c.Context(), d.s.String())
	return err == nil && d.at(n), err
}
