package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// A sandbox that fails to start does not remove the ready file of a running one.
func TestReadyFile_KeptOnFailedStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	for name, o := range map[string]sandbox.Options{
		"address in use": {Listen: takenAddress(t), ReadyFile: file},
		"invalid option": {Listen: "127.0.0.1:0", ReadyFile: file, DB: "nonsense://"},
	} {
		_, err := sandbox.Start(t.Context(), o)
		require.Error(t, err, name)
		require.FileExists(t, file, name)
	}
}

// The sandbox is healthy when its seed is provisioned. In this test, its target reads the health during the seed.
func TestHealth_UnavailableDuringSeed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	url := "http://" + l.Addr().String() + "/sandbox/v1/health"
	health := func() string {
		res, err := http.Get(url)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprint(res.StatusCode, string(text), err)
	}
	during := make(chan string, 1)
	good := scimHandler(t)
	tg := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			select {
			case during <- health():
			default:
			}
		}
		good.ServeHTTP(w, r)
	}))
	startSandbox(t, sandbox.Options{Listen: l.Addr().String(), ExternalTarget: tg.URL, ExternalToken: scimToken})
	require.Equal(t, `503{"status":"starting"}<nil>`, <-during)
	require.Equal(t, `200{"status":"ok"}<nil>`, health())
}

func takenAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
