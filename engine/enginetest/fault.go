package enginetest

import (
	"net/http"
	"strings"
)

// Fault is something that a target does wrong. Exactly one of the effects is set.
type Fault struct {
	// Method and Path restrict the fault to some requests: the method, and the beginning of the path below the base. Empty
	// fields match all.
	Method, Path string
	// Times is how often the fault happens. Defaults to 1; negative means until Heal.
	Times int

	Status     int             // answer with this status and a SCIM error, without doing anything
	RetryAfter string          // goes with Status
	HTML       bool            // answer 200 with a page, without doing anything
	Hang       <-chan struct{} // do not answer until it is closed, nor do anything; the connection is then dropped
	Drop       bool            // drop the connection, without doing anything
	DropAfter  bool            // do it, then drop the connection
	Truncate   bool            // do it, then break the answer off in the middle
	Empty      bool            // do it, then answer with the right status and no body
	Stale      bool            // show a single resource as it was before the last change
	Twice      bool            // do it, then list every resource twice
	Repeat     bool            // answer a request for a page with the first one
	Accept     bool            // answer a change, not a read, with 202 and a Set-Txn, and do it when Target.CarryOut is called
	After      int             // goes with Accept: do it before that many reads that follow, without CarryOut
	Locate     bool            // goes with Accept: the answer to a POST says where the resource will be
}

func (f *Fault) matches(r *http.Request, path string) bool {
	method := f.Method == "" && (!f.Accept || r.Method != http.MethodGet) || f.Method == r.Method
	return f.Times != 0 && method && strings.HasPrefix(path, f.Path)
}

// Inject adds faults. The first one that matches a request happens.
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

// fault takes the first fault that matches.
func (t *Target) fault(r *http.Request, path string) Fault {
	for _, f := range t.faults {
		if f.matches(r, path) {
			f.Times--
			return *f
		}
	}
	return Fault{}
}
