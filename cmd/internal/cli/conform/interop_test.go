package conform

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/matrix"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// interopDocs is the directory with the page matrix.md, and with the directory servers, whose scripts start the servers.
var interopDocs = filepath.Join("..", "..", "..", "..", "docs", "interop")

// TestMatrix_ThirdPartyServers starts every server of docs/interop/servers, runs the suite with all profiles, and compares the outcomes
// with docs/interop/matrix.json. With -update it writes the page (make interop).
func TestMatrix_ThirdPartyServers(t *testing.T) {
	installs := alltest.Installs(t, "SCIMWRIGHT_TEST_INTEROP")
	for _, program := range []string{"java", "mvn", "node", "npm", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			alltest.Lacks(t, program)
		}
	}
	scripts, err := filepath.Glob(filepath.Join(interopDocs, "servers", "*", "start.sh"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	reports := t.TempDir()
	for _, script := range scripts {
		name := filepath.Base(filepath.Dir(script))
		t.Run(name, func(t *testing.T) {
			base, token := startServer(t, script, filepath.Join(installs, name))
			code, _, stderr := execute(t, "run", base, "--token", token, "--profile", "all", "--timeout", "20m", "--quiet",
				"--output", "json="+filepath.Join(reports, name+".json"))
			require.Contains(t, []int{ExitClean, ExitFindings}, code, stderr)
			product, err := os.ReadFile(filepath.Join(filepath.Dir(script), "product.yaml"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(reports, name+".product.yaml"), product, 0o600))
		})
	}
	if t.Failed() {
		return
	}
	measured, err := matrix.Read(reports)
	require.NoError(t, err)
	var data bytes.Buffer
	require.NoError(t, matrix.JSON(&data, measured))
	stored := filepath.Join(interopDocs, "matrix.json")
	goldentest.Update(t, stored, data.String())
	documented, err := matrix.Load(stored)
	require.NoError(t, err)
	require.Equal(t, outcomesOf(documented), outcomesOf(measured), "the outcomes of the stored page (expected) and of this run")
	if goldentest.Updating() {
		writePage(t, documented)
	}
}

// TestMatrix_InteropPage checks that the stored page was written from the stored results.
func TestMatrix_InteropPage(t *testing.T) {
	m, err := matrix.Load(filepath.Join(interopDocs, "matrix.json"))
	require.NoError(t, err)
	writePage(t, m)
}

// writePage compares docs/interop/matrix.md with the page of a matrix.
func writePage(t *testing.T, m *matrix.Matrix) {
	t.Helper()
	var page bytes.Buffer
	require.NoError(t, matrix.Markdown(&page, m))
	goldentest.Check(t, filepath.Join(interopDocs, "matrix.md"), page.String())
}

// outcomesOf returns a line for each cell of a matrix: row, product and result.
func outcomesOf(m *matrix.Matrix) []string {
	var lines []string
	add := func(row string, cells []matrix.Cell) {
		for i, c := range cells {
			lines = append(lines, fmt.Sprintf("%s, %s: %s %s %v", row, m.Products[i].ID, c.Outcome, c.Fit, c.Counts))
		}
	}
	for _, r := range m.Clients {
		add(r.Client+" "+r.Title, r.Cells)
	}
	for _, r := range m.Areas {
		add(r.Area, r.Cells)
	}
	for _, r := range m.Clauses {
		add(r.ID, r.Cells)
	}
	return lines
}

// startServer runs the script of a server until the end of the test, and returns the base URL and the token of the server.
func startServer(t *testing.T, script, dir string) (base, token string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the installation
	defer cancel()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	run := exec.Command("sh", script, dir)
	run.Stderr = log
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	first := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "http") { // a library may print other lines first
				select {
				case first <- lines.Text():
				default:
				}
			}
		}
		close(first)
	}()
	select {
	case line, ok := <-first:
		require.True(t, ok, "the script ended without an address: %s", tail(log.Name()))
		base, token, _ = strings.Cut(line, " ")
		token = cmp.Or(token, "interop-token")
	case <-ctx.Done():
		t.Fatalf("the script printed no address: %s", tail(log.Name()))
	}
	require.Eventually(t, func() bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/Users?startIndex=1&count=1", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	return base, token
}

// tail returns the end of a file.
func tail(path string) string {
	data, _ := os.ReadFile(path)
	return string(data[max(0, len(data)-2000):])
}
