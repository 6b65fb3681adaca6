package rest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

type eventsRequest struct {
	Last string `header:"Last-Event-ID" doc:"The last id."`
}

func eventsHandler(t *testing.T, run func(ctx context.Context, r *eventsRequest, w *rest.EventWriter) error) *rest.Handler {
	t.Helper()
	h, err := rest.NewHandler([]rest.Route{rest.Op[eventsRequest, rest.EventStream]{
		ID: "watch", Route: "GET /events", Tag: "T", Summary: "Watch", Public: true,
		Do: func(_ context.Context, r *eventsRequest) (rest.EventStream, error) {
			if r.Last == "x" {
				return rest.EventStream{}, rest.Invalid("Last-Event-ID", "not a number")
			}
			return rest.EventStream{Run: func(ctx context.Context, w *rest.EventWriter) error { return run(ctx, r, w) }}, nil
		},
	}}, rest.Options{Guard: rest.AllowAll{}, Limiter: rest.AllowAll{}})
	require.NoError(t, err)
	return h
}

// Each event arrives when it is written, also if the server limits the time of a response.
func TestEventStream_Immediate(t *testing.T) {
	next := make(chan bool)
	h := eventsHandler(t, func(_ context.Context, r *eventsRequest, w *rest.EventWriter) error {
		for range next {
			if err := w.Send(r.Last, "a.b", map[string]string{"text": "one\ntwo"}); err != nil {
				return err
			}
		}
		require.Error(t, w.Send("1\n", "a", nil))
		require.Error(t, w.Send("1", "a", func() {}))
		return w.Beat()
	})
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout = time.Nanosecond
	server.Start()
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/events", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "7")
	response, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewReader(response.Body)
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(lines, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	read(":\n\n")
	for range 2 {
		next <- true
		read("id: 7\nevent: a.b\ndata: {\"text\":\"one\\ntwo\"}\n\n")
	}
	close(next)
	read(":\n\n")
	_, err = lines.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

func TestEventStream_EndsWithCaller(t *testing.T) {
	ended := make(chan error)
	h := eventsHandler(t, func(ctx context.Context, _ *eventsRequest, w *rest.EventWriter) error {
		<-ctx.Done()
		var err error
		for range 1000 { // the first writes may still reach a buffer
			if err = w.Beat(); err != nil {
				break
			}
		}
		ended <- err
		return err
	})
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	cancel()
	defer response.Body.Close()
	if err := <-ended; err != nil {
		require.ErrorIs(t, err, rest.ErrDisconnected)
	}
}

func TestEventStream_ErrorIsJSON(t *testing.T) {
	h := eventsHandler(t, func(context.Context, *eventsRequest, *rest.EventWriter) error { return errors.New("not reached") })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "x")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.Contains(t, document(t, h, "t", "1").Paths.Find("/events").Get.Responses.Value("200").Value.Content, "text/event-stream")
}
