package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/cmd/internal/cli"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// childVariable makes the test binary run as the scimwright command, so that tests can kill a real process.
const childVariable = "SCIMWRIGHT_TEST_AS_COMMAND"

// loadVariable makes the test binary send requests to the URL that it contains.
const loadVariable = "SCIMWRIGHT_TEST_AS_LOAD"

// The timeouts and the maximum backoff of these tests.
const (
	testCallTimeout = time.Second
	testRetryMax    = 500 * time.Millisecond
	testSeedTime    = 5 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		cli.SpareProcessors(os.LookupEnv) // as the command does
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
		stop()
		os.Exit(code)
	}
	if address := os.Getenv(loadVariable); address != "" {
		sendLoad(address)
		os.Exit(1)
	}
	together := 4
	if raceDetector {
		together = 1 // no more than one per processor: with the race detector, parallel tests would exceed testCallTimeout
	}
	if err := errors.Join(alltest.Draws(20), alltest.Together(together)); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	code := sqldbtest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// child is the scimwright command in a separate process.
type child struct {
	cmd   *exec.Cmd
	Ready sandbox.Ready
}

// startCommand runs the command and waits for its ready file.
func startCommand(t testing.TB, args ...string) *child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(os.Args[0], append(args, "--ready-file", file)...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd}
	t.Cleanup(c.kill)
	eventually(t, "the command is ready", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(data, &c.Ready) == nil
	})
	return c
}

// kill kills the process without a shutdown. A second call does nothing.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

func (c *child) api() *sandbox.APIClient {
	return &sandbox.APIClient{BaseURL: c.Ready.BaseURL, Token: c.Ready.APIToken}
}
