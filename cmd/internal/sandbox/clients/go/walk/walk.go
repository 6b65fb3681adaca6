// Package walk runs the steps of a client program and reports which of them fail.
package walk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Walk is a run of a client program. All steps run, even after a failure.
type Walk struct {
	out                     io.Writer
	steps, failed, unserved int
}

// New returns a Walk that prints the result of each step to standard output.
func New() *Walk { return &Walk{out: os.Stdout} }

// Step runs one step. A panic of the client library counts as a failure.
func (w *Walk) Step(name string, do func() error) {
	w.steps++
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return do()
	}()
	switch {
	case err == nil:
		fmt.Fprintf(w.out, "ok %s\n", name)
	case strings.Contains(err.Error(), noPath) || strings.Contains(err.Error(), noKind):
		w.unserved++
		fmt.Fprintf(w.out, "UNSERVED %s: %v\n", name, err)
	default:
		w.failed++
		fmt.Fprintf(w.out, "FAILED %s: %v\n", name, err)
	}
}

// The error messages of the sandbox for an unknown path (E0000008) and for a kind of application that it does not serve. Steps with these
// errors do not count as failures.
const (
	noPath = "The requested path was not found"
	noKind = "applications are not served"
)

// End prints the totals and returns the exit code of the process.
func (w *Walk) End() int {
	fmt.Fprintf(w.out, "%d steps, %d failed, %d not served\n", w.steps, w.failed, w.unserved)
	if w.failed > 0 || w.steps == 0 {
		return 1
	}
	return 0
}

// Same returns an error if two values differ.
func Same[T comparable](what string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: wanted %v, got %v", what, want, got)
	}
	return nil
}

// All joins the errors of several checks.
func All(errs ...error) error { return errors.Join(errs...) }
