package cli_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// benchServer starts a SCIM server over TLS and returns its URL and a file with its certificate.
func benchServer(t *testing.T, token string, settings ...string) (url, ca string) {
	t.Helper()
	h, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens(token)})
	require.NoError(t, err)
	parsed, err := quirks.ParseAll(settings)
	require.NoError(t, err)
	deviant, err := quirks.New(h, parsed...)
	require.NoError(t, err)
	server := httptest.NewTLSServer(deviant)
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return server.URL, ca
}

func TestBench_TwoServers(t *testing.T) {
	first, ca := benchServer(t, "one")
	second, _ := benchServer(t, "two", "no-groups")
	t.Setenv("SCIM_TOKEN", "one")
	t.Setenv("SCIM_TOKEN2", "two")
	file := filepath.Join(t.TempDir(), "result.json")
	code, stdout, stderr := run(t.Context(), "bench", first, second, "--users", "100", "--duration", "10ms", "--clients", "2",
		"--ca-file", ca, "--json", file, "--yes-write")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "A: removed 103 of 103 created objects.\nB: removed 100 of 100 created objects.\n")
	require.Contains(t, stdout, "not measured: POST /Groups: 404 Not Found")
	require.Contains(t, stderr, "PATCH a user\n")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var result struct {
		Rows []struct {
			ID    string  `json:"id"`
			Ratio float64 `json:"ratio"`
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal(data, &result))
	require.Equal(t, "create", result.Rows[0].ID)
	require.Positive(t, result.Rows[0].Ratio)
}

func TestBench_LeftoversFail(t *testing.T) {
	server, ca := benchServer(t, "one", "no-delete")
	code, stdout, stderr := run(t.Context(), "bench", server, "--token", "one", "--users", "100", "--duration", "10ms", "--ca-file", ca,
		"--yes-write")
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, stdout, "A: removed 0 of 109 created objects.")
	require.Contains(t, stderr, "109 objects not removed from "+server)
}

// TestBench_UnknownAuthority checks that a certificate is verified.
func TestBench_UnknownAuthority(t *testing.T) {
	server, _ := benchServer(t, "one")
	code, _, stderr := run(t.Context(), "bench", server, "--token", "one", "--yes-write")
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, stderr, "certificate")
}
