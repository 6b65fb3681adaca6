package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
)

// registryTimeout is the timeout of commands that depend on package registries.
const registryTimeout = 10 * time.Minute

// installed returns the directory in which installed packages are kept.
func installed(t *testing.T) string {
	t.Helper()
	return alltest.Installs(t, "SCIMWRIGHT_TEST_CLIENTS")
}

// runIn runs a program in a directory and waits for it.
func runIn(t *testing.T, dir, name string, arguments ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), registryTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	return cmd.CombinedOutput()
}

// runClient runs a client program against a new sandbox. Each step must succeed. Operations that the sandbox does not serve are logged.
func runClient(t *testing.T, dir, name string, arguments ...string) {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", NoRateLimits: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	out, err := runIn(t, dir, name, append(arguments, s.Ready().BaseURL, s.Ready().APIToken)...)
	steps, other := 0, ""
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		switch verdict, step, _ := strings.Cut(lines.Text(), " "); verdict {
		case "ok":
			steps++
		case "UNSERVED":
			require.NotRegexp(t, "factor|enroll", step, "all operations of factors are served")
			t.Logf("not served: %s", step)
		default:
			other += lines.Text() + "\n"
		}
	}
	require.NoError(t, err, "%s", other)
	require.Greater(t, steps, 50, "%s", other)
	t.Logf("%d steps", steps)
}

func TestGoLibraries(t *testing.T) {
	bin := installed(t)
	for _, major := range []string{"v2", "v5"} {
		t.Run(major, func(t *testing.T) {
			program := filepath.Join(bin, major)
			out, err := runIn(t, filepath.Join("clients", "go"), "go", "build", "-o", program, "./"+major)
			require.NoError(t, err, "%s", out)
			runClient(t, bin, program)
		})
	}
}

func TestNodeLibrary(t *testing.T) {
	dir := installed(t)
	for _, name := range []string{"package.json", "walk.mjs"} {
		data, err := os.ReadFile(filepath.Join("clients", "node", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	out, err := runIn(t, dir, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
	require.NoError(t, err, "%s", out)
	runClient(t, dir, "node", "walk.mjs")
}
