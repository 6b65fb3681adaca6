// Package doctor checks what a program of this module needs from its machine and from others: its version and configuration, the clock,
// ports, the directory of the data, the database, and the targets of provisioning. It changes nothing that remains after the check.
package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/internal/counted"
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but probably not as intended
	Problem Status = "problem" // does not work
)

// A Result is the result of one check.
type Result struct {
	Check   string `json:"check"`
	Subject string `json:"subject,omitempty"` // the address, directory, database or URL
	Status  Status `json:"status"`
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"` // what to do; empty if the status is OK
}

// A Report is the result of all checks.
type Report struct {
	Results  []Result `json:"results"`
	Warnings int      `json:"warnings"`
	Problems int      `json:"problems"`
}

// Options are the subjects of the checks.
type Options struct {
	// Build describes the program, and Date is the date of its revision as YYYY-MM-DD, "" if it is not known.
	Build, Date string
	// Listen are the addresses that must be free. Default: that of the configuration, or those of the sandbox and of serve engine.
	Listen []string
	// Data is the directory of the data. Default: the directory of the SQLite database.
	Data string
	// DB is a database URL. Default: that of the configuration, or that of serve engine.
	DB string
	// Config is a configuration file of serve engine. Default: none.
	Config string
	// LookupEnv returns the variables to which the configuration refers.
	LookupEnv func(string) (string, bool)
	// Targets are the base URLs of SCIM servers. Default: none.
	Targets []string
	// Roots are the trusted certificates. Default: those of the system.
	Roots *x509.CertPool
}

// SandboxListen is the default address of the sandbox.
const SandboxListen = "127.0.0.1:8080"

// checkTimeout is the time limit of a check that waits for another machine.
const checkTimeout = 10 * time.Second

// examination is the state of a run.
type examination struct {
	Options
	report  Report
	current struct{ check, subject string }
}

// Run runs the checks.
func Run(ctx context.Context, o Options) Report {
	e := &examination{Options: o}
	e.at("program", "")
	e.ok("%s", o.Build)
	chosen := len(o.Listen) > 0 || o.Config != ""
	if o.Config != "" {
		e.configuration()
	}
	e.clock()
	if len(e.Listen) == 0 {
		e.Listen = []string{SandboxListen, daemon.DefaultListen}
	}
	for _, address := range e.Listen {
		e.port(ctx, address, chosen)
	}
	if e.DB == "" && e.Data != "" {
		e.DB = "sqlite:" + e.Data + "/" + serving.DatabaseName
	} else if e.DB == "" {
		e.DB = daemon.DefaultDB
	}
	e.storage(ctx)
	for _, target := range e.Targets {
		e.target(ctx, target)
	}
	for _, r := range e.report.Results {
		switch r.Status {
		case Warning:
			e.report.Warnings++
		case Problem:
			e.report.Problems++
		case OK:
		}
	}
	return e.report
}

// at starts a check of a subject. The following results belong to it.
func (e *examination) at(check, subject string) { e.current.check, e.current.subject = check, subject }

func (e *examination) add(status Status, do, format string, args ...any) {
	e.report.Results = append(e.report.Results, Result{
		Check: e.current.check, Subject: e.current.subject, Status: status, Text: fmt.Sprintf(format, args...), Do: do,
	})
}

func (e *examination) ok(format string, args ...any) { e.add(OK, "", format, args...) }

func (e *examination) warn(do, format string, args ...any) { e.add(Warning, do, format, args...) }

func (e *examination) fail(do, format string, args ...any) { e.add(Problem, do, format, args...) }

// configuration checks a configuration file, and takes the address and the database from it.
func (e *examination) configuration() {
	e.at("configuration", e.Config)
	o := daemon.Options{Config: e.Config, LookupEnv: e.LookupEnv, DB: e.DB}
	if len(e.Listen) == 1 {
		o.Listen = e.Listen[0]
	}
	resolved, err := o.Resolved()
	if err != nil {
		do := "Correct the file; docs/reference/daemon.md describes its members."
		if errors.Is(err, fs.ErrNotExist) {
			do = "Name another file with --config, or create this one; docs/reference/daemon.md describes its members."
		}
		e.fail(do, "%v", err)
		return
	}
	e.DB = resolved.DB
	if len(e.Listen) == 0 {
		e.Listen = []string{resolved.Listen}
	}
	e.ok("valid")
	if resolved.TLSCert != "" {
		e.ownCertificate(resolved.TLSCert, resolved.TLSKey)
	}
}

// clock checks the clock of this machine. The checks of the database and of the targets compare it with other clocks.
func (e *examination) clock() {
	e.at("clock", "")
	now := time.Now().UTC()
	built, err := time.Parse(time.DateOnly, e.Date)
	if err == nil && now.Before(built) {
		e.fail("Set the clock, for example with an NTP client.", "%s is before %s, the date of this program",
			now.Format(time.RFC3339), e.Date)
		return
	}
	e.ok("%s", now.Format(time.RFC3339))
}

// Limits of the difference between clocks. The clock of the database determines leases, and that of a target the expiry of tokens.
const (
	tolerated = 2 * time.Second
	tooMuch   = time.Minute
)

// difference compares the clock of another machine, read between two times of this machine. unit is the accuracy of that clock.
func (e *examination) difference(of string, before, theirs, after time.Time, unit time.Duration) {
	var off time.Duration
	switch {
	case theirs.Add(unit).Before(before):
		off = before.Sub(theirs) - unit
	case theirs.After(after):
		off = theirs.Sub(after)
	}
	text := fmt.Sprintf("the clock of %s and that of this machine differ by %s", of, off.Round(time.Millisecond))
	switch {
	case off > tooMuch:
		e.fail("Synchronize both clocks with NTP: tokens and leases expire at wrong times.", "%s", text)
	case off > tolerated:
		e.warn("Synchronize both clocks with NTP.", "%s", text)
	case off > 0:
		e.ok("%s", text)
	default:
		e.ok("the clock of %s agrees with that of this machine", of)
	}
}

// width is the width of the text in columns.
const width = 100

// WriteText writes one line for each check, and what to do after a warning or a problem.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, result := range r.Results {
		text := result.Text
		if result.Subject != "" {
			text = result.Subject + ": " + text
		}
		start := fmt.Sprintf("%-9s%-15s", result.Status, result.Check)
		b.WriteString(start + wrap(text, len(start)) + "\n")
		if result.Do != "" {
			indent := strings.Repeat(" ", 9)
			b.WriteString(indent + fmt.Sprintf("%-15s", "to do") + wrap(result.Do, len(start)) + "\n")
		}
	}
	ok := len(r.Results) - r.Warnings - r.Problems
	fmt.Fprintf(&b, "\n%d ok, %s, %s\n", ok, counted.Of(r.Warnings, "warning"), counted.Of(r.Problems, "problem"))
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a text at spaces. The lines after the first one are indented.
func wrap(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
