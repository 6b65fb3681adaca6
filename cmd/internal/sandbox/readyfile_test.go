package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// A sandbox that cannot start leaves the ready file of one that runs alone.
func TestReadyFile_KeptOnFailedStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ready.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	for name, o := range map[string]sandbox.Options{
		"the address is taken": {Listen: takenAddress(t), ReadyFile: file},
		"a wrong option":       {Listen: "127.0.0.1:0", ReadyFile: file, DB: "nonsense://"},
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
