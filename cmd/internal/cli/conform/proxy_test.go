package conform

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watchedOutput is the output of a running command. A test can wait for the first match of a pattern in it.
type watchedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newWatchedOutput() *watchedOutput { return &watchedOutput{more: make(chan struct{}, 1)} }

func (o *watchedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.more <- struct{}{}:
		default:
		}
	}()
	return o.text.Write(p)
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *watchedOutput) waitFor(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(30 * time.Second)
	for {
		if found := re.FindStringSubmatch(o.String()); found != nil {
			return found[1]
		}
		select {
		case <-o.more:
		case <-deadline:
			require.Fail(t, "the pattern did not occur in the output", o.String())
		}
	}
}

// session starts a command that runs until it is stopped.
func session(t *testing.T, args ...string) (address string, stop func() (code int, stdout string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, errOut := newWatchedOutput(), newWatchedOutput()
	done := make(chan int, 1)
	go func() { done <- Run(ctx, "scim-conformance", args, out, errOut, os.LookupEnv) }()
	t.Cleanup(cancel)
	address = errOut.waitFor(t, `(http://127\.0\.0\.1:\d+)`)
	return address, func() (int, string) {
		cancel()
		return <-done, out.String()
	}
}

func request(t *testing.T, method, url, body string, header http.Header) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = header
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	return res.StatusCode
}

func TestProxy_JudgesBothSides(t *testing.T) {
	server := httptest.NewServer(handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"1",`+
		`"userName":"ann","password":"leaked-s3cret"}`))
	defer server.Close()
	dir := t.TempDir()
	recording, page := filepath.Join(dir, "traffic.jsonl"), filepath.Join(dir, "report.html")
	address, stop := session(t, "proxy", server.URL+"/scim", "--record", recording, "--output", "html="+page, "--json",
		filepath.Join(dir, "report.json"))
	header := http.Header{"Content-Type": {"application/scim+json"}, "Authorization": {"Bearer t0ken-of-the-idp"}}
	require.Equal(t, 200,
		request(t, "PATCH", address+"/Users/1",
			`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"Replace","path":"password","value":"sent-s3cret"}]}`,
			header))
	code, stdout := stop()
	require.Equal(t, ExitFindings, code, stdout)
	for _, want := range []string{"traffic.no-password", "client.patch.op-case", "server: 1 of", "client: 1 of"} {
		require.Contains(t, stdout, want)
	}
	var all strings.Builder
	for _, name := range []string{recording, page, filepath.Join(dir, "report.json")} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, secret := range []string{"s3cret", "t0ken-of-the-idp"} {
		require.NotContains(t, all.String()+stdout, secret)
	}
	info, err := os.Stat(recording)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	code, again, _ := execute(t, "judge", recording)
	require.Equal(t, ExitFindings, code)
	require.Equal(t, stdout, again, "a recording has the same verdict as the proxy run")
	code, again, _ = execute(t, "judge", recording, "--side", "client", "--only", "client.filter")
	require.Equal(t, ExitUntested, code, again)
	_, err = readReport(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
}

// TestProxy_StopsAtLimit checks that the proxy stops after --max exchanges or the duration of --for.
func TestProxy_StopsAtLimit(t *testing.T) {
	server := httptest.NewServer(handler(200, "application/scim+json", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"1",`+
		`"userName":"ann"}`))
	defer server.Close()
	ctx, out, errOut := t.Context(), newWatchedOutput(), newWatchedOutput()
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, "scim-conformance", []string{"proxy", server.URL, "--max", "1"}, out, errOut, os.LookupEnv)
	}()
	address := errOut.waitFor(t, `(http://127\.0\.0\.1:\d+)`)
	request(t, "GET", address+"/Users/1", "", http.Header{"User-Agent": {"idp/1"}, "Authorization": {"Bearer t0ken-of-the-idp"}})
	require.Equal(t, ExitClean, <-done, out.String())

	code, stdout, _ := execute(t, "proxy", server.URL, "--for", "1ms")
	require.Equal(t, ExitUntested, code, "nothing was observed")
	require.Contains(t, stdout, "No exchange was observed")
}

func TestProxy_RejectsInvalidArguments(t *testing.T) {
	dir := t.TempDir()
	notARecording := writeFile(t, dir, "x.jsonl", "{}\n")
	for _, args := range [][]string{
		{"proxy"}, {"proxy", "ftp://example.com"}, {"proxy", "https://example.com", "--listen", "nowhere:x"},
		{"proxy", "https://example.com", "--max", "0"},
		{"proxy", "https://example.com", "--record", filepath.Join(dir, "none", "x")},
		{"proxy", "https://example.com", "--side", "both", "--only", "no.such"},
		{"judge", notARecording}, {"judge", filepath.Join(dir, "none")}, {"judge", notARecording, "--side", "nobody"},
	} {
		code, _, stderr := execute(t, args...)
		require.Equal(t, ExitUsage, code, fmt.Sprint(args, stderr))
	}
}

func TestExplain_ClientChecks(t *testing.T) {
	code, stdout, stderr := execute(t, "explain", "client.patch.op-case")
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "RFC7644-3.5.2-07")
}
