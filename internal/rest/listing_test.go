package rest_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

func TestListing_Table(t *testing.T) {
	type request struct {
		Table string `query:"table"`
	}
	h, err := rest.NewHandler([]rest.Route{rest.Op[request, rest.Listing[int]]{
		ID: "list", Route: "GET /things", Tag: "T", Summary: "s", Scopes: []string{"s"},
		Do: func(_ context.Context, r *request) (out rest.Listing[int], err error) {
			out.Items, out.Next = []int{1, 2}, "more"
			if r.Table != "" {
				out.Table = []byte("a,b\r\n")
			}
			return out, nil
		},
	}}, rest.Options{Guard: guard{}, Limiter: noLimits{}, BaseURL: "http://api"})
	require.NoError(t, err)
	for name, c := range map[string]struct{ path, accept, media, body string }{
		"JSON":                                  {"/things", "", "application/json", "[1,2]\n"},
		"a table":                               {"/things?table=x", "text/csv", "text/csv; charset=utf-8", "a,b\r\n"},
		"a table even if only JSON is accepted": {"/things?table=x", "application/json", "text/csv; charset=utf-8", "a,b\r\n"},
		"JSON without a table, although CSV is accepted": {"/things", "text/csv", "application/json", "[1,2]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", c.path, nil)
			r.Header.Set("Authorization", "x")
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, 200, w.Code, w.Body)
			require.Equal(t, c.media, w.Header().Get("Content-Type"))
			require.Equal(t, c.body, w.Body.String())
			require.Len(t, w.Header().Values("Link"), 2, "a table has pages")
		})
	}
	doc := document(t, h, "t", "1")
	content := doc.Paths.Find("/things").Get.Responses.Status(200).Value.Content
	require.NotNil(t, content.Get("text/csv"))
	require.Equal(t, "array", content.Get("application/json").Schema.Value.Type.Slice()[0])
}
