package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// Shells are the shells for which Completion writes scripts.
var Shells = []string{"bash", "fish", "zsh"}

// script is the data of the templates of the scripts.
type script struct {
	Program string // name of the command that is completed
	ID      string // the same as part of the name of a function
	All     []command
	Root    command
}

// Completion writes the script that completes the commands, the flags and their values in a shell. The script contains all words: it does
// not call the program. lists contains the values of the flags and arguments whose tag is complete:"@NAME".
func Completion(w io.Writer, shell string, app *kong.Application, lists map[string][]string) error {
	if !slices.Contains(Shells, shell) {
		return fmt.Errorf("no completion for the shell %q; there is one for %s", shell, strings.Join(Shells, ", "))
	}
	root := tree(app, lists)
	root.inherit(nil)
	return write(w, "completion."+shell, template.FuncMap{
		"quote":    func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" },
		"sentence": sentence,
		"join":     func(words []string) string { return strings.Join(words, " ") },
		"words":    func(c command) []string { return append(names(c.Commands), c.Values...) },
		"flags":    flagNames,
		"escape":   func(text string) string { return strings.ReplaceAll(text, ":", `\:`) },
		"inner":    func(c command) bool { return len(c.Commands) > 0 },
	}, script{Program: app.Name, ID: strings.ReplaceAll(app.Name, "-", "_"), All: root.all(), Root: root})
}

func names(commands []command) (out []string) {
	for _, c := range commands {
		out = append(out, c.Name)
	}
	return out
}

// flagNames returns the names of flags, those with a value with an equals sign at the end.
func flagNames(flags []flag) (out []string) {
	for _, f := range flags {
		if f.Value != "" {
			out = append(out, f.Name+"=")
			continue
		}
		out = append(out, f.Name)
	}
	return out
}
