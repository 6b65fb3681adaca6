package sandbox_test

import (
	"net"
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

func takenAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
