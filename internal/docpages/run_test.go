package docpages

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/alltest"
)

// blockTimeout is the time limit of a block. The first one may compile the module.
const blockTimeout = 10 * time.Minute

// stopTimeout is the time limit for the programs of a page to stop.
const stopTimeout = 30 * time.Second

// TestPages_Run runs the blocks of README.md and of docs/tutorials. The ports are fixed by the texts, so the pages
// run one after another, and only with SCIMWRIGHT_TEST_ALL=1 or SCIMWRIGHT_TEST_PAGES=1.
func TestPages_Run(t *testing.T) {
	if os.Getenv("SCIMWRIGHT_TEST_PAGES") == "" {
		alltest.Only(t, "the pages use fixed ports")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "tutorials", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		name, err := filepath.Rel(root, page)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			blocks, err := Parse(string(text))
			require.NoError(t, err)
			runPage(t, root, blocks)
		})
	}
}

func runPage(t *testing.T, root string, blocks []Block) {
	copied := t.TempDir()
	tree := exec.CommandContext(t.Context(), "git", "checkout-index", "--all", "--prefix="+copied+"/")
	tree.Dir = root
	out, err := tree.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, block := range blocks {
		if block.Wait != "" {
			// The program of the page before may still shut down: "go run" ends before its child does.
			require.Eventually(t, func() bool { return !listens(t.Context(), block.Wait) }, stopTimeout, 100*time.Millisecond,
				"another program listens at %s", block.Wait)
		}
	}
	shell := startShell(t, copied)
	var output string
	for _, block := range blocks {
		at := fmt.Sprintf("line %d", block.Line)
		switch {
		case block.Skip != "":
		case block.Language == "sh":
			var code int
			output, code, err = shell.run(block.Text)
			require.NoError(t, err, "%s: %s", at, output)
			require.Equal(t, block.Exit, code, "%s: exit code; output:\n%s", at, output)
			if block.Wait != "" {
				require.Eventually(t, func() bool { return listens(t.Context(), block.Wait) }, blockTimeout, 100*time.Millisecond, at)
			}
		case block.Language == "text" && output != "":
			require.NoError(t, Shown(block.Text, output), "%s; output:\n%s", at, output)
		case block.Language == "diff" && block.Edit != "":
			file := filepath.Join(copied, block.Edit)
			content, err := os.ReadFile(file)
			require.NoError(t, err, at)
			edited, err := Edited(string(content), block.Text)
			require.NoError(t, err, at)
			require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
		}
	}
}

// listens reports whether a server listens at address.
func listens(ctx context.Context, address string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// shell is a bash process with job control, so that "kill %1" ends a program and its children.
type shell struct {
	in   io.Writer
	out  *bufio.Reader
	mark string
}

func startShell(t *testing.T, dir string) *shell {
	// The context of the test ends before the cleanup, which stops the programs of the page.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash", "--norc")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS"), "NO_COLOR=1", "COLUMNS=100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	_, err = io.WriteString(in, "set -m\n") // as an option of bash, -m requires a terminal
	require.NoError(t, err)
	t.Cleanup(func() {
		// Programs that the page has not stopped.
		_, _ = io.WriteString(in, "kill $(jobs -p) 2>/dev/null; wait; exit\n")
		_ = cmd.Wait()
		_ = read.Close()
	})
	return &shell{in: in, out: bufio.NewReader(read), mark: "--- block ended with "}
}

// run runs a block and returns its output and the exit code of its last command.
func (s *shell) run(block string) (output string, code int, err error) {
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\n%s%%s\\n' $?\n", block, s.mark); err != nil {
		return "", 0, err
	}
	timeout := time.AfterFunc(blockTimeout, func() { _, _ = io.WriteString(s.in, "exit\n") })
	defer timeout.Stop()
	var lines strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), strings.TrimSpace(s.mark)+" "); ok {
			n, err := strconv.Atoi(code)
			return lines.String(), n, err
		}
		lines.WriteString(line)
		if err != nil {
			return lines.String(), 0, errors.Join(errors.New("the shell has exited"), err)
		}
	}
}
