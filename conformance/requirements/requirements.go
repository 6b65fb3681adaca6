// Package requirements is the catalog of the requirements of SCIM 2.0 on servers and clients: one entry per normative statement of RFC
// 7643, RFC 7644 and RFC 9865 (and the relevant parts of RFC 9967, RFC 9110, RFC 6750 and RFC 7642), with a stable id, the section, the
// level and the paraphrased statement. Checks cite these ids and reports print them. The catalog is not a copy of the RFC texts. It
// contains no verdicts and no code that sends requests.
package requirements

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed catalog.json
var catalog []byte

// Level is the strength of a statement in the words of RFC 2119. SHALL and REQUIRED are listed as MUST, RECOMMENDED as SHOULD, OPTIONAL as
// MAY.
type Level string

// The levels in the catalog.
const (
	Must      Level = "MUST"
	MustNot   Level = "MUST NOT"
	Should    Level = "SHOULD"
	ShouldNot Level = "SHOULD NOT"
	May       Level = "MAY"
)

// Role is the side to which a statement applies.
type Role string

// The roles in the catalog. Both means servers and clients.
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
	// Basis is the source of the statement: keyword (an RFC 2119 word), prose, table, abnf, erratum, http, derived (it follows from normative
	// text) or reading (an interpretation where the documents are ambiguous; a violation is never a failure).
	Basis string `json:"basis"`
	// Text is the paraphrased statement.
	Text string `json:"text"`
	// Testable is "yes", "no" or "conditional": whether the statement can be tested over HTTP.
	Testable string `json:"testable"`
	// Condition lists the conditions for the statement to be testable, for example "patch.supported".
	Condition []string `json:"condition,omitempty"`
	// Probe describes in one sentence how to test the statement.
	Probe string `json:"probe"`
	// Errata are the ids of RFC Editor errata on the statement.
	Errata []int `json:"errata,omitempty"`
	// Doubt explains why a verdict is uncertain.
	Doubt string `json:"doubt,omitempty"`
}

// Strength returns the level for readers of a report: "SHOULD", or "SHOULD by interpretation" if no sentence of an RFC states it.
func (r Requirement) Strength() string { return Strength(string(r.Level), r.Basis) }

// Strength is [Requirement.Strength] for a level and a basis.
func Strength(level, basis string) string {
	if basis == "reading" {
		return level + " by interpretation"
	}
	return level
}

// entries parses the embedded catalog once. A damaged file is a build error; the test of this package detects it.
var entries = sync.OnceValue(func() []Requirement {
	var all []Requirement
	if err := json.Unmarshal(catalog, &all); err != nil {
		panic(fmt.Sprintf("requirements: the embedded catalog is damaged: %v", err))
	}
	return all
})

// positions maps an id to its index in entries.
var positions = sync.OnceValue(func() map[string]int {
	index := make(map[string]int, len(entries()))
	for i, r := range entries() {
		index[r.ID] = i
	}
	return index
})

// All returns all requirements in catalog order. The caller may modify the slice.
func All() []Requirement { return slices.Clone(entries()) }

// Lookup returns the requirement with the given id.
func Lookup(id string) (Requirement, bool) {
	i, ok := positions()[id]
	if !ok {
		return Requirement{}, false
	}
	return entries()[i], true
}
