package conform

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/cli/frame"
)

type runCommand struct {
	URL string `arg:"" help:"Base URL of the SCIM server, such as https://example.com/scim/v2."`
	connection
	selection
	ReadOnly    bool   `help:"Create nothing; run only the checks that need no objects of their own."`
	YesWrite    bool   `help:"Consent to creating and removing test objects on a server that is not this machine."`
	MaxRequests int    `help:"Most requests to send; cleaning up is not bounded." default:"5000"`
	Journal     string `help:"File that lists what was created, for cleanup after a crash. Removed when nothing is left. Defaults to a new file in the directory for temporary files." type:"path" placeholder:"FILE"`
	Format      string `help:"Format of the report on standard output: text or json." enum:"text,json" default:"text"`
	JSON        string `help:"Write the JSON report to this file as well." type:"path" placeholder:"FILE"`
	Skipped     bool   `help:"List skipped checks with their reasons in the text report."`
	Color       string `help:"Colours in the text report: auto, always or never." enum:"auto,always,never" default:"auto"`
}

// Run tests the target and prints the report.
func (c *runCommand) Run(in *invocation) error {
	selected, err := c.checks()
	if err != nil {
		return err
	}
	target, err := c.target(c.URL)
	if err != nil {
		return err
	}
	if c.MaxRequests < 1 {
		return usage("--max-requests must be positive")
	}
	opts := conformance.Options{
		Checks: selected, ReadOnly: c.ReadOnly, AllowWrites: c.YesWrite, MaxRequests: c.MaxRequests,
		Timeout: c.Timeout, RequestTimeout: c.RequestTimeout, Journal: c.journal(),
	}
	var jsonFile *os.File
	if c.JSON != "" {
		// Before the run: nobody wants to learn afterwards that the report has no place.
		if jsonFile, err = os.Create(c.JSON); err != nil {
			return usage("--json cannot be written: %v", err)
		}
		defer jsonFile.Close()
	}
	opts.JournalStarted = func(path string) {
		fmt.Fprintf(in.stderr, "Should this run be killed, remove what it created with: %s\n", c.cleanup(in.program, path))
	}
	if isTerminal(in.stderr) {
		opts.Progress = progress(in.stderr)
	}
	result, err := conformance.Run(in.ctx, target, opts)
	if result == nil {
		return consent(err)
	}
	if opts.Progress != nil {
		fmt.Fprint(in.stderr, clearLine)
	}
	if jsonFile != nil {
		if err := report.JSON(jsonFile, result, frame.Version()); err != nil {
			return fmt.Errorf("the JSON report could not be written: %w", err)
		}
	}
	if reportErr := c.print(in, result); reportErr != nil {
		return fmt.Errorf("the report could not be written: %w", reportErr)
	}
	if err != nil {
		return err
	}
	switch result.Verdict {
	case conformance.Clean:
		return nil
	case conformance.Findings:
		return exitCode(ExitFindings)
	default:
		return exitCode(ExitUntested)
	}
}

// journal chooses a file name. The name need not be unguessable: the file is created by the run, and only if it is new.
func (c *runCommand) journal() string {
	switch {
	case c.ReadOnly:
		return ""
	case c.Journal != "":
		return c.Journal
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("scim-conformance-%s-%d.journal", time.Now().Format("20060102-150405"), os.Getpid()))
}

// cleanup is the command line that removes what a journal lists, to be pasted into a shell. It names the variable that the
// token is read from, never the token.
func (c *runCommand) cleanup(program, journal string) string {
	words := []string{program, "cleanup", quote(journal)}
	if c.Token != "" {
		words = append(words, `--token "$SCIM_TOKEN"`)
	}
	for _, h := range c.Header {
		name, _, _ := strings.Cut(h, ":")
		words = append(words, "--header "+quote(name+": ..."))
	}
	if c.CAFile != "" {
		words = append(words, "--ca-file "+quote(c.CAFile))
	}
	return strings.Join(words, " ")
}

// plain matches what a shell takes as one word without quotes.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (c *runCommand) print(in *invocation, r *conformance.Result) error {
	w := in.stdout
	if c.Format == "json" {
		return report.JSON(w, r, frame.Version())
	}
	return report.Text(w, r, report.TextOptions{
		Color: c.Color == "always" || c.Color == "auto" && isTerminal(w), Skipped: c.Skipped,
		Cleanup: func(journal string) string { return c.cleanup(in.program, journal) },
	})
}

// consent names the flags in the refusal that the library words without them.
func consent(err error) error {
	if _, ok := errors.AsType[*conformance.ConsentError](err); ok {
		return usage("%v: pass --yes-write, or --read-only", err)
	}
	return err
}

const clearLine = "\r\x1b[K"

// progress shows the check that was just done on one line of a terminal.
func progress(w io.Writer) func(int, int, conformance.CheckResult) {
	return func(done, planned int, r conformance.CheckResult) {
		fmt.Fprintf(w, clearLine+"%d/%d %s", done, planned, r.Check.ID)
	}
}
