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
	// The engine logs a hold only if the hold lasts until the lane checks it. This hold lasts longer than a test process may stall.
	w := newWorld(t, sqldbtest.SQLite(t), provision.Options{RetryInitial: 500 * time.Millisecond, RetryMax: time.Second})
	w.fake.Inject(enginetest.Fault{Method: http.MethodGet, Status: http.StatusUnauthorized})
	w.set("u-1", user("u-1", "ann"))
	w.wait()
	require.Len(t, w.fake.Users(), 1)
	w.stop(w.engine)
	require.Contains(t, log.String(), `msg="lane on hold" app=`+app)
	require.Equal(t, engine.StatusClean, w.state(engine.User, "u-1").Status)
}
