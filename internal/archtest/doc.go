// Package archtest keeps the import rules of the house, as data, and checks the source tree against them.
//
// It is for what no compiler checks: which package may know which, and which exported names other modules can use. It is not a
// linter; style belongs to golangci-lint. Every rule carries its reason, which is printed when the rule is broken.
package archtest
