package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

// element is an element of the lists of these tests. An empty one cannot be encoded.
type element string

func (e element) MarshalJSON() ([]byte, error) {
	if e == "" {
		return nil, errors.New("cannot be encoded")
	}
	return json.Marshal(string(e))
}

type sized struct {
	Elements int    `query:"elements" min:"0" max:"100"`
	Broken   string `query:"broken"`
	Hold     int    `query:"hold" min:"0" max:"10000000"`
}

// bounded serves a list of elements of 10,000 bytes. A request that holds bytes sends to held and waits for release.
func bounded(t *testing.T, log io.Writer, held, release chan struct{}) *httptest.Server {
	t.Helper()
	h, err := rest.NewHandler([]rest.Route{
		rest.Op[sized, rest.Page[element]]{ID: "list", Route: "GET /list", Tag: "T", Summary: "s", Scopes: []string{"s"},
			Do: func(ctx context.Context, r *sized) (page rest.Page[element], err error) {
				for range r.Elements {
					page.Items = append(page.Items, element(strings.Repeat("<", 10_000)))
				}
				if r.Broken != "" {
					page.Items = append(page.Items, "")
				}
				page.Next, page.Parameter = "7", "before"
				if err = rest.Hold(ctx, r.Hold); err == nil && r.Hold > 0 {
					held <- struct{}{}
					<-release
				}
				return page, err
			}},
	}, rest.Options{Guard: byUser{}, Limiter: noLimits{}, BaseURL: "http://api", MaxInFlight: 1000,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// byUser accepts each user name as authorization.
type byUser struct{ guard }

func (byUser) Authenticate(r *http.Request) (rest.Principal, error) {
	return rest.Principal{UserID: r.Header.Get("Authorization")}, nil
}

func get(t testing.TB, user, address string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", user)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// TestPage_SentAsEncoded requires the bytes of encoding/json for lists that are sent in one piece and in several.
func TestPage_SentAsEncoded(t *testing.T) {
	server := bounded(t, io.Discard, nil, nil)
	for _, n := range []string{"0", "1", "2", "6", "7", "100"} {
		res := get(t, "u", server.URL+"/list?elements="+n)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		var items []element
		require.NoError(t, json.Unmarshal(body, &items))
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(items))
		require.Equal(t, want.String(), string(body))
		require.Equal(t, `<http://api/list?before=7&elements=`+n+`>; rel="next"`, res.Header.Values("Link")[1])
	}
}

// TestPage_EncodingFails requires an internal error, or a response that the client detects as truncated if a part of it was already sent.
func TestPage_EncodingFails(t *testing.T) {
	var log bytes.Buffer
	server := bounded(t, &log, nil, nil)
	res := get(t, "u", server.URL+"/list?elements=1&broken=x")
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)
	res = get(t, "u", server.URL+"/list?elements=50&broken=x")
	require.Equal(t, http.StatusOK, res.StatusCode)
	_, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	server.Close()
	require.Contains(t, log.String(), "response aborted")
}

// TestHold_Bounds requires that a caller holds at most half of the bytes, all callers at most the bytes, and nobody any afterwards.
func TestHold_Bounds(t *testing.T) {
	held, release, waiting := make(chan struct{}), make(chan struct{}), make(chan struct{})
	server := bounded(t, io.Discard, held, release)
	begin := func(user string) {
		go func() {
			res := get(t, user, server.URL+"/list?hold=400")
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d", user, res.StatusCode)
			}
			waiting <- struct{}{}
		}()
		<-held
	}
	status := func(user, hold string) int {
		res := get(t, user, server.URL+"/list?hold="+hold)
		if res.StatusCode == http.StatusTooManyRequests {
			require.Equal(t, "1", res.Header.Get("Retry-After"))
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), `"errorCode":"E0000047"`)
		}
		return res.StatusCode
	}
	for range 2 {
		begin("a")
		require.Equal(t, http.StatusTooManyRequests, status("a", "101"))
		require.Equal(t, http.StatusOK, status("a", "0"))
		begin("b")
		require.Equal(t, http.StatusTooManyRequests, status("c", "201"))
		for range 2 {
			release <- struct{}{}
			<-waiting
		}
	}
	require.Equal(t, http.StatusTooManyRequests, status("a", "501"), "more than the half of one caller")
	require.NoError(t, rest.Hold(t.Context(), 1<<40), "outside of a request")
}
