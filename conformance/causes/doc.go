// Package causes groups the findings of a conformance run by root cause: one fault of a server leads to findings of many checks, and an
// operator fixes faults, not findings.
//
// [Of] explains the symptoms of a result in two steps. A symptom is a check with findings of the outcome Fail or Warn that are not waived,
// or a precondition that blocked checks.
//
// First, signatures: [Signatures] has, for every known fault (the mutants of cmd/internal/truth/mutants and the quirks of
// scimserver/quirks), the set of checks that have findings about a server with this fault alone, and the fingerprints of their findings
// (fingerprints.go). Of looks for the smallest set of signatures that together predict the symptoms (explain.go). Signatures whose
// fingerprints equal those of the findings take precedence.
//
// Second, shared evidence: symptoms that no signature predicts are grouped by rules ([Rules]), for example the same exchange or the same
// wrong response to the same request. A symptom that shares no evidence with another one is a cause of its own.
//
// If known faults explain most symptoms, these faults stay separate causes, and the other symptoms join them (combined.go).
//
// signatures.txt is generated: `make causes` runs the suite against every mutant and quirk. A new rule is a row in rules.go.
//
// The package does not evaluate responses and changes no outcome. The result depends on the run alone: the same result has the same causes.
package causes
