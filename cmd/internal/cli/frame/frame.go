// Package frame holds what the programs do alike around their commands: asking for help, hinting at it, mistakes in arguments,
// and telling which build runs. It knows no command.
package frame

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// Arguments turns the ways to ask for help that people try into the flag that kong knows: nothing at all, "help", and "help"
// followed by a command.
func Arguments(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(append([]string{}, args[1:]...), "--help")
	}
	return args
}

// Hint names the help of the command that was meant, as far as the arguments tell. Err is what parsing returned; parsed may
// be nil then.
func Hint(program string, parsed *kong.Context, err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		parsed = parse.Context
	}
	if parsed != nil && parsed.Selected() != nil {
		program = parsed.Selected().FullPath()
	}
	return fmt.Sprintf("Try %q.", program+" --help")
}

// Version is the version of the module that the program was built from, "(devel)" when the build did not record it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Build is one line about the program: its version, its revision as far as the build recorded one, and what it runs on.
func Build(program string) string {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return fmt.Sprintf("%s %s%s %s %s/%s", program, Version(), revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// UsageError is a mistake in the arguments that only the command itself can see.
type UsageError struct{ text string }

// Usage makes a UsageError.
func Usage(text string) error { return &UsageError{text} }

func (e *UsageError) Error() string { return e.text }
