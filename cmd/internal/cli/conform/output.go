package conform

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/internal/similar"
)

// outputs is the set of flags for reports in files.
type outputs struct {
	Output lines  `short:"o" help:"Write a report to a file (repeatable); - is standard output. Forms: ${forms}." placeholder:"FORM=FILE"`
	JSON   string `help:"Same as --output json=FILE. If FILE is -, standard output has only JSON." type:"path" placeholder:"FILE"`
}

// printing is the set of flags for standard output.
type printing struct {
	Format  string `help:"Form of the report on standard output: none or a form of --output." enum:"${formats}" default:"text"`
	All     bool   `help:"List every finding in the text report. Default: the causes of the findings, in at most 60 lines."`
	Skipped bool   `help:"List skipped checks with their reasons in the text report."`
	Color   string `help:"Colors in the text report: auto (respects NO_COLOR), always or never." enum:"auto,always,never" default:"auto"`
	NoColor string `name:"no-color-environment" hidden:"" env:"NO_COLOR"`
	Quiet   bool   `short:"q" help:"Print only the verdict: no progress and no report on standard output."`
}

// print writes the report. cleanup returns the command line that removes the objects in a journal. It is nil for commands without a
// journal.
func (c printing) print(in *invocation, r *conformance.Result, cleanup func(journal string) string) error {
	w := in.stdout
	switch {
	case c.Format == "none":
		return nil
	case c.Quiet:
		_, err := fmt.Fprintf(w, "%s: %s, %d failed, %d warned%s\n", r.Target, r.Verdict, r.Count(conformance.Fail), r.Count(conformance.Warn),
			clientCounts(r))
		if r.Reason != "" {
			fmt.Fprintln(in.stderr, r.Reason)
		}
		return err
	case c.Format == "text":
		return report.Text(w, r, report.TextOptions{
			Color: c.Color == "always" || c.Color == "auto" && c.NoColor == "" && frame.IsTerminal(w), All: c.All,
			Skipped: c.Skipped, Cleanup: cleanup,
		})
	}
	form, _ := report.WriterNamed(c.Format) // kong has validated the name
	return form.Write(w, r, frame.Version())
}

// clientCounts returns the number of client flows by compatibility, empty without client flows.
func clientCounts(r *conformance.Result) string {
	text := ""
	for _, fit := range []conformance.Compatibility{conformance.Breaks, conformance.UnknownCompatibility, conformance.WorksWithLimits,
		conformance.Works} {
		n := 0
		for _, f := range r.Profiles {
			if f.Compatibility == fit {
				n++
			}
		}
		if n > 0 {
			text += fmt.Sprintf(", %d %s", n, fit)
		}
	}
	if text == "" {
		return ""
	}
	return "; client flows:" + strings.TrimPrefix(text, ",")
}

// An outputFile is a report and its destination.
type outputFile struct {
	form report.Writer
	file io.WriteCloser // an *outFile, or standard output
}

// standardOutput is not closed with the report.
type standardOutput struct{ io.Writer }

func (standardOutput) Close() error { return nil }

// open opens the files before the run, so that an unwritable path is a usage error. An existing file is replaced only when the report is
// complete. The path - is stdout.
//
// If the JSON report goes to stdout, open changes p so that nothing else does.
func (o outputs) open(stdout io.Writer, p *printing) (files []outputFile, err error) {
	if o.JSON == "-" {
		p.Format = "none"
	}
	type place struct{ flag, form, path string }
	var places []place
	if o.JSON != "" {
		places = append(places, place{"--json", "json", o.JSON})
	}
	for _, w := range o.Output {
		form, path, found := strings.Cut(w, "=")
		if !found || path == "" {
			return nil, usage("--output %q is not of the form FORM=FILE; forms are %s", w, forms())
		}
		places = append(places, place{"--output " + form, form, path})
	}
	defer func() {
		if err != nil {
			discardAll(files)
		}
	}()
	for _, p := range places {
		form, known := report.WriterNamed(p.form)
		if !known {
			return files, usage("--output: unknown form %q; forms are %s%s", p.form, forms(), hint(p.form, forms()))
		}
		if p.path == "-" {
			files = append(files, outputFile{form, standardOutput{stdout}})
			continue
		}
		file, err := createOut(p.path, 0o666)
		if err != nil {
			return files, usage("%s cannot be written: %v", p.flag, err)
		}
		files = append(files, outputFile{form, file})
	}
	return files, nil
}

// forms returns the names of the forms of reports, such as text and json.
func forms() string {
	var names []string
	for _, w := range report.Writers() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

// hint returns a hint to the name of a list, separated by commas, that is similar to an unknown one, or "".
func hint(name, list string) string { return similar.Hint(name, strings.Split(list, ", ")) }

// wantTraffic reports whether one of the reports has a form that contains every exchange, such as har.
func wantTraffic(files []outputFile) bool {
	for _, f := range files {
		if f.form.Traffic {
			return true
		}
	}
	return false
}

// writeAll writes all reports, even if one of them fails.
func writeAll(files []outputFile, r *conformance.Result) error {
	var all error
	for _, f := range files {
		err := f.form.Write(f.file, r, frame.Version())
		if err == nil {
			err = f.file.Close()
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("write the %s report: %w", f.form.Name, err))
		}
	}
	return all
}

// discardAll removes the incomplete files.
func discardAll(files []outputFile) {
	for _, f := range files {
		if file, ok := f.file.(*outFile); ok {
			file.Discard()
		}
	}
}

// progress returns a function that prints the progress of a run on one line of a terminal.
func progress(w io.Writer) func(int, int, conformance.CheckResult) {
	found := 0
	return func(done, planned int, r conformance.CheckResult) {
		if (r.Outcome == conformance.Fail || r.Outcome == conformance.Warn) && !r.Waived() {
			found++
		}
		const width = 24
		full := width * done / max(planned, 1)
		id := r.Check.ID
		if len(id) > 32 {
			id = id[:31] + "…"
		}
		fmt.Fprintf(w, clearLine+"[%s%s] %d/%d, found %d  %s", strings.Repeat("#", full), strings.Repeat(".", width-full), done, planned, found,
			id)
	}
}

const clearLine = "\r\x1b[K"
