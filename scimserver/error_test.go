package scimserver_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

func TestPathsAndMethods(t *testing.T) {
	h := serve(t, newMapStore())
	ann := h.newUser(t, "ann")
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/Nothing", 404, ""},
		{"GET", "/users", 404, ""},
		{"GET", "//Users", 404, ""},
		{"GET", "/Users//", 404, ""},
		{"GET", "/Users/../Users", 404, ""},
		{"PUT", "/Users", 405, "GET, HEAD, OPTIONS, POST"},
		{"PATCH", "/Users", 405, "GET, HEAD, OPTIONS, POST"},
		{"DELETE", "/Users", 405, "GET, HEAD, OPTIONS, POST"},
		{"POST", "/Users/" + ann.id(), 405, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
		{"GET", "/Users/.search", 405, "OPTIONS, POST"},
		{"GET", "/.search", 405, "OPTIONS, POST"},
		{"BREW", "/Users", 405, "GET, HEAD, OPTIONS, POST"},
		{"GET", "/Me", 501, ""},
		{"PATCH", "/Me", 501, ""},
		{"GET", "/Bulk", 405, "OPTIONS, POST"},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			a := h.do(t, test.method, test.path, nil).wantError(t, test.status, "")
			require.Equal(t, test.allow, a.header.Get("Allow"))
		})
	}
	t.Run("OPTIONS returns the methods", func(t *testing.T) {
		a := h.do(t, http.MethodOptions, "/Users", nil).want(t, http.StatusNoContent)
		require.Equal(t, "GET, HEAD, OPTIONS, POST", a.header.Get("Allow"))
	})
	t.Run("paths outside the prefix are not found", func(t *testing.T) {
		h.do(t, http.MethodGet, strings.TrimSuffix(h.url, prefix)+"/Users", nil).wantError(t, http.StatusNotFound, "")
		h.do(t, http.MethodGet, h.url+"x/Users", nil).wantError(t, http.StatusNotFound, "")
	})
	t.Run("a malformed query", func(t *testing.T) {
		h.do(t, http.MethodGet, "/Users?filter=%zz", nil).wantError(t, http.StatusBadRequest, scim.InvalidSyntax)
	})
}

func TestMediaTypes(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for i, test := range []struct {
			contentType string
			status      int
		}{
			{"application/scim+json", 201},
			{"application/json", 201},
			{"Application/SCIM+JSON; charset=UTF-8", 201},
			{"application/json;charset=utf-8", 201},
			{"", 201},
			{"application/json; charset=iso-8859-1", 415},
			{"text/plain", 415},
			{"application/xml", 415},
			{"application/x-www-form-urlencoded", 415},
			{"nonsense/;;", 415},
		} {
			a := h.do(t, http.MethodPost, "/Users", user(strings.Repeat("u", i+1)), header("Content-Type", test.contentType))
			a.want(t, test.status)
			if test.status == http.StatusUnsupportedMediaType {
				a.wantError(t, test.status, "")
			}
		}
		for _, test := range []struct {
			accept string
			status int
		}{
			{"application/scim+json", 200}, {"application/json", 200}, {"application/json;q=0.8, text/html", 200}, {"*/*", 200},
			{"application/*", 200},
			{"text/html, image/gif, *; q=.2, */*; q=.2", 200}, {"text/html", 406}, {"application/json;q=0", 406}, {"application/xml", 406},
		} {
			a := h.do(t, http.MethodGet, "/Users", nil, header("Accept", test.accept)).want(t, test.status)
			if test.status == http.StatusNotAcceptable {
				a.wantError(t, test.status, "")
			}
		}
		h.do(t, http.MethodPost, "/Users", user("zip"), header("Content-Encoding", "gzip")).wantError(t, http.StatusUnsupportedMediaType, "")
	})
}

func TestLimits(t *testing.T) {
	limit := func(o *scimserver.Options) {
		o.Limits = scimserver.Limits{MaxBody: 1000, MaxFilter: 100, MaxPatchOperations: 3}
	}
	h := serve(t, newMapStore(), limit)
	ann := h.newUser(t, "ann")
	h.do(t, http.MethodPost, "/Users", user(strings.Repeat("x", 1000))).wantError(t, http.StatusRequestEntityTooLarge, "")
	h.do(t, http.MethodGet, filtered("/Users", `userName eq "`+strings.Repeat("x", 100)+`"`), nil).wantError(t, http.StatusBadRequest,
		scim.InvalidFilter)
	change := op("replace", "active", true)
	h.patch(t, "/Users/"+ann.id(), change, change, change).want(t, http.StatusOK)
	h.patch(t, "/Users/"+ann.id(), change, change, change, change).wantError(t, http.StatusRequestEntityTooLarge, "")
}

// faultyStore returns the given error or panics when a resource is read.
type faultyStore struct {
	scimserver.Store
	fail func() error
}

func (s faultyStore) Get(context.Context, string, string) (*scimserver.Record, error) {
	return nil, s.fail()
}

// TestInternalError_ShowsOnlyID checks that an internal error shows the client only an ID, and that the log has ID and cause.
func TestInternalError_ShowsOnlyID(t *testing.T) {
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("disk of host db7 is full") },
		"a panic":  func() error { panic("disk of host db7 is full") },
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, faultyStore{newMapStore(), fail})
			a := h.do(t, http.MethodGet, "/Users/x", nil).wantError(t, http.StatusInternalServerError, "")
			require.NotContains(t, a.text, "db7")
			_, id, found := strings.Cut(a.body.Text("detail"), "internal error ")
			require.True(t, found)
			require.Contains(t, h.log.String(), "disk of host db7 is full")
			require.Contains(t, h.log.String(), id)
			h.get(t, "/Users")
		})
	}
	t.Run("a canceled request", func(t *testing.T) {
		h := serve(t, faultyStore{newMapStore(), func() error { return context.DeadlineExceeded }})
		h.do(t, http.MethodGet, "/Users/x", nil).wantError(t, http.StatusServiceUnavailable, "")
	})
}
