// Package frame contains the common code of the programs: help, references to the help, errors in arguments, trusted certificates,
// terminals, and build information. It does not depend on any command.
package frame

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/scimwright/scimwright/internal/similar"
)

// Arguments converts the usual requests for help to the flag that kong supports: no arguments, "help", and "help" followed by a command.
func Arguments(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(append([]string{}, args[1:]...), "--help")
	}
	return args
}

// Hint returns a reference to the help of the command in the arguments, if they contain a command. err is the error of the parser, or nil.
// parsed may be nil if err is a *kong.ParseError.
func Hint(program string, parsed *kong.Context, err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		parsed = parse.Context
	}
	if parsed != nil && parsed.Selected() != nil {
		program = parsed.Selected().FullPath()
	}
	return fmt.Sprintf("Try %q.", program+" --help")
}

// notOneOf matches the error of kong for a value that is not one of a list.
var notOneOf = regexp.MustCompile(`^(.+) must be one of ((?:"[^"]*",)*"[^"]*") but got (".*")$`)

// expected matches the error of kong for a missing argument.
var expected = regexp.MustCompile(`^expected "(<[^<>"]+>)"$`)

// Problem returns the text of an error of the parser. If a value is not one of a list, the text has the list, and the value that is similar
// to it.
func Problem(err error) string {
	if m := expected.FindStringSubmatch(err.Error()); m != nil {
		return "the argument " + m[1] + " is missing"
	}
	m := notOneOf.FindStringSubmatch(err.Error())
	if m == nil {
		return err.Error()
	}
	got, unquoteErr := strconv.Unquote(m[3])
	if unquoteErr != nil {
		return err.Error()
	}
	known := slices.DeleteFunc(strings.Split(strings.ReplaceAll(m[2], `"`, ""), ","), func(v string) bool { return v == "" })
	return fmt.Sprintf("%s must be one of %s, but is %q%s", m[1], strings.Join(known, ", "), got, similar.Hint(got, known))
}

// Version returns the version of the module that the program was built from, or "(devel)" if the build did not record it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// BuildInfo is what a build has recorded. The members are those of the JSON of the command version.
type BuildInfo struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the files differ from the revision
	Date     string `json:"date,omitempty"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Info returns what the build of a program has recorded.
func Info(program string) BuildInfo {
	return BuildInfo{
		Program: program, Version: Version(), Revision: setting("vcs.revision"), Modified: setting("vcs.modified") == "true",
		Date: Date(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// Build returns one line about the program: its version, the revision and its date if the build recorded them, and its platform.
func Build(program string) string {
	info := Info(program)
	words := []string{info.Program, info.Version}
	for _, word := range []string{info.Revision, info.Date} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(append(words, info.Go, info.Platform), " ")
}

// Date returns the date of the revision that the program was built from, as YYYY-MM-DD, or "" if the build did not record it.
func Date() string {
	date, _, _ := strings.Cut(setting("vcs.time"), "T")
	return date
}

// setting returns a setting of the build, or "" if the build did not record it.
func setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}

// IsTerminal reports whether w is a terminal, whose output no service manager stores.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// UsageError is an error in the arguments that the parser does not detect.
type UsageError struct{ text string }

// Usage returns a UsageError.
func Usage(text string) error { return &UsageError{text} }

func (e *UsageError) Error() string { return e.text }

// Roots returns the certificates of the system and those in a PEM file, the value of the flag --ca-file. It returns nil, which means those
// of the system, if the file is "".
func Roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, Usage(fmt.Sprintf("--ca-file cannot be read: %v", err))
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, Usage(fmt.Sprintf("--ca-file %s contains no certificate in PEM format", file))
	}
	return pool, nil
}
