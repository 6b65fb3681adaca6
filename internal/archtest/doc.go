// Package archtest contains the import rules of the module, as data, and checks the source tree against them.
//
// It checks what the compiler does not: which package may import which, and which exported names other modules can use. It is not a linter;
// style belongs to golangci-lint. Every rule has a reason, which is printed when the rule is broken.
package archtest
