package manual_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli/manual"
	"github.com/scimwright/scimwright/internal/alltest"
)

// grammar is a program with the kinds of flags and commands that occur.
type grammar struct {
	Serve struct {
		Scim struct {
			Policy string   `enum:"any,private,public" default:"any" help:"Permitted addresses: it's a \"policy\"."`
			Key    string   `placeholder:"FILE" help:"File with a key."`
			Quiet  bool     `short:"q" help:".Prints nothing, and 'no' errors."`
			Secret string   `hidden:""`
			Fault  string   `complete:"@quirks" help:"A list."`
			Grade  string   `complete:"must,may" help:"A level."`
			Skip   []string `complete:"@quirks" help:"Several."`
			Script string   `complete:"@quirks" placeholder:"NAME|FILE" help:"A name or a file."`
		} `cmd:"" help:"Run a server. It has no state."`
		Hidden struct{} `cmd:"" hidden:""`
	} `cmd:"" help:"Run one component."`
	Lint struct {
		File []string `arg:"" type:"existingfile" help:"The documents."`
	} `cmd:"" help:"Check documents."`
	Paint struct {
		Color string `arg:"" enum:"red,green" help:"The color."`
	} `cmd:"" help:"Paint a picture."`
	Level slog.Level `default:"info" env:"TOOL_LEVEL" help:"Level of messages."`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := kong.New(&grammar{}, kong.Name("tool-x"), kong.Description("A tool for tests.\n\nIt does nothing with back\\slashes."))
	require.NoError(t, err)
	return k.Model
}

func script(t *testing.T, shell string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, manual.Completion(&b, shell, model(t), map[string][]string{"quirks": {"no-put", "no-patch"}}))
	file := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

// completions are the words of a command line, the last one incomplete, and what the shells offer.
var completions = []struct {
	words []string
	want  []string
}{
	{[]string{""}, []string{"lint", "paint", "serve"}},
	{[]string{"se"}, []string{"serve"}},
	{[]string{"serve", ""}, []string{"scim"}},
	{[]string{"serve", "scim", "--p"}, []string{"--policy="}},
	{[]string{"serve", "scim", "--q"}, []string{"--quiet"}},
	{[]string{"serve", "scim", "--level=info", "--le"}, []string{"--level="}},
	{[]string{"serve", "scim", "--policy", "p"}, []string{"private", "public"}},
	{[]string{"serve", "scim", "--level", "i"}, []string{"info"}},
	{[]string{"serve", "scim", "--fault", "no-"}, []string{"no-patch", "no-put"}},
	{[]string{"serve", "scim", "--grade", "m"}, []string{"may", "must"}},
	{[]string{"serve", "scim", "--script", "no-p"}, []string{"no-patch", "no-put"}},
	{[]string{"serve", "scim", "--script", "go.m"}, []string{"go.mod"}},
	{[]string{"serve", "scim", "--skip", "no-pu"}, []string{"no-put"}},
	{[]string{"serve", "scim", "--skip", "no-put,no-pa"}, []string{"no-put,no-patch"}},
	{[]string{"paint", ""}, []string{"green", "red"}},
	{[]string{"serve", "scim", "--secret"}, nil},
	{[]string{"serve", "hid"}, nil},
	{[]string{"lint", "go.m"}, []string{"go.mod"}},
	{[]string{"serve", "scim", "--key", "go.m"}, []string{"go.mod"}},
}

func TestCompletion_Bash(t *testing.T) {
	file := script(t, "bash")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600))
	for _, c := range completions {
		line := "source " + file + "; compopt() { :; }; COMP_WORDS=(tool-x \"$@\"); COMP_CWORD=$#; _tool_x; printf '%s\\n' \"${COMPREPLY[@]}\""
		require.Equal(t, c.want, lines(t, dir, "bash", append([]string{"-c", line, "bash"}, words("bash", c.words)...)...), "%q", c.words)
	}
}

