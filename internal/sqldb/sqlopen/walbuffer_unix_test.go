//go:build linux || darwin

package sqlopen_test

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWALBuffer_FullDisk checks that a commit that cannot write the WAL fails and changes nothing, and that later commits succeed once the
// disk has room.
func TestWALBuffer_FullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ) // exceeding the limit is then an error of the write
	defer signal.Reset(syscall.SIGXFSZ)
	writer, path := openBuffered(t, t.TempDir())
	defer writer.Close()
	_, err := writer.Exec("CREATE TABLE t (n INTEGER PRIMARY KEY, doc BLOB NOT NULL); INSERT INTO t VALUES (1, 'kept')")
	require.NoError(t, err)
	before := contents(t, writer)

	wal, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	var unlimited syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &unlimited))
	limited := unlimited
	limited.Cur = uint64(wal.Size()) + 10_000
	for _, statement := range []string{
		// The sync fails.
		"INSERT INTO t VALUES (2, randomblob(20000))",
		// A write fails.
		"INSERT INTO t VALUES (3, randomblob(1000000))",
		// A read fails.
		"BEGIN; INSERT INTO t VALUES (4, randomblob(300000)); UPDATE t SET doc = randomblob(400000); COMMIT",
	} {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited))
		_, err = writer.Exec(statement)
		failed := err
		_, err = writer.Exec("ROLLBACK")
		rollback := err
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &unlimited))
		require.Error(t, failed, statement)
		if !strings.HasPrefix(statement, "BEGIN") {
			require.ErrorContains(t, rollback, "no transaction is active")
		}
		require.Equal(t, before, contents(t, writer))
		require.Equal(t, before, killed(t, path))
	}
	_, err = writer.Exec("INSERT INTO t VALUES (9, randomblob(500000))")
	require.NoError(t, err)
	require.Equal(t, contents(t, writer), killed(t, path))
}
