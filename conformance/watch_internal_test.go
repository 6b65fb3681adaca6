package conformance

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// TestWatchers_KeepCreates checks that a finding about a response has the creates of the objects that its request names.
func TestWatchers_KeepCreates(t *testing.T) {
	t.Parallel()
	w := &watchState{check: Check{Level: Must, Watch: func(x *ObservedExchange) {
		x.Holds(x.Request.Method != http.MethodDelete, "status", "200", x.Status)
	}}, seen: map[string]bool{}}
	v := &watchers{watches: []*watchState{w}}
	send := func(method, path, body, answer string) {
		v.observe(&ObservedExchange{Request: Request{Method: method, Path: path}, Response: &Response{Status: 200, Body: []byte(answer),
			exchange: &wirelog.Exchange{Method: method, URL: "https://example.com" + path, RequestBody: body}}}, &secrets{})
	}
	send(http.MethodPost, "/Users", `{"userName":"ann"}`, `{"id":"a"}`)
	send(http.MethodPost, "/Users", `{"userName":"bob"}`, `{"id":"b"}`)
	send(http.MethodPost, "/Groups", `{"members":[{"value":"a"}]}`, `{"id":"g"}`)
	send(http.MethodDelete, "/Groups/g", "", "")
	var ids []string
	for _, p := range w.findings[0].Preparation {
		ids = append(ids, p.ID)
	}
	require.Equal(t, []string{"a", "g"}, ids)
	for n := range 2 * maxRecent {
		send(http.MethodPost, "/Users", `{}`, fmt.Sprintf(`{"id":"%d"}`, n))
	}
	require.Len(t, v.recent, maxRecent)
}
