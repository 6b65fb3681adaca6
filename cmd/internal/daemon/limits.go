package daemon

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
)

// maxTenants is the maximum number of tenants whose counts are stored.
const maxTenants = 100_000

// usage counts the requests of each tenant, because the limits apply to each tenant separately.
type usage struct {
	limits Limits
	now    func() time.Time

	mu sync.Mutex
	by map[string]*tenantUsage
}

// tenantUsage is a token bucket and the number of requests in flight.
type tenantUsage struct {
	tokens   float64
	filled   time.Time
	inFlight int
}

func newUsage(l Limits, now func() time.Time) *usage {
	return &usage{limits: l, now: now, by: map[string]*tenantUsage{}}
}

// set replaces the limits.
func (u *usage) set(l Limits) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.limits = l
}

// take counts a request. The caller calls release at its end. Over a limit, take returns the error response.
func (u *usage) take(tenant string) (release func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, rate := u.now(), u.limits.Rate
	t := u.by[tenant]
	if t == nil {
		if len(u.by) >= maxTenants {
			u.forget(now)
		}
		t = &tenantUsage{tokens: float64(u.limits.Burst), filled: now}
		u.by[tenant] = t
	}
	t.tokens = min(float64(u.limits.Burst), t.tokens+max(now.Sub(t.filled).Seconds(), 0)*rate)
	t.filled = now
	switch {
	case t.inFlight >= u.limits.InFlight:
		return nil, overLimit(1, "The tenant has too many requests in flight.")
	case t.tokens < 1:
		return nil, overLimit((1-t.tokens)/rate, "The tenant has sent too many requests.")
	}
	t.tokens--
	t.inFlight++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		t.inFlight--
	}, nil
}

// forget removes the tenants whose state equals that of a new one.
func (u *usage) forget(now time.Time) {
	for name, t := range u.by {
		if t.inFlight == 0 && t.tokens+now.Sub(t.filled).Seconds()*u.limits.Rate >= float64(u.limits.Burst) {
			delete(u.by, name)
		}
	}
}

func overLimit(seconds float64, summary string) *rest.Error {
	return &rest.Error{Code: rest.CodeRateLimit, Summary: summary, Header: http.Header{
		"Retry-After": {strconv.Itoa(int(max(math.Ceil(seconds), 1)))},
	}}
}
