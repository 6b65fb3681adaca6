// Package manual writes what follows from the commands and flags of a program: the completion scripts of shells (completion.go) and the
// manual page (page.go). The texts are templates in templates.
package manual

import (
	"cmp"
	"embed"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed templates
var templates embed.FS

// A command is a command of a program, or the program itself.
type command struct {
	Path     string // without the name of the program: "engine apps", or "" for the program
	Name     string
	Help     string
	Detail   string
	Usage    string // the positional arguments
	Args     []arg  // the same, with their help
	Commands []command
	Flags    []flag   // without those of the program and of the commands above
	Files    bool     // the positional arguments may be files
	Values   []string // the permitted positional arguments, if there is a list of them
}

// An arg is a positional argument of a command.
type arg struct{ Usage, Help string }

// A flag is a flag of a command.
type flag struct {
	Name    string // with its hyphens
	Short   string // one letter, or ""
	Help    string
	Value   string   // placeholder of the value; "" for a switch
	Values  []string // the permitted values, or the usual ones, if the flag has a list of them
	List    bool     // the value is a list of Values, separated by commas
	File    bool     // the value is a path
	Default string
	Envs    []string
}

// ShowDefault reports whether the manual page has to add the default to the help.
func (f flag) ShowDefault() bool {
	return f.Default != "" && f.Default != "false" && !strings.Contains(f.Help, "Default: ")
}

// tree returns the commands of a program without the hidden ones.
// lists contains the values of flags and arguments; see Completion.
func tree(app *kong.Application, lists map[string][]string) command {
	return commandOf(app.Node, "", lists)
}

func commandOf(n *kong.Node, path string, lists map[string][]string) command {
	c := command{Path: path, Name: n.Name, Help: n.Help, Detail: n.Detail}
	for _, p := range n.Positional {
		c.Usage += " " + p.Summary()
		c.Args = append(c.Args, arg{p.Summary(), p.Help})
		c.Files = c.Files || isPath(p, p.Name)
		c.Values = append(c.Values, valuesOf(p, lists)...)
	}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		out := flag{Name: "--" + f.Name, Help: f.Help, File: isPath(f.Value, f.PlaceHolder), Default: f.Default, Envs: f.Envs}
		if f.Short != 0 {
			out.Short = "-" + string(f.Short)
		}
		if !f.IsBool() && !f.IsCounter() {
			out.Value = cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
			out.Values = valuesOf(f.Value, lists)
			out.List = f.IsSlice() && f.Tag.Sep == ',' && len(out.Values) > 0
		}
		c.Flags = append(c.Flags, out)
	}
	for _, child := range n.Children {
		if !child.Hidden {
			c.Commands = append(c.Commands, commandOf(child, strings.TrimSpace(path+" "+child.Name), lists))
		}
	}
	return c
}

// inherit adds the flags of each command to the commands below it, which accept them too.
func (c *command) inherit(flags []flag) {
	c.Flags = slices.Concat(c.Flags, flags)
	for i := range c.Commands {
		if c.Path == "" {
			c.Commands[i].inherit(nil)
		} else {
			c.Commands[i].inherit(c.Flags)
		}
	}
}

// valuesOf returns the permitted values, or nil if there is no list of them. The tag complete has values that the parser does not check,
// separated by commas, or the name of a list after @.
func valuesOf(v *kong.Value, lists map[string][]string) []string {
	if v.Tag != nil && v.Tag.Has("complete") {
		values := v.Tag.Get("complete")
		if name, named := strings.CutPrefix(values, "@"); named {
			return lists[name]
		}
		return strings.Split(values, ",")
	}
	if v.Target.Type() == reflect.TypeFor[slog.Level]() {
		return []string{"debug", "info", "warn", "error"}
	}
	return slices.DeleteFunc(v.EnumSlice(), func(value string) bool { return value == "" })
}

// isPath reports whether the value is the path of a file. placeholder describes the value in the help.
func isPath(v *kong.Value, placeholder string) bool {
	return v.Tag != nil && slices.Contains([]string{"path", "existingfile", "existingdir"}, v.Tag.Type) ||
		slices.Contains([]string{"FILE", "FILES", "NAME|FILE", "DIR", "PATH", "JOURNAL"}, strings.ToUpper(placeholder))
}

// all returns the command and all commands below it, the outer ones first.
func (c command) all() []command {
	out := []command{c}
	for _, child := range c.Commands {
		out = append(out, child.all()...)
	}
	return out
}

// write executes a template.
func write(w io.Writer, name string, functions template.FuncMap, data any) error {
	t, err := template.New(name).Funcs(functions).ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	return t.Execute(w, data)
}

// sentence returns the first sentence of a help text, without its full stop.
func sentence(help string) string {
	words := strings.Fields(help)
	for i, w := range words {
		if strings.HasSuffix(w, ".") && !strings.HasSuffix(w, "..") {
			return strings.TrimSuffix(strings.Join(words[:i+1], " "), ".")
		}
	}
	return strings.Join(words, " ")
}