func TestCompletion_Fish(t *testing.T) {
	file := script(t, "fish")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600))
	for _, c := range completions {
		line := "source " + file + `; complete -C "tool-x ` + strings.Join(c.words, " ") + `"`
		var want []string
		for _, w := range c.want {
			want = append(want, strings.TrimSuffix(w, "=")) // fish inserts the equals sign itself
		}
		var got []string
		for _, offered := range lines(t, dir, "fish", "--no-config", "-c", line) {
			word, _, _ := strings.Cut(offered, "\t")
			got = append(got, strings.TrimSuffix(word, "="))
		}
		require.Equal(t, want, got, "%q", c.words)
	}
}

func TestCompletion_Zsh(t *testing.T) {
	text, err := os.ReadFile(script(t, "zsh"))
	require.NoError(t, err)
	loaded := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(loaded, "_tool-x"), text, 0o600))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600))
	for _, c := range completions {
		got := lines(t, dir, "zsh", append([]string{"-f", "-c", zshFirstTab, "zsh", loaded}, c.words...)...)
		require.Equal(t, c.want, got, "%q", c.words)
	}
}

// zshFirstTab loads the function of the directory $1 and completes the words after it, as the first completion of a shell does. It defines
// the functions of the completion system of zsh, which works only in an interactive shell: each prints what it would offer.
const zshFirstTab = `fpath=($1 $fpath); shift
autoload -U _tool-x
offer() { local w; for w in "$@"; do [[ $w != ${PREFIX}* ]] || print -r -- "$IPREFIX$w"; done }
_describe() {
  local a end; local -a list
  [[ "$*" != *'-S ='* ]] || end='='
  for a in "$@"; do case $a in flags|switches|commands) list=("${(@P)a}"); list=(${list%%:*}); offer ${^list}$end ;; esac; done
}
compadd() { shift; offer "$@" }
compset() { local rest=${PREFIX##${~2}}; IPREFIX+=${PREFIX%$rest}; PREFIX=$rest }
_files() { print -rl -- ${PREFIX}*(N) }
_message() { :; }
words=(tool-x "$@"); CURRENT=$#words; PREFIX=$words[CURRENT]
_tool-x
`

func TestCompletion_UnknownShell(t *testing.T) {
	require.EqualError(t, manual.Completion(&bytes.Buffer{}, "csh", model(t), nil),
		`no completion for the shell "csh"; there is one for bash, fish, zsh`)
}

// words splits --flag=value as the shell does.
func words(shell string, all []string) (out []string) {
	for _, w := range all {
		if name, value, ok := strings.Cut(w, "="); ok && shell == "bash" {
			out = append(out, name, "=", value)
			continue
		}
		out = append(out, w)
	}
	return out
}

// lines returns the sorted lines that a command prints. It skips the test if the program is missing.
func lines(t *testing.T, dir, name string, args ...string) (out []string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		alltest.Lacks(t, name)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, manual.Page(&b, model(t), "v1.2.3", "2026-11-27", []manual.Exit{{Code: 0, Meaning: "success"}}))
	page := filepath.Join(t.TempDir(), "tool.1")
	require.NoError(t, os.WriteFile(page, b.Bytes(), 0o600))
	require.NotContains(t, b.String(), "secret")
	require.Contains(t, b.String(), `.SS tool\-x lint <file> ...`)
	rendered := strings.Join(lines(t, t.TempDir(), "mandoc", "-Tutf8", "-Owidth=200", page), "\n")
	rendered = strings.ReplaceAll(rendered, "\b", "")
	for _, want := range []string{`back\slashes`, "no' errors", "tool-x v1.2.3"} {
		require.Contains(t, rendered, want)
	}
	require.Empty(t, lines(t, t.TempDir(), "mandoc", "-Tlint", "-Wwarning", page))
}

// The last line has the version, the date and the name of the page, in at most 80 columns.
func TestPage_PseudoVersion(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, manual.Page(&b, model(t), "v0.0.0-20261128185736-ac5fcafc1234+dirty", "2026-11-28", nil))
	require.Contains(t, b.String(), `.TH TOOL\-X 1 "2026-11-28" "tool\-x v0.0.0\-ac5fcafc1234+dirty" "User Commands"`)
}
