package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

func TestHandler_XMLAndUnsupported(t *testing.T) {
	missing := func(_ context.Context, req *nothing) error {
		if req.ID == "gone" {
			return rest.NotFound("Thing", req.ID)
		}
		return nil
	}
	h, err := rest.NewHandler([]rest.Route{
		rest.Op[nothing, rest.XML]{
			ID: "xml", Route: "GET /things/{id}", Tag: "T", Summary: "s", Scopes: []string{"s"}, Find: missing,
			Do: func(context.Context, *nothing) (rest.XML, error) { return rest.XML{Document: []byte("<a/>")}, nil },
		},
		rest.Unsupported[nothing]{ID: "logo", Route: "POST /things/{id}/logo", Scopes: []string{"s"}, Find: missing},
	}, rest.Options{Guard: guard{}, Limiter: noLimits{}})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		do, accept, body string
		status           int
		has              string
	}{
		"XML if accepted":                           {"GET /things/1", "application/xml", "", 200, "<a/>"},
		"XML if only JSON is accepted":              {"GET /things/1", "application/json", "", 200, "<a/>"},
		"neither is accepted":                       {"GET /things/1", "text/html", "", 406, "E0000122"},
		"errors are JSON":                           {"GET /things/gone", "application/xml", "", 404, "E0000007"},
		"unsupported operation":                     {"POST /things/1/logo", "", "\x89PNG", 501, "E0000060"},
		"unsupported operation on a missing entity": {"POST /things/gone/logo", "", "", 404, "E0000007"},
		"XML is not accepted from other operations": {"POST /things/1/logo", "application/xml", "", 406, "E0000122"},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(c.do, " ")
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(c.body))
			r.Header.Set("Authorization", "x")
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code, w.Body)
			require.Contains(t, w.Body.String(), c.has)
			want := "application/json"
			if c.status == http.StatusOK {
				want = "application/xml"
			}
			require.Equal(t, want, w.Header().Get("Content-Type"))
		})
	}
	doc := document(t, h, "t", "1")
	require.Nil(t, doc.Paths.Find("/things/{id}/logo"), "unsupported operations are not in the document")
	require.NotNil(t, doc.Paths.Find("/things/{id}").Get.Responses.Status(200).Value.Content.Get("application/xml"))
}
