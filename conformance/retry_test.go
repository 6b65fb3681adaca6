package conformance_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

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

// TestCall_RetriesGETOnce checks that the suite retries a GET once if the target closed the connection, and never a POST.
func TestCall_RetriesGETOnce(t *testing.T) {
	for _, c := range []struct {
		name, method string
		times        int
		want         conformance.Outcome
	}{
		{"a GET, once", "GET", 1, conformance.Pass},
		{"a GET, twice", "GET", 2, conformance.Error},
		{"a POST", "POST", 1, conformance.Error},
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
		})
	}
}
