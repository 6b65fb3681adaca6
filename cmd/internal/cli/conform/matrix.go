package conform

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scimwright/scimwright/conformance/matrix"
)

type matrixCommand struct {
	Dir    string `arg:"" help:"Directory of JSON reports, or a matrix in the JSON form." type:"path"`
	Output lines  `short:"o" env:"-" help:"${pageHelp}" placeholder:"FORM=FILE"`
	Format string `help:"${pageFormatHelp}" env:"-" placeholder:"FORM"`
}

// Run combines the reports of a directory into one page.
func (c *matrixCommand) Run(in *invocation) error {
	type place struct {
		form matrix.Writer
		file io.WriteCloser
	}
	var places []place
	discard := func() {
		for _, p := range places {
			if file, ok := p.file.(*outFile); ok {
				file.Discard()
			}
		}
	}
	defer discard()
	outputs := c.Output
	if form := c.standardForm(); form != "none" {
		outputs = append(outputs, form+"=-")
	}
	m, err := matrix.Load(c.Dir)
	if err != nil {
		return usage("%v", err)
	}
	for _, o := range outputs {
		name, path, found := strings.Cut(o, "=")
		if !found || path == "" {
			return usage("--output %q is not of the form FORM=FILE; forms are %s", o, pages())
		}
		form, known := matrix.WriterNamed(name)
		if !known {
			return usage("unknown form %q: forms are %s%s", name, pages(), hint(name, pages()))
		}
		if path == "-" {
			places = append(places, place{form, standardOutput{in.stdout}})
			continue
		}
		file, err := createOut(path, 0o666)
		if err != nil {
			return usage("--output %s cannot be written: %v", name, err)
		}
		places = append(places, place{form, file})
	}
	var all error
	for _, p := range places {
		err := p.form.Write(p.file, m)
		if err == nil {
			err = p.file.Close()
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("write the %s page: %w", p.form.Name, err))
		}
	}
	return all
}

// standardForm returns the form of the matrix on standard output: the name of a writer of package matrix, or "none".
func (c *matrixCommand) standardForm() string {
	switch {
	case c.Format != "":
		return c.Format
	case len(c.Output) > 0:
		return "none"
	}
	return "markdown"
}

// pages returns the names of the forms of a matrix, such as markdown and json.
func pages() string {
	var names []string
	for _, w := range matrix.Writers() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}
