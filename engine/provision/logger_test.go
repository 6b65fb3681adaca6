package provision_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestOptions_LoggerDefault checks that without Options.Logger the default logger receives rejected credentials.
func TestOptions_LoggerDefault(t *testing.T) {
	log := &lockedBuffer{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(before)
	// A hold is logged only if it lasts until the lane checks it. This hold is longer than a test process may stall.
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: 500 * time.Millisecond, RetryMax: time.Second})
	w.fake.Inject(enginetest.Fault{Method: http.MethodGet, Status: http.StatusUnauthorized})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	w.stop(w.engine)
	require.Contains(t, log.String(), `msg="lane on hold" app=`+app)
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
}
