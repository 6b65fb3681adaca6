// Package walk runs the steps of a client's usual work and tells which of them stumble.
package walk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Walk is one client's work. Every step runs, whatever became of those before it.
type Walk struct {
	out                       io.Writer
	steps, stumbled, unserved int
}

// New begins a walk that tells standard output of each step.
func New() *Walk { return &Walk{out: os.Stdout} }

// Step runs one piece of work. A panic of the client library is a stumble like an error.
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
		w.stumbled++
		fmt.Fprintf(w.out, "STUMBLED %s: %v\n", name, err)
	}
}

// What the sandbox says of a path (E0000008) and of a kind of application that it does not serve: what is not there is no stumble.
const (
	noPath = "The requested path was not found"
	noKind = "applications are not served"
)

// End tells how it went and returns the exit code of the process.
func (w *Walk) End() int {
	fmt.Fprintf(w.out, "%d steps, %d stumbled, %d not served\n", w.steps, w.stumbled, w.unserved)
	if w.stumbled > 0 || w.steps == 0 {
		return 1
	}
	return 0
}

// Same says that a value is not what it should be.
func Same[T comparable](what string, want, got T) error {
	if want != got {
		return fmt.Errorf("%s: wanted %v, got %v", what, want, got)
	}
	return nil
}

// All joins what several checks say.
func All(errs ...error) error { return errors.Join(errs...) }
