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

// TestPreparation_ObjectsOfRequest checks which objects the requests of a finding depend on.
func TestPreparation_ObjectsOfRequest(t *testing.T) {
	t.Parallel()
	const base, run = "https://example.com/scim/v2", "scimconf-abcdefgh"
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	sent := func(method, path, body string) *wirelog.Exchange {
		at = at.Add(time.Second)
		return &wirelog.Exchange{At: at, Method: method, URL: base + path, RequestBody: body}
	}
	entry := 0
	created := func(id, name, body string) *Created {
		entry++
		c := &Created{ID: id, name: run + name, entry: entry}
		if body != "" {
			c.post = sent(http.MethodPost, "/Users", body)
		}
		return c
	}
	ada, bob := created("1", "-people-ada", `{"userName":"ada"}`), created("2", "-people-bob", `{"manager":"1"}`)
	own, bulk := created("own", "-7-own", `{"userName":"own"}`), created("bulk", "-7-bulk", "")
	ledger := []*Created{own, bulk}
	c := &T{Fixture: map[string]*Created{"bob": bob, "ada": ada}, ledger: &ledger, session: &session{created: &createdObjects{run: run}}}
	ids := func(of ...*wirelog.Exchange) (out []string) {
		for _, p := range c.preparation(of...) {
			out = append(out, p.ID)
		}
		return out
	}
	require.Equal(t, []string{"own"}, ids(sent(http.MethodPatch, "/Users/own", `{}`), nil))
	require.Equal(t, []string{"1", "2"}, ids(sent(http.MethodGet, "/Users/2?count=11", "")), "the manager of the user")
	filter := sent(http.MethodGet, "/Users?filter=userName%20sw%20%22"+run+"-PEOPLE-%22", "")
	require.Equal(t, []string{"1", "2"}, ids(filter), "names in a filter")
	require.Equal(t, []string{"own", "bulk"}, ids(sent(http.MethodPost, "/Users/.search", `{"filter":"userName eq \"`+run+`-7-own\""}`)))
	require.Empty(t, ids(sent(http.MethodPost, "/Users", `{"userName":"`+run+`-7-other"}`)), "a create with a similar name")
	require.Empty(t, ids(sent(http.MethodGet, "/Users?count=1&startIndex=2", "")), "numbers that are not ids")
	early := &wirelog.Exchange{At: at.Add(-time.Hour), Method: http.MethodGet, URL: base + "/Users/own"}
	require.Empty(t, ids(early), "a request before the create")
	require.Empty(t, ids(own.post), "the create itself")

	own.Sent = Doc{"userName": run + "-7-own", "emails": []Doc{{"value": run + "-7-own@example.com"}}}
	require.Equal(t, []string{"own"}, ids(sent(http.MethodPost, "/Users", `{"userName":"`+run+`-7-OWN"}`)), "a create with the same name")
	require.Equal(t, []string{"own"}, ids(sent(http.MethodPut, "/Users/9", `{"emails":[{"value":"`+run+`-7-own@example.com"}]}`)))
	c.writes = []*wirelog.Exchange{own.post, sent(http.MethodPatch, "/Users/own", `{}`), sent(http.MethodPatch, "/Users/other", `{}`)}
	require.Equal(t, []Preparation{{ID: "own", Exchange: own.post}, {Exchange: c.writes[1]}},
		c.preparation(sent(http.MethodGet, "/Users/own", "")), "the change of the user")
	own.gone = true
	require.Empty(t, ids(sent(http.MethodPost, "/Users", `{"userName":"`+run+`-7-own"}`)), "the name of a deleted user")
}
