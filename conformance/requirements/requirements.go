// Package requirements is the catalogue of what the SCIM 2.0 documents ask of servers and clients: one entry per
// normative statement of RFC 7643, RFC 7644 and RFC 9865 (and the parts of RFC 9967, RFC 9110, RFC 6750 and RFC 7642 that
// bear on them), with a stable id, the section, the level and the statement in our own words. Checks cite these ids and
// reports print them. It is not a copy of the RFC texts, and it holds no verdicts and no code that talks to a server.
package requirements

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed catalogue.json
var catalogue []byte

// Level is the strength of a statement in the words of RFC 2119. SHALL and REQUIRED are filed under MUST, RECOMMENDED
// under SHOULD, OPTIONAL under MAY.
type Level string

// The levels that occur in the catalogue.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// Role is the side that a statement binds.
type Role string

// The roles that occur in the catalogue. Both means that servers and clients are bound alike.
const (
	Server Role = "server"
	Client Role = "client"
	Both   Role = "both"
)

// A Requirement is one normative statement.
type Requirement struct {
	// ID is "<RFC>-<section>-<number>", for example RFC7644-3.5.2-28. Ids are never renumbered or reused.
	ID string `json:"id"`
	// Section names the document and the section, for example "RFC7644 3.5.2".
	Section string `json:"section"`
	Level   Level  `json:"level"`
	Role    Role   `json:"role"`
	// Area groups statements by subject: create, filter, patch, discovery and so on.
	Area string `json:"area"`
	// Basis tells what the statement stands on: keyword (an RFC 2119 word), prose, table, abnf, erratum, http, derived
	// (it follows from normative text) or reading (an interpretation where the documents are silent: never a failure).
	Basis string `json:"basis"`
	// Text is the statement in our own words.
	Text string `json:"text"`
	// Testable is "yes", "no" or "conditional": can it be observed over HTTP from outside?
	Testable string `json:"testable"`
	// Condition lists what must hold for the statement to be testable, for example "patch.supported".
	Condition []string `json:"condition,omitempty"`
	// Probe says in one sentence how the statement can be tested.
	Probe string `json:"probe"`
	// Errata are RFC Editor errata ids that bear on the statement.
	Errata []int `json:"errata,omitempty"`
	// Doubt says why a verdict needs care.
	Doubt string `json:"doubt,omitempty"`
}

// entries parses the embedded catalogue once. The file is part of the program, so a damaged one is a broken build; the
// test of this package keeps it whole.
var entries = sync.OnceValue(func() []Requirement {
	var all []Requirement
	if err := json.Unmarshal(catalogue, &all); err != nil {
		panic(fmt.Sprintf("requirements: the embedded catalogue is damaged: %v", err))
	}
	return all
})

// positions maps an id to its place in entries.
var positions = sync.OnceValue(func() map[string]int {
	index := make(map[string]int, len(entries()))
	for i, r := range entries() {
		index[r.ID] = i
	}
	return index
})

// All returns every requirement in catalogue order. The caller may change the slice.
func All() []Requirement { return slices.Clone(entries()) }

// Lookup returns the requirement with the given id.
func Lookup(id string) (Requirement, bool) {
	i, ok := positions()[id]
	if !ok {
		return Requirement{}, false
	}
	return entries()[i], true
}
