package manual

import (
	"io"
	"regexp"
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
	root := tree(app, nil)
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
	}{app.Name, short(version), date, sentence(description[0]), description, root, root.all()[1:], exits})
}

// pseudo matches the time in the version of a revision without a tag.
var pseudo = regexp.MustCompile(`-(0\.)?\d{14}(-[0-9a-f]{12})`)

// short returns a version without the time of the revision, so that the last line of the page is at most 80 columns wide.
func short(version string) string { return pseudo.ReplaceAllString(version, "$2") }

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
