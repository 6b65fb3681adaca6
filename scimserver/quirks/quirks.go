// Package quirks makes a correct SCIM server behave like the servers that clients meet: an http.Handler around another one,
// and a table of deliberate deviations, one row each. Some are habits of known products, some are single faults, and
// some are chaos that strikes at random, repeatable by its seed.
//
// It is for trying a provisioning client, by hand in the sandbox and in tests. It does not test a conformance suite: there
// each rule is broken by a fault of its own, here only what a client has to cope with counts. What a bulk job carries is
// not looked into.
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

// Category says what kind of deviation a quirk is.
type Category string

// The categories.
const (
	Profile Category = "profile" // what products do on purpose, or have always done
	Fault   Category = "fault"   // a defect, each time
	Chaos   Category = "chaos"   // trouble of the network or the operation, at random
)

// Quirk is one row of the table.
type Quirk struct {
	// Name is words joined by hyphens. It never changes.
	Name     string
	Category Category
	// Does says how the server deviates, as a sentence without subject and final stop. "N" or the like stands for the argument.
	Does string
	// Seen says who is known to behave so: a product, and an issue thread where there is one. Empty for what anybody may do.
	Seen string
	// Argument says what may follow the name after "=". The zero value: nothing.
	Argument Argument

	// start returns the deviation. State that it needs lives as long as one activation.
	start func(s Setting) deviation
}

// deviation answers a request in place of the server, or returns nil to leave it to the server.
type deviation func(c *call) *answer

// maxBody bounds what quirks read into memory, in bytes. It is above what servers accept, so that they refuse first.
const maxBody = 64 << 20

// All returns the table. The caller may change the slice.
//
// A new quirk is a row in the file of its subject and an example in quirks_test.go. Two pages list it: docs/quirks.md (the tests of this
// package with -update) and docs/clients.md (TestProfiles_BreakOnListedQuirks in cmd/internal/truth with -update).
//
// Where several quirks are active, an earlier row sits closer to the server: chaos comes last and strikes whatever the
// others have made of the answer.
func All() []Quirk {
	return slices.Concat(discovery, patching, replacing, creating, groups, listing, answering, chaos)
}

// Lookup returns the row of that name.
func Lookup(name string) (Quirk, bool) {
	for _, q := range All() {
		if q.Name == name {
			return q, true
		}
	}
	return Quirk{}, false
}

// Switch is a handler whose quirks can be changed while it serves.
type Switch struct {
	server http.Handler

	mu       sync.RWMutex
	settings []Setting
	handler  http.Handler
}

// New puts a switch in front of a server, with these quirks to begin with.
func New(server http.Handler, settings ...Setting) (*Switch, error) {
	s := &Switch{server: server}
	return s, s.Set(settings...)
}

// Set replaces all quirks. The chaos and the memory of those that stay begin anew. Requests that are under way end as they
// began.
func (s *Switch) Set(settings ...Setting) error {
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
			return fmt.Errorf("there is no quirk %q", set.Name)
		}
		text := set.String()
		if seen[text] {
			return fmt.Errorf("quirk %s is given twice", text)
		}
		seen[text] = true
		handler = wrap(handler, q.start(set))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings, s.handler = sorted, handler
	return nil
}

// Settings returns the quirks that are active, in the order of the table.
func (s *Switch) Settings() []Setting {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.settings)
}

// ServeHTTP answers as the server with its quirks does.
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

// Markdown is the table for people to read, as docs/quirks.md shows it.
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

var headings = map[Category]string{Profile: "Profiles: habits of products", Fault: "Faults: defects, each time",
	Chaos: "Chaos: trouble at random"}
