package cli_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// The help of the programs is a golden file, so that each change of their interface is visible.

func TestOpenAPI_CheckedIn(t *testing.T) {
	code, stdout, stderr := run(t.Context(), "openapi")
	require.Equal(t, cli.ExitOK, code, stderr)
	goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "api", "openapi.json"), stdout)
}

func TestHelp_CheckedIn(t *testing.T) {
	programs := map[string]func(args ...string) (int, string, string){
		"scimwright": func(args ...string) (int, string, string) { return run(t.Context(), args...) },
		"scim-conformance": func(args ...string) (int, string, string) {
			var stdout, stderr strings.Builder
			code := conform.Run(t.Context(), "scim-conformance", args, &stdout, &stderr, func(string) (string, bool) { return "", false })
			return code, stdout.String(), stderr.String()
		},
	}
	for name, call := range programs {
		t.Run(name, func(t *testing.T) {
			code, overview, stderr := call("--help")
			require.Equal(t, cli.ExitOK, code, stderr)
			var page strings.Builder
			page.WriteString(overview)
			listed := commandsIn(overview)
			require.NotEmpty(t, listed)
			for _, command := range listed {
				if name == "scimwright" && command == "conform" {
					continue // the other program
				}
				code, text, stderr := call(append(strings.Fields(command), "--help")...)
				require.Equal(t, cli.ExitOK, code, "%s: %s", command, stderr)
				fmt.Fprintf(&page, "\n=== %s %s\n\n%s", name, command, text)
			}
			goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "cli", name+".txt"), page.String())
		})
	}
}

// commandsIn returns the commands of an overview.
func commandsIn(overview string) (all []string) {
	_, commands, _ := strings.Cut(overview, "\nCommands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	for line := range strings.Lines(commands) {
		if name, ok := strings.CutPrefix(line, "  "); ok && name[0] != ' ' {
			name, _, _ = strings.Cut(strings.TrimRight(name, "\n"), "  ")
			if fields := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("<[-", r) }); len(fields) > 0 {
				all = append(all, strings.TrimSpace(fields[0]))
			}
		}
	}
	return all
}

func TestCompletion_OffersValues(t *testing.T) {
	code, script, stderr := run(t.Context(), "completion", "bash")
	require.Equal(t, cli.ExitOK, code, stderr)
	for _, flag := range []string{
		"' serve scim --quirk'", "' serve scim --lenient'", "' sandbox --quirk'", "' sandbox --egress'", "' conform run --profile'",
		"' conform run --only'", "' conform run --level'", "' conform mock --server'", "' conform mock --quirk'", "' conform mock --contract'",
		"' conform mock --scenario'", "' conform lint --as'", "' engine token create --scope'", "' engine halt --op'",
	} {
		require.Regexp(t, regexp.QuoteMeta(flag)+`\)\n +COMPREPLY=\(\$\(compgen -W '[a-zA-Z]`, script)
	}
	require.Contains(t, script, "mkdir -p ~/.local/share/bash-completion/completions\n")
}
