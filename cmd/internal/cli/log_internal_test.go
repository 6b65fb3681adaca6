package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTerminalHandler_NoColor(t *testing.T) {
	for _, noColor := range []bool{true, false} {
		var out strings.Builder
		slog.New(terminalHandler(&out, slog.LevelInfo, noColor)).ErrorContext(t.Context(), "server stopped")
		require.Equal(t, !noColor, strings.Contains(out.String(), "\x1b"), "%q", out.String())
	}
}
