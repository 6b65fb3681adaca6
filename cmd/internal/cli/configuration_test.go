package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/goldentest"
)

const configurationStart = `# Configuration

This page is for operators and for authors of scripts. It lists the flags of each command with their environment variables and defaults,
and the members of the [configuration file of serve engine](../reference/daemon.md#configuration-file). A flag takes precedence over its
variable, and the variable over the configuration file. ` + "`go test ./cmd/internal/cli -run Configuration -update`" + `
generates this page.
`

// TestConfiguration_Page compares docs/generated/configuration.md with the flags of the commands and the members of the configuration file.
func TestConfiguration_Page(t *testing.T) {
	parser, err := newParser(&commands{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	var page strings.Builder
	page.WriteString(configurationStart)
	members := map[string][]string{} // by flag of serve engine
	var others []daemon.Setting
	for _, s := range daemon.Settings() {
		if s.Flag == "" {
			others = append(others, s)
			require.NotEmpty(t, s.Help, "%s has neither a flag nor a description", s.Path)
		} else {
			members[s.Flag] = append(members[s.Flag], s.Path)
		}
	}
	writeFlags(&page, program, "Flags of all commands of `scimwright`, except `conform`.", parser.Model.Node, nil)
	for _, n := range parser.Model.Children {
		writeCommand(&page, n, members, others)
	}
	require.Empty(t, members, "members of the configuration file whose flags serve engine does not have")
	model, err := conform.Model("scim-conformance")
	require.NoError(t, err)
	writeFlags(&page, "scim-conformance",
		"Flags of all commands of `scim-conformance`, which are also those of `scimwright conform`. The members of the configuration file "+
			"(`--config`) are the long names of the flags.", model.Node, nil)
	for _, n := range model.Children {
		writeCommand(&page, n, nil, nil)
	}
	goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "generated", "configuration.md"), page.String())
}

// writeCommand writes the flags of a command and of the commands below it.
func writeCommand(page *strings.Builder, n *kong.Node, members map[string][]string, others []daemon.Setting) {
	path := n.FullPath()
	if path == "scimwright conform" {
		return
	}
	if path != "scimwright serve engine" {
		writeFlags(page, path, n.Help, n, nil)
	} else {
		writeFlags(page, path, n.Help, n, members)
		fmt.Fprintf(page, "\nMembers of the configuration file without a flag. ID is the id of an app, and [] an element of a list; the "+
			"members of a tenant in `tenants` are those of `tokens` and `apps`.\n\n| Member | Type | Meaning |\n|---|---|---|\n")
		for _, s := range others {
			fmt.Fprintf(page, "| `%s` | %s | %s |\n", s.Path, s.Type, cell(s.Help))
		}
	}
	for _, child := range n.Children {
		writeCommand(page, child, members, others)
	}
}

// writeFlags writes a table of the flags of one node. members, if not nil, are the members of the configuration file by flag; writeFlags
// removes those that it writes.
func writeFlags(page *strings.Builder, title, about string, n *kong.Node, members map[string][]string) {
	var rows strings.Builder
	for _, f := range n.Flags {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			continue
		}
		name := "`--" + f.Name + "`"
		if f.Short != 0 {
			name = "`-" + string(f.Short) + "`, " + name
		}
		help, preset := splitDefault(f.Help)
		if f.HasDefault && f.Default != "" {
			preset = "`" + f.Default + "`"
		}
		fmt.Fprintf(&rows, "| %s | %s |", name, codes(f.Envs))
		if members != nil {
			fmt.Fprintf(&rows, " %s |", codes(members[f.Name]))
			delete(members, f.Name)
		}
		fmt.Fprintf(&rows, " %s | %s |\n", cell(preset), cell(help))
	}
	if rows.Len() == 0 {
		return
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n", title, about)
	if members != nil {
		page.WriteString("| Flag | Variable | Member of the file | Default | Meaning |\n|---|---|---|---|---|\n")
	} else {
		page.WriteString("| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n")
	}
	page.WriteString(rows.String())
}

// splitDefault returns a help text without its sentence about the default, and the default.
func splitDefault(help string) (text, preset string) {
	before, after, found := strings.Cut(help, "Default: ")
	if !found {
		return help, ""
	}
	preset, rest, more := strings.Cut(after, ". ")
	text = strings.TrimSpace(before)
	if more {
		text = strings.TrimSpace(text + " " + rest)
	}
	return text, strings.TrimSuffix(preset, ".")
}

func codes(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// TestConfiguration_Defaults checks the separation of a default from a help text.
func TestConfiguration_Defaults(t *testing.T) {
	for help, want := range map[string][2]string{
		"Age. Default: 720h.":                {"Age.", "720h"},
		"A key. Default: the file. See --x.": {"A key. See --x.", "the file"},
		"Age.":                               {"Age.", ""},
	} {
		text, preset := splitDefault(help)
		require.Equal(t, want, [2]string{text, preset})
	}
}
