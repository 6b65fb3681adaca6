package manual

import (
	"io"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// An Exit is an exit code of a program.
type Exit struct {
	Code    int
	Meaning string // a sentence without a full stop
}

// Page writes the manual page of a program, section 1, in the macros of man(7). version is the version of the program,
// date the date of that version as YYYY-MM-DD or "".
func Page(w io.Writer, app *kong.Application, version, date string, exits []Exit) error {
	root := tree(app)
	description := strings.Split(app.Help, "\n\n")
	return write(w, "page.1", template.FuncMap{
		"roff":  roff,
		"flag":  func(f flag) string { return f.label() },
		"upper": strings.ToUpper,
		"leaf":  func(c command) bool { return len(c.Commands) == 0 },
	}, struct {
		Program, Version, Date, Summary string
		Description                     []string
		Root                            command
		All                             []command
		Exits                           []Exit
	}{app.Name, version, date, sentence(description[0]), description, root, root.all()[1:], exits})
}

// label returns the flag with its short form and its value.
func (f flag) label() string {
	label := f.Name
	if f.Value != "" {
		label += "=" + f.Value
	}
	if f.Short != "" {
		label = f.Short + ", " + label
	}
	return label
}

// roff returns a text as one line that contains no requests and no escapes of roff.
func roff(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
