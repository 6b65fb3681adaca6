package quirks

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// Category is the kind of deviation of a quirk.
type Category string

// The categories.
const (
	Profile Category = "profile" // behavior of known products, intended or long-standing
	Fault   Category = "fault"   // a defect that applies to every request
	Chaos   Category = "chaos"   // a failure of the network or the server, at random
)

// Quirk is one row of the table.
type Quirk struct {
	// Name consists of words joined by hyphens. It never changes.
	Name     string
	Category Category
	// Does describes the deviation, as a sentence without subject and final period. "N" or a similar word represents the argument.
	Does string
	// Seen lists known servers with this behavior: a product, and a link to an issue if one exists. It is empty if no such server is known.
	Seen string
	// Argument describes the argument, which follows the name after "=". The zero value means that the quirk has no argument.
	Argument Argument

	// start returns the deviation with a new state. The state is discarded when the settings are replaced.
	start func(s Setting) deviation
}

// deviation returns a response, which is sent instead of the server's, or nil to forward the request to the server.
type deviation func(c *call) *response

// maxBody is the maximum size of a body that quirks read into memory, in bytes. It is larger than the body limit of servers, so that the
// server and not the quirk rejects a body that is too large.
const maxBody = 64 << 20

// All returns the table. The caller may change the slice.
//
// If several quirks are active, an earlier row is applied closer to the server. Chaos is applied last, to the response that the other
// quirks have changed.
func All() []Quirk {
	return slices.Concat(discovery, patching, replacing, creating, groups, listing, formatting, chaos)
}

// Lookup returns the row with that name.
func Lookup(name string) (Quirk, bool) {
	for _, q := range All() {
		if q.Name == name {
			return q, true
		}
	}
	return Quirk{}, false
}

// Switch is a handler whose quirks can be changed while it serves requests.
type Switch struct {
	server http.Handler

	mu       sync.RWMutex
	settings []Setting
	handler  http.Handler
}

// New returns a Switch in front of a server, with these initial quirks.
func New(server http.Handler, settings ...Setting) (*Switch, error) {
	s := &Switch{server: server}
	return s, s.Set(settings...)
}

// Set replaces all quirks. The state of quirks that remain active, such as their random numbers, is reset. Requests in progress finish with
// the previous quirks.
func (s *Switch) Set(settings ...Setting) error { return s.SetShared(nil, settings...) }

// SetShared does the same as Set for one of several replicas of a server. All replicas have the same settings, and the state of the quirks
// is in shared: the option times of a chaos quirk, for example, limits the affected requests of all replicas together. A nil shared means
// that the state is in memory.
func (s *Switch) SetShared(shared Shared, settings ...Setting) error {
	order := map[string]int{}
	for i, q := range All() {
		order[q.Name] = i
	}
	sorted := slices.Clone(settings)
	slices.SortStableFunc(sorted, func(a, b Setting) int { return cmp.Compare(order[a.Name], order[b.Name]) })
	handler := s.server
	seen := map[string]bool{}
	for _, set := range sorted {
		q, ok := Lookup(set.Name)
		if !ok {
			return unknown(set.Name)
		}
		text := set.String()
		if seen[text] {
			return fmt.Errorf("quirk %s occurs twice", text)
		}
		seen[text] = true
		handler = wrap(handler, q.start(set), shared)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings, s.handler = sorted, handler
	return nil
}

// Settings returns the active quirks in the order of the table.
func (s *Switch) Settings() []Setting {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.settings)
}

// ServeHTTP handles the request with the server and its quirks.
func (s *Switch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	handler, active := s.handler, len(s.settings) > 0
	s.mu.RUnlock()
	if active {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	handler.ServeHTTP(w, r)
}

// WriteTable writes the table for a terminal.
func WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "QUIRK\tCATEGORY\tTHE SERVER")
	for _, q := range All() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", q.Usage(), q.Category, q.Does)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nChaos takes options after its setting: ,p=PROBABILITY ,seed=N ,times=N ,method=METHOD")
	return err
}

// Markdown returns the table in Markdown, for docs/reference/quirks.md.
func Markdown() string {
	var b strings.Builder
	for _, category := range []Category{Profile, Fault, Chaos} {
		fmt.Fprintf(&b, "\n## %s\n\n| Quirk | The server | Seen at |\n|---|---|---|\n", headings[category])
		for _, q := range All() {
			if q.Category == category {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", q.Usage(), q.Does, q.Seen)
			}
		}
	}
	return b.String()
}

var headings = map[Category]string{Profile: "Profiles: behavior of known products", Fault: "Faults: defects on every request",
	Chaos: "Chaos: failures at random"}
