// Package report writes the result of a conformance run: as text, as versioned JSON with its schema, and in the formats JUnit, SARIF,
// Markdown, HTML, HAR and badges. It compares two JSON reports. It does not evaluate results: outcomes and verdicts come from package
// conformance, clauses from package requirements.
//
// Each format has its own file: text.go, json.go, html.go and so on. [Writers] lists the formats. A change of a format changes golden files
// in testdata, which the tests of this package write with -update.
package report
