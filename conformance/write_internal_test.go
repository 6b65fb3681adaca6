package conformance

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// The evidence of a read includes the last accepted write of the same resource before the read.
func TestWriteBefore_SameResource(t *testing.T) {
	t.Parallel()
	const base = "https://example.com/scim/v2"
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	sent := func(method, path, body string, status int) *wirelog.Exchange {
		at = at.Add(time.Second)
		return &wirelog.Exchange{At: at, Method: method, URL: base + path, ResponseBody: body, Status: status}
	}
	c := &T{}
	write := func(method, path, body string, status int) *wirelog.Exchange {
		e := sent(method, path, body, status)
		c.keepWrite(Request{Method: method, Path: path}, &Response{Status: status, exchange: e})
		return e
	}
	created := write(http.MethodPost, "/Users", `{"id":"a"}`, 201)
	require.Same(t, created, c.writeBefore(sent(http.MethodGet, "/Users/a?attributes=name", "", 200)))
	require.Nil(t, c.writeBefore(sent(http.MethodGet, "/Users/b", "", 200)), "another user")
	require.Nil(t, c.writeBefore(sent(http.MethodGet, "/Groups/a", "", 200)), "another collection")
	require.Nil(t, c.writeBefore(sent(http.MethodPatch, "/Users/a", "", 200)), "not a read")
	early := sent(http.MethodGet, "/Users/a", "", 200)
	changed := write(http.MethodPatch, "/Users/a", "", 204)
	write(http.MethodPut, "/Users/a", "", 400)
	write(http.MethodPost, "/Users/.search", `{"id":"a"}`, 200)
	require.Same(t, changed, c.writeBefore(sent(http.MethodGet, "/Users/a", "", 200)), "rejected writes and searches change nothing")
	require.Same(t, created, c.writeBefore(early), "a later write has not caused what the read shows")
}
