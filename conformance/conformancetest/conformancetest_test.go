package conformancetest_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/conformancetest"
)

// probe returns a check that requests one path.
func probe(id, path string, want int) conformance.Check {
	return conformance.Check{ID: id, Title: "requests " + path, Level: conformance.Must, Fix: "check the path",
		Run: func(ctx context.Context, t *conformance.T) {
			t.Expect("status", want, t.Get(ctx, path).Status)
		}}
}

func options(checks ...conformance.Check) conformancetest.Options {
	return conformancetest.Options{Prefix: "/scim/v2/", Suite: conformance.Options{Checks: checks}}
}

func TestRun_PassesCorrectHandler(t *testing.T) {
	r := conformancetest.Run(t, myServer, options(probe("x.config", "/ServiceProviderConfig", 200), probe("x.users", "/Users", 404)))
	require.Equal(t, conformance.Clean, r.Verdict)
}

// TestRun_FailsOnFindings runs failing tests in a separate process, because only their output shows that they fail.
func TestRun_FailsOnFindings(t *testing.T) {
	run := func(mode string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), "CONFORMANCETEST_MODE="+mode)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, string(out))
		return string(out)
	}
	out := run("finding")
	for _, part := range []string{"--- FAIL: TestChild/x.users", "--- PASS: TestChild/x.config",
		"expected 200, got 404", "GET http://127.0.0.1/scim/v2/Users", "fix: check the path"} {
		require.Contains(t, out, part)
	}
	require.Contains(t, run("panic"), "the handler could not be tested")
	require.Contains(t, run("waivers"), "the waivers cannot be read")
}

// TestChild is the process that TestRun_FailsOnFindings starts.
func TestChild(t *testing.T) {
	switch os.Getenv("CONFORMANCETEST_MODE") {
	case "":
		return // this test has an effect only in the process that TestRun_FailsOnFindings starts
	case "finding":
		conformancetest.Run(t, myServer, options(probe("x.config", "/ServiceProviderConfig", 200), probe("x.users", "/Users", 200)))
	case "panic":
		conformancetest.Run(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("an error") }),
			options(probe("x.users", "/Users", 200)))
	case "waivers":
		o := options(probe("x.users", "/Users", 200))
		o.Waivers = filepath.Join(t.TempDir(), "none")
		conformancetest.Run(t, myServer, o)
	}
}

func TestTransport_HonorsContextDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
	require.NoError(t, err)
	_, err = conformancetest.Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })).RoundTrip(r)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
