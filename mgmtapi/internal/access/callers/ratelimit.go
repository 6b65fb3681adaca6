package callers

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Window is the length of a rate-limit window. The window of a bucket starts with the first request that counts in the bucket.
const Window = time.Minute

// Bucket is a rate limit shared by all callers.
type Bucket struct {
	Name      string
	PerMinute int
	holds     func(method string, segments []string) bool
}

// The names of the buckets, for Limits.
const (
	BucketUsers  = "users"
	BucketUser   = "user"
	BucketOther  = "users-other"
	BucketGroups = "groups"
	BucketApps   = "apps"
	BucketApp    = "app"
	BucketLogs   = "logs"
	BucketTokens = "tokens"
	BucketRest   = "api"
)

// Buckets returns the table of rate limits. A request counts in the first bucket that matches; a request that matches none is not limited.
func Buckets() []Bucket {
	under := func(segments []string, resource string) bool { return len(segments) > 0 && segments[0] == resource }
	return []Bucket{
		{BucketUsers, 600, func(m string, s []string) bool { return len(s) == 1 && s[0] == "users" && m == http.MethodGet }},
		{BucketUser, 2000, func(m string, s []string) bool { return len(s) == 2 && s[0] == "users" && m == http.MethodGet }},
		{BucketOther, 600, func(_ string, s []string) bool { return under(s, "users") }},
		{BucketGroups, 500, func(_ string, s []string) bool { return under(s, "groups") }},
		{BucketApps, 100, func(_ string, s []string) bool { return len(s) == 1 && s[0] == "apps" }},
		{BucketApp, 500, func(_ string, s []string) bool { return under(s, "apps") }},
		{BucketLogs, 120, func(_ string, s []string) bool { return under(s, "logs") }},
		{BucketRest, 1200, func(_ string, s []string) bool { return len(s) > 0 }},
	}
}

// Limits configures the rate limits.
type Limits struct {
	// Off disables the limits. The headers are still written and show an unused quota.
	Off bool
	// PerMinute replaces limits, by the name of the bucket; 0 means no limit. Default: the limits of Buckets.
	PerMinute map[string]int
}

// Limiter counts requests in fixed windows. It is a rest.SharedLimiter. With Share, all processes that use a PostgreSQL database count in
// the same windows.
type Limiter struct {
	off     bool
	now     func() time.Time
	buckets []Bucket
	tokens  Bucket // the bucket of the token endpoints, which are not under /api/v1

	store  *docstore.Store // nil: the counts are in memory
	shared docstore.Windows

	mu      sync.Mutex
	windows map[string]*window
}

type window struct {
	end     time.Time
	count   int
	refused bool // a request in this window was rejected
}

// NewLimiter returns a limiter whose buckets have counted no request.
func NewLimiter(l Limits, now func() time.Time) *Limiter {
	perMinute := maps.Clone(l.PerMinute)
	buckets := Buckets()
	for i, b := range buckets {
		if n, ok := perMinute[b.Name]; ok {
			buckets[i].PerMinute = n
		}
	}
	tokens := Bucket{Name: BucketTokens, PerMinute: 1200}
	if n, ok := perMinute[BucketTokens]; ok {
		tokens.PerMinute = n
	}
	return &Limiter{off: l.Off, now: now, buckets: buckets, tokens: tokens, windows: map[string]*window{}}
}

// Share makes the limiter count in the database, if other processes may use the database. Call Share before the first request.
func (l *Limiter) Share(s *docstore.Store, w docstore.Windows) {
	if !l.off && s.Shared() {
		l.store, l.shared = s, w
	}
}

// Take counts a request in memory and returns the remaining quota of its bucket.
func (l *Limiter) Take(method, path string) rest.Quota {
	if b, ok := l.bucket(method, path); ok {
		return l.take(b)
	}
	return rest.Quota{}
}

// TakeShared counts a request in the database after Share, and otherwise in memory.
func (l *Limiter) TakeShared(ctx context.Context, method, path string) (rest.Quota, error) {
	b, ok := l.bucket(method, path)
	switch {
	case !ok:
		return rest.Quota{}, nil
	case l.store == nil || b.PerMinute <= 0:
		return l.take(b), nil
	}
	now := l.now()
	if end, exhausted := l.exhausted(b, now); exhausted {
		return rest.Quota{Limit: b.PerMinute, Reset: end, Bucket: b.Name, Exceeded: true}, nil
	}
	w, err := l.shared.Count(ctx, l.store, b.Name, b.PerMinute, Window, now)
	if err != nil {
		return rest.Quota{}, err
	}
	quota := rest.Quota{Limit: b.PerMinute, Reset: w.Ends, Bucket: b.Name, Remaining: max(0, b.PerMinute-w.Count)}
	if w.Refused > 0 {
		quota.Remaining, quota.Exceeded, quota.First = 0, true, w.Refused == 1
		l.exhaust(b, w.Ends)
	}
	return quota, nil
}

// exhausted reports whether the database has already refused a request in the current window of a bucket. Until the window ends, the
// database would refuse all further requests, so the limiter does not count them.
func (l *Limiter) exhausted(b Bucket, now time.Time) (end time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.windows[b.Name]
	if w == nil || !w.current(now) {
		return end, false
	}
	return w.end, w.refused
}

func (l *Limiter) exhaust(b Bucket, end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows[b.Name] = &window{end: end, refused: true}
}

// bucket returns the bucket of a request. ok is false for a request without a limit.
func (l *Limiter) bucket(method, path string) (_ Bucket, ok bool) {
	if strings.HasPrefix(path, "/oauth2/") && strings.HasSuffix(strings.TrimRight(path, "/"), "/v1/token") {
		return l.tokens, true
	}
	path, ok = strings.CutPrefix(path, "/api/v1/")
	if !ok {
		return Bucket{}, false
	}
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for _, b := range l.buckets {
		if b.holds(method, segments) {
			return b, true
		}
	}
	return Bucket{}, false
}

// current reports whether a window contains the time now. A window that ends clearly too late is over: the clock was set back.
func (w *window) current(now time.Time) bool {
	return now.Before(w.end) && w.end.Sub(now) <= Window+docstore.ClockDifference(Window)
}

func (l *Limiter) take(b Bucket) rest.Quota {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.windows[b.Name]
	if !ok || !w.current(now) {
		w = &window{end: now.Add(Window)}
		l.windows[b.Name] = w
	}
	quota := rest.Quota{Limit: b.PerMinute, Reset: w.end, Bucket: b.Name}
	if l.off {
		quota.Remaining = b.PerMinute
		return quota
	}
	if w.count >= b.PerMinute {
		quota.Exceeded, quota.First = true, !w.refused
		w.refused = true
		return quota
	}
	w.count++
	quota.Remaining = b.PerMinute - w.count
	return quota
}
