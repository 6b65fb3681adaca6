package truth_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// repository is the root directory of the module, relative to this package.
var repository = filepath.Join("..", "..", "..")

// childVariable makes the test binary behave as the command scim-conformance, so that a test can kill its process.
const childVariable = "SCIMWRIGHT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := conform.Run(ctx, "scim-conformance", os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
		stop()
		os.Exit(code)
	}
	together := 4
	if raceDetector {
		together = 1 // one test per processor: with more, requests time out
	}
	if err := alltest.Together(together); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(sqldbtest.Main(m))
}
