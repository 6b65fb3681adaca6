package sqldbtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// clusterChild makes TestClusterChild start a cluster and wait to be killed.
const clusterChild = "SQLDBTEST_CLUSTER_CHILD"

func TestCluster_StopsWithKilledProcess(t *testing.T) {
	WithPostgres(t)
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^TestClusterChild$")
	child.Env = append(os.Environ(), clusterChild+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var pid int
	var dir string
	_, err = fmt.Sscan(line, &pid, &dir)
	require.NoError(t, err)
	running := func() bool {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty for a zombie that no process reaps
		return len(cmdline) > 0
	}
	require.True(t, running())

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Eventually(t, func() bool { return !running() }, 20*time.Second, 10*time.Millisecond)
	require.DirExists(t, dir)
	sweep()
	require.NoDirExists(t, dir)
}

func TestClusterChild(t *testing.T) {
	if os.Getenv(clusterChild) == "" {
		return // runs only as a child of TestCluster_StopsWithKilledProcess
	}
	_, err := private.url()
	require.NoError(t, err)
	fmt.Println(private.server.cmd.Process.Pid, private.dir)
	select {}
}

func TestPostgres_SeparateDatabases(t *testing.T) {
	for range 2 {
		db := Postgres(t)
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error { return tx.Apply(t.Context(), "CREATE TABLE t (v TEXT)") }))
		var n int
		require.NoError(t, db.Reader().QueryRow(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n))
		require.Zero(t, n)
	}
}
