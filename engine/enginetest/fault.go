package enginetest

import (
	"net/http"
	"strings"
)

// Fault is an incorrect behavior of a target. Each fault has exactly one effect.
type Fault struct {
	// Method and Path restrict the fault to some requests: by the method, and by a prefix of the path and query. Empty fields match all.
	Method, Path string
	// Times is the number of requests with the fault. Default: 1. A negative number means until ClearFaults.
	Times int

	Status     int             // respond with this status and a SCIM error, do not process the request
	RetryAfter string          // used with Status: the Retry-After header
	HTML       bool            // respond with 200 and an HTML page, do not process the request
	Hang       <-chan struct{} // wait until the channel is closed, then drop the connection; do not process the request
	Drop       bool            // drop the connection, do not process the request
	DropAfter  bool            // process the request, then drop the connection
	Truncate   bool            // process the request, then abort in the middle of the response
	Empty      bool            // process the request, then respond with the right status and no body
	Stale      bool            // return a single resource in its state before the last change
	Twice      bool            // process the request, then list every resource twice
	Repeat     bool            // return the first page for every page
	Accept     bool            // respond to a change with 202 and a Set-Txn; Target.CarryOut applies it
	After      int             // used with Accept: apply it before the After-th read that follows, without CarryOut
	Locate     bool            // used with Accept: the response to a POST has the Location of the new resource
}

func (f *Fault) matches(r *http.Request, path string) bool {
	method := f.Method == "" && (!f.Accept || r.Method != http.MethodGet) || f.Method == r.Method
	return f.Times != 0 && method && strings.HasPrefix(path, f.Path)
}

// Inject adds faults. The first fault that matches a request takes effect.
func (t *Target) Inject(faults ...Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range faults {
		if f.Times == 0 {
			f.Times = 1
		}
		t.faults = append(t.faults, &f)
	}
}

// ClearFaults removes all faults.
func (t *Target) ClearFaults() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = nil
}

// fault returns the first fault that matches a request.
func (t *Target) fault(r *http.Request, path string) Fault {
	for _, f := range t.faults {
		if f.matches(r, path) {
			f.Times--
			return *f
		}
	}
	return Fault{}
}
