package scimserver_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver"
)

// TestOptions_LoggerDefault checks that a server without a logger writes internal errors to the default log.
func TestOptions_LoggerDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	store := faultyStore{newMapStore(), func() error { return errors.New("disk full") }}
	h := serve(t, store, func(o *scimserver.Options) { o.Logger = nil })
	h.do(t, http.MethodGet, "/Users/1", nil).wantError(t, http.StatusInternalServerError, "")
	require.Contains(t, log.String(), "disk full")
}
