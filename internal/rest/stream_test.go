package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

type streamRequest struct {
	Body rest.Stream `body:"required" doc:"Lines."`
}

type streamResponse struct {
	Bytes int64 `json:"bytes" readOnly:"true" doc:"The number of bytes."`
}

// TestStream_ReadByOperation sends a body that is larger than the limit of other bodies.
func TestStream_ReadByOperation(t *testing.T) {
	h, err := rest.NewHandler([]rest.Route{rest.Op[streamRequest, streamResponse]{
		ID: "upload", Route: "POST /upload", Tag: "T", Summary: "Upload", Public: true,
		Do: func(_ context.Context, r *streamRequest) (streamResponse, error) {
			n, err := io.Copy(io.Discard, r.Body)
			return streamResponse{Bytes: n}, err
		},
	}}, rest.Options{Guard: rest.AllowAll{}, Limiter: rest.AllowAll{}, MaxBody: 10})
	require.NoError(t, err)
	send := func(media, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/upload", strings.NewReader(body))
		req.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	w := send("application/x-ndjson; charset=utf-8", strings.Repeat("{}\n", 1000))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, `{"bytes":3000}`, w.Body.String())
	for _, media := range []string{"application/json", "", "x"} {
		w = send(media, "{}\n")
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), "application/x-ndjson")
	}
	w = send("application/x-ndjson", "")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "no body")

	doc := document(t, h, "t", "1")
	body := doc.Paths.Find("/upload").Post.RequestBody.Value
	require.NotNil(t, body.Content["application/x-ndjson"])
	require.Equal(t, "Lines.", body.Description)
}
