package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/internal/counted"
	"github.com/scimwright/scimwright/internal/similar"
)

type lintCommand struct {
	Files   []string `arg:"" name:"file" help:"JSON files, directories of *.json files, or - for standard input."`
	As      string   `help:"Type of the documents: ${kinds}, or a schema URN. Default: by their schemas." placeholder:"KIND" complete:"@kinds"`
	From    string   `help:"${fromHelp}" enum:"client,server,either" default:"either"`
	Schema  []string `help:"${schemaHelp}" type:"path" placeholder:"FILE,..."`
	Partial bool     `help:"Allow missing attributes, as in responses to requests that select attributes."`
	AsJSON  bool     `name:"json" env:"SCIM_CONFORMANCE_LINT_JSON" help:"Print the findings as JSON."`
	Quiet   bool     `short:"q" help:"Print only findings that fail or warn."`
}

// stdin is the name of standard input on the command line.
const stdin = "-"

// Run checks the documents.
func (c *lintCommand) Run(in *invocation) error {
	opts, err := c.options()
	if err != nil {
		return err
	}
	files, err := documents(c.Files)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintln(in.stderr, "No document found: directories are searched for *.json.")
		return exitCode(ExitUntested)
	}
	var reports []lintReport
	for _, name := range files {
		data, err := readDocument(in, name)
		if err != nil {
			return usage("%s cannot be read: %v", name, err)
		}
		reports = append(reports, lintReport{name, lint.Lint(data, opts)})
	}
	if c.AsJSON {
		err = lintJSON(in.stdout, reports)
	} else {
		err = c.text(in.stdout, reports)
	}
	if err != nil {
		return err
	}
	for _, r := range reports {
		if r.report.Count(conformance.Fail)+r.report.Count(conformance.Warn) > 0 {
			return exitCode(ExitFindings)
		}
	}
	return nil
}

func (c *lintCommand) options() (lint.Options, error) {
	opts := lint.Options{As: c.As, Partial: c.Partial}
	if c.From != "either" {
		opts.From = lint.Side(c.From)
	}
	for _, name := range c.Schema {
		data, err := os.ReadFile(name)
		if err != nil {
			return opts, usage("--schema cannot be read: %v", err)
		}
		schemas, err := lint.ReadSchemas(data)
		if err != nil {
			return opts, usage("--schema %s is not a schema document: %v; lint it with --as Schema", name, err)
		}
		opts.Schemas = append(opts.Schemas, schemas...)
	}
	kind := func(k string) bool { return strings.EqualFold(k, c.As) }
	if c.As != "" && !slices.ContainsFunc(lint.Kinds(), kind) && !strings.HasPrefix(strings.ToLower(c.As), "urn:") {
		return opts, usage("--as: unknown document type %q: use %s, or the URN of a schema%s", c.As, strings.Join(lint.Kinds(), ", "),
			similar.Hint(c.As, lint.Kinds()))
	}
	return opts, nil
}

// documents replaces directories with the JSON files below them.
func documents(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		if name == stdin {
			out = append(out, name)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, usage("%s cannot be read: %v", name, err)
		}
		if !info.IsDir() {
			out = append(out, name)
			continue
		}
		err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(path), ".json") {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, usage("%s cannot be read: %v", name, err)
		}
	}
	return out, nil
}

// readDocument reads at most one byte more than the maximum size of a document.
func readDocument(in *invocation, name string) ([]byte, error) {
	if name == stdin {
		return io.ReadAll(io.LimitReader(in.stdin, lint.MaxSize+1))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, lint.MaxSize+1))
}

// A lintReport is the report on one file.
type lintReport struct {
	name   string
	report lint.Report
}

func (c *lintCommand) text(w io.Writer, reports []lintReport) error {
	count := map[conformance.Outcome]int{}
	for _, r := range reports {
		if !c.Quiet {
			fmt.Fprintf(w, "%s: %s\n", r.name, cmp.Or(r.report.Kind, "unknown type"))
		}
		for _, f := range r.report.Findings {
			count[f.Outcome()]++
			if c.Quiet && f.Outcome() == conformance.Info {
				continue
			}
			fmt.Fprintf(w, "%s:%d:%d: %s %s %s\n  at    %s\n  want  %s\n  got   %s\n  fix   %s\n", r.name, f.Line, f.Column,
				strings.ToUpper(string(f.Outcome())), f.Rule.ID, f.Rule.Requirement, f.Path, f.Want, f.Got, f.Rule.Fix)
		}
		if r.report.More > 0 {
			fmt.Fprintf(w, "%s: %s more\n", r.name, counted.Of(r.report.More, "finding"))
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d failed, %d warned, %d for information\n", counted.Of(len(reports), "document"), count[conformance.Fail],
		count[conformance.Warn], count[conformance.Info])
	return err
}

// lintVersion is increased for incompatible changes of the JSON form.
const lintVersion = 1

func lintJSON(w io.Writer, reports []lintReport) error {
	type finding struct {
		Outcome     conformance.Outcome `json:"outcome"`
		Rule        string              `json:"rule"`
		Title       string              `json:"title"`
		Requirement string              `json:"requirement"`
		Clause      string              `json:"clause"`
		Path        string              `json:"path"`
		Line        int                 `json:"line"`
		Column      int                 `json:"column"`
		Want        string              `json:"want"`
		Got         string              `json:"got"`
		Fix         string              `json:"fix"`
	}
	type document struct {
		File     string    `json:"file"`
		Kind     string    `json:"kind,omitempty"`
		Findings []finding `json:"findings"`
		More     int       `json:"more,omitempty"`
	}
	out := struct {
		Version   int        `json:"lint"`
		Documents []document `json:"documents"`
	}{Version: lintVersion}
	for _, r := range reports {
		d := document{File: r.name, Kind: r.report.Kind, Findings: []finding{}, More: r.report.More}
		for _, f := range r.report.Findings {
			clause, _ := requirements.Lookup(f.Rule.Requirement)
			d.Findings = append(d.Findings,
				finding{f.Outcome(), f.Rule.ID, f.Rule.Title, f.Rule.Requirement, clause.Text, f.Path, f.Line, f.Column, f.Want, f.Got, f.Rule.Fix})
		}
		out.Documents = append(out.Documents, d)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
