package observe_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver/observe"
)

// TestOptions_LoggerDefault checks that a server without a logger writes requests to the default log.
func TestOptions_LoggerDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	observe.Wrap(teapot, observe.Options{}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/Users", nil))
	require.Contains(t, log.String(), "method=GET route=/Users")
}
