package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// plainLog writes records without their times.
func plainLog(b *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

func TestFailureLog_RepeatsOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, end := sandbox.FailureLog(plainLog(&out), func(_ context.Context, app string) string { return map[string]string{"0oa1": "HR"}[app] })
		fail := func(app string, n int) {
			for i := range n {
				log.Warn("lane on hold", "app", app, "reason", errors.New("no answer"), "until", time.Now(), "attempts", i)
				time.Sleep(10 * time.Second)
			}
		}
		fail("0oa1", 6) // six records in 60 s, the duration of a window
		synctest.Wait()
		require.Equal(t, strings.Join([]string{
			`level=WARN msg="lane on hold" app=0oa1 reason="no answer" until=2000-01-01T00:00:00.000Z attempts=0 label=HR`,
			`level=WARN msg="lane on hold" app=0oa1 reason="no answer" until=2000-01-01T00:00:50.000Z attempts=5 label=HR repeated=5`, "",
		}, "\n"), out.String())

		out.Reset()
		fail("0oa1", 2)
		fail("0oa2", 1)
		log.Info("lane on hold", "app", "0oa1")
		log.Info("lane on hold", "app", "0oa1")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3, "records of another app and records below warning are logged immediately")
		require.Contains(t, lines[0], "app=0oa2")
		require.NotContains(t, lines[0], "label")

		out.Reset()
		end()
		require.Contains(t, out.String(), "repeated=2", "omitted records are logged at the end")
		require.NotContains(t, out.String(), "0oa2")
		out.Reset()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, out.String())
	})
}

func TestFailureLog_ForgetsQuietFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, end := sandbox.FailureLog(plainLog(&out), nil)
		defer end()
		for range 3 {
			log.With("app", "0oa1").Error("lane interrupted")
			time.Sleep(2 * time.Minute)
		}
		synctest.Wait()
		require.Equal(t, 3, strings.Count(out.String(), "lane interrupted"))
		require.NotContains(t, out.String(), "repeated")
	})
}

// lockedBuffer is a log that a test reads while a sandbox writes it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestLog_CarriesLabel(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	_, api := startSandbox(t, sandbox.Options{Empty: true, Logger: slog.New(slog.NewTextHandler(&out, nil))})
	tg := newTarget(t, scimHandler(t))
	app := newApp(t, api, tg.URL, scimToken)
	tg.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+newUser(t, api, "ann@log.example")+`"}`, nil)
	eventually(t, "the hold is logged", func() bool { return strings.Contains(out.String(), "lane on hold") })
	require.Contains(t, out.String(), fmt.Sprintf("app=%s", app))
	require.Contains(t, out.String(), `label="Test app"`)
}
