package conform

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/clientgrade"
)

const oneUser = `
name: one
title: One user
do: [Provision ann.]
want: {users: [{userName: ann, attributes: {active: true}}]}
exactly: true
`

func TestMock_GradesClient(t *testing.T) {
	dir := t.TempDir()
	scenario, recording := writeFile(t, dir, "one.yaml", oneUser), filepath.Join(dir, "traffic.jsonl")
	header := http.Header{"Content-Type": {"application/scim+json"}, "Accept": {"application/scim+json"}, "User-Agent": {"idp/1"},
		"Authorization": {"Bearer t0ken-of-the-mock"}}
	address, stop := session(t, "mock", "--scenario", scenario, "--token", "t0ken-of-the-mock", "--record", recording)
	require.Equal(t, 200, request(t, "GET", address+"/Users?filter=userName%20eq%20%22ann%22", "", header))
	require.Equal(t, 201, request(t, "POST", address+"/Users", goodUser, header))
	code, stdout := stop()
	require.Equal(t, ExitClean, code, stdout)
	require.Contains(t, stdout, "client: 0 of")

	code, again, stderr := execute(t, "judge", recording, "--side", "client")
	require.Equal(t, ExitClean, code, again+stderr)
	text, err := os.ReadFile(recording)
	require.NoError(t, err)
	require.NotContains(t, string(text), "t0ken-of-the-mock")

	address, stop = session(t, "mock", "--scenario", scenario, "--token", "t0ken-of-the-mock", "--quirk", "lower-user-name", "--quirk",
		"no-put", "--server", "google")
	require.Equal(t, 201,
		request(t, "POST", address+"/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ben"}`, header))
	require.Equal(t, 405, request(t, "PUT", address+"/Users/1", goodUser, header), "the quirks of the server are active")
	code, stdout = stop()
	require.Equal(t, ExitFindings, code)
	require.Contains(t, stdout, "cope.users")
	require.Contains(t, stdout, "cope.nothing-else")

	_, stop = session(t, "mock")
	code, stdout = stop()
	require.Equal(t, ExitUntested, code)
	require.Contains(t, stdout, "The client sent nothing")
}

// TestMock_ProfileExpectsItsRequests checks that a profile permits the requests of its client only, and that rfc permits all.
func TestMock_ProfileExpectsItsRequests(t *testing.T) {
	scenario := writeFile(t, t.TempDir(), "one.yaml", oneUser)
	header := http.Header{"Content-Type": {"application/scim+json"}, "Accept": {"application/scim+json"},
		"Authorization": {"Bearer t0ken-of-the-mock"}}
	for profile, want := range map[string]int{"okta": ExitFindings, "jumpcloud": ExitClean, "rfc": ExitClean, "rfc,okta": ExitClean,
		"all": ExitClean} {
		address, stop := session(t, "mock", "--scenario", scenario, "--token", "t0ken-of-the-mock", "--profile", profile)
		require.Equal(t, 200, request(t, "GET", address+"/Users?filter=userName%20eq%20%22ann%22", "", header), "Okta sends startIndex and count")
		require.Equal(t, 201, request(t, "POST", address+"/Users", goodUser, header))
		code, stdout := stop()
		require.Equal(t, want, code, "%s: %s", profile, stdout)
		require.Equal(t, want == ExitFindings, strings.Contains(stdout, "contract.profile-requests"), stdout)
	}
}

func TestMock_ListsQuirks(t *testing.T) {
	code, stdout, stderr := execute(t, "mock", "--list-quirks")
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "rate-limit[=N]")
	require.Contains(t, stdout, "PRODUCT")
	code, stdout, stderr = execute(t, "explain", "cope.no-duplicates")
	require.Equal(t, ExitClean, code, stderr)
	require.Contains(t, stdout, "Two accounts of one user")
}

func TestMock_RejectsInvalidArguments(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"mock", "--scenario", "no-such"}, {"mock", "--scenario", writeFile(t, dir, "x.yaml", "want: {}")}, {"mock", "--quirk", "no-such"},
		{"mock", "--profile", "no-such"}, {"mock", "--server", "no-such"}, {"mock", "--profile", "aws"},
		{"mock", "--quirk", "max-page=2", "--quirk", "max-page=3,p=1"}, {"mock", "--listen", "nowhere:x"}, {"mock", "--max", "0"},
		{"mock", "--record", filepath.Join(dir, "none", "x")},
		{"mock", "--scenario", writeFile(t, dir, "twice.yaml", "exists: [{userName: a}, {userName: A}]\nwant: {users: [{userName: a}]}")},
	} {
		code, _, stderr := execute(t, args...)
		require.Equal(t, ExitUsage, code, "%v: %s", args, stderr)
	}
}

// TestPrintInstructions_Fits checks that the steps of every scenario fit in 100 columns.
func TestPrintInstructions_Fits(t *testing.T) {
	for _, s := range clientgrade.Scenarios() {
		var b strings.Builder
		printInstructions(&invocation{stderr: &b}, "http://127.0.0.1:1/scim/v2", "mock-token", s)
		for line := range strings.Lines(b.String()) {
			require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), textWidth, line)
		}
	}
}
