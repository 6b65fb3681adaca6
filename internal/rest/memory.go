package rest

import (
	"context"
	"net/http"
	"sync"
)

// DefaultMaxInFlight is the default of Options.MaxInFlight, in bytes.
const DefaultMaxInFlight = 64 << 20

// memory counts the bytes that the requests in flight hold.
type memory struct {
	limit int64 // of all callers; each gets at most half

	mu   sync.Mutex
	used int64
	by   map[holder]int64
}

// holder is a caller: a user or an application with all its tokens. All callers without credentials are one.
type holder struct{ user, client string }

func newMemory(limit int64) *memory { return &memory{limit: limit, by: map[holder]int64{}} }

// take reports whether a caller may hold n more bytes, and counts them if it may.
func (m *memory) take(of holder, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+n > m.limit || m.by[of]+n > m.limit/2 {
		return false
	}
	m.used += n
	m.by[of] += n
	return true
}

func (m *memory) release(of holder, n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
	if m.by[of] -= n; m.by[of] == 0 {
		delete(m.by, of)
	}
}

// Hold counts n bytes that the request holds until its response is written. It returns an error with CodeRateLimit and Retry-After if the
// requests in flight would then hold more than they may. Outside of a request, it does nothing.
func Hold(ctx context.Context, n int) error {
	c := callFrom(ctx)
	if c.memory == nil || n == 0 {
		return nil
	}
	if c.held == 0 {
		c.holder = holder{c.principal.UserID, c.principal.ClientID}
	}
	if !c.memory.take(c.holder, int64(n)) {
		return &Error{Code: CodeRateLimit, Header: http.Header{"Retry-After": {"1"}},
			Summary: "The requests in flight use too much memory. Retry after the time in Retry-After, with fewer requests in flight."}
	}
	c.held += int64(n)
	return nil
}
