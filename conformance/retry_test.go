package conformance_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// givenUp fails the first requests to a path as if the target had closed the connection.
type givenUp struct {
	path  string
	times int
}

func (g *givenUp) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, g.path) && g.times > 0 {
		g.times--
		return nil, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestCall_RepeatsUnansweredRequests checks that the run repeats a request without a response once, and the check once more if it fails.
func TestCall_RepeatsUnansweredRequests(t *testing.T) {
	for _, c := range []struct {
		name, method string
		times        int
		want         conformance.Outcome
		unsteady     int
	}{
		{"a GET, once", "GET", 1, conformance.Pass, 0},
		{"a GET, twice", "GET", 2, conformance.Info, 1},
		{"a GET, always", "GET", 100, conformance.Fail, 0},
		{"a POST, once", "POST", 1, conformance.Pass, 0},
		{"a POST, always", "POST", 100, conformance.Fail, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, target := newShelf(t)
			target.Transport = &givenUp{path: "/Users/here", times: c.times}
			r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
				one("read.here", nil, func(ctx context.Context, t *conformance.T) {
					t.Call(ctx, conformance.Request{Method: c.method, Path: "/Users/here"})
				}),
			}})
			require.Equal(t, c.want, r.Checks[0].Outcome, r.Checks[0].Reason)
			require.Equal(t, c.unsteady, r.Steadiness.UnsteadyFindings)
			require.Equal(t, c.times == 1, r.Steadiness.Repeated == 1)
			if c.want != conformance.Pass {
				f := r.Checks[0].Findings[0]
				require.Equal(t, "robustness: response to "+c.method+" /Users/here", f.What)
				require.Equal(t, 0, f.Exchange.Status)
				require.Contains(t, f.Exchange.Err, "broken pipe")
				require.Equal(t, c.want == conformance.Info, f.Unsteady)
			}
		})
	}
}

// TestCall_ConnectionClosedAfterError checks that a connection that the target closes after an error response, without the header
// Connection, is not unsteadiness: whether the next request fails depends on the time when the client notices it.
func TestCall_ConnectionClosedAfterError(t *testing.T) {
	for _, c := range []struct {
		name     string
		status   int // the response after which the target closes the connection
		repeated int
	}{
		{"after an error", 400, 0},
		{"after a success", 200, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newShelf(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/Users/first" {
					s.ServeHTTP(w, r)
					return
				}
				conn, buffered, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer conn.Close()
				fmt.Fprintf(conn, "HTTP/1.1 %d Status\r\nContent-Type: application/scim+json\r\nContent-Length: 2\r\n\r\n{}", c.status)
				_, _ = buffered.ReadByte() // the next request is in flight when the connection is closed
			}))
			defer server.Close()
			r := runChecks(t, conformance.Target{URL: server.URL}, conformance.Options{Checks: []conformance.Check{
				one("read.two", nil, func(ctx context.Context, t *conformance.T) {
					t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users/first"})
					t.Call(ctx, conformance.Request{Method: "PUT", Path: "/Users/here"})
				}),
			}})
			require.Equal(t, conformance.Pass, r.Checks[0].Outcome, r.Checks[0].Reason)
			require.Equal(t, c.repeated, r.Steadiness.Repeated, r.Steadiness.Repeats)
		})
	}
}

// TestCall_LargeRequestCut checks that it is not unsteadiness if the target rejects a large request and closes the connection before it has
// read all of it: whether the client receives the response depends on the load.
func TestCall_LargeRequestCut(t *testing.T) {
	for _, c := range []struct {
		name           string
		size, repeated int
	}{
		{"large", 5000, 0},
		{"small", 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, target := newShelf(t)
			target.Transport = &givenUp{path: "/Users/absent", times: 1}
			r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
				one("read.one", nil, func(ctx context.Context, t *conformance.T) {
					t.Get(ctx, "/Users/absent", "filter", strings.Repeat("x", c.size))
				}),
			}})
			require.Equal(t, c.repeated, r.Steadiness.Repeated, r.Steadiness.Repeats)
		})
	}
}

// TestCall_SlowResponse checks that a request whose response takes longer than the timeout is not a finding of the check if the repeat,
// which waits longer, gets the response: whether a slow target responds in time depends on the load of the machine. If the repeat takes
// long, too, the response is slow. If it is as fast as other responses, the target is unsteady.
func TestCall_SlowResponse(t *testing.T) {
	for _, c := range []struct {
		name     string
		takes    time.Duration
		times    int
		want     conformance.Outcome
		repeated int
		slow     int
	}{
		{"slow", 25 * time.Second, 100, conformance.Pass, 0, 1},
		{"slow once", 25 * time.Second, 1, conformance.Pass, 1, 0},
		{"never", time.Hour, 100, conformance.Fail, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, target := newDirectShelf()
				requests := 0
				target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path == "/Users/slow" {
						requests++
					}
					if r.URL.Path == "/Users/slow" && requests <= c.times {
						select {
						case <-time.After(c.takes):
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
					}
					return direct(s).RoundTrip(r)
				})
				r := runChecks(t, target, conformance.Options{RequestTimeout: 10 * time.Second, Checks: []conformance.Check{
					one("read.slow", nil, func(ctx context.Context, t *conformance.T) {
						t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users/slow"})
					}),
				}})
				require.Equal(t, c.want, r.Checks[0].Outcome, r.Checks[0].Findings)
				require.Equal(t, c.repeated, r.Steadiness.Repeated, r.Steadiness.Repeats)
				require.Equal(t, c.slow, r.Steadiness.Slow)
				require.Equal(t, c.repeated == 0, r.Steadiness.Steady())
			})
		})
	}
}

// TestCall_SmallerRequest checks that a request gets more time if a smaller one took long, and no finding depends on the load of a target
// that is slow for both.
func TestCall_SmallerRequest(t *testing.T) {
	for name, c := range map[string]struct {
		smaller bool
		want    conformance.Outcome
	}{"with the smaller request": {true, conformance.Pass}, "without it": {false, conformance.Fail}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, target := newDirectShelf()
				target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					takes := map[string]time.Duration{"/Users/half": 6 * time.Second, "/Users/whole": 48 * time.Second}[r.URL.Path]
					select {
					case <-time.After(takes):
						return direct(s).RoundTrip(r)
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})
				r := runChecks(t, target, conformance.Options{RequestTimeout: 10 * time.Second, Checks: []conformance.Check{
					one("read.half", nil, func(ctx context.Context, t *conformance.T) {
						whole := conformance.Request{Method: "GET", Path: "/Users/whole"}
						half := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users/half"})
						if c.smaller {
							whole.Smaller = half
						}
						t.Call(ctx, whole)
					}),
				}})
				require.Equal(t, c.want, r.Checks[0].Outcome, r.Checks[0].Findings)
				require.Zero(t, r.Steadiness.Slow)
			})
		})
	}
}
