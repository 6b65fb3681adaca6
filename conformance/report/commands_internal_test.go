package report

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const scimURL = "https://scim.example.com/v2"

func request(method, path, body string) *wirelog.Exchange {
	return &wirelog.Exchange{Method: method, URL: scimURL + path, RequestBody: body,
		RequestHeader: http.Header{"Authorization": {"Bearer " + wirelog.Redacted}}}
}

// TestCommands_UseNewIDs checks that the commands of a cause create the objects, use the new ids, and delete the objects, the newest first.
// The id 1 is also a part of other words.
func TestCommands_UseNewIDs(t *testing.T) {
	t.Parallel()
	c := causes.Cause{
		Preparation: []conformance.Preparation{
			{ID: "1", Exchange: request("POST", "/Users", `{"userName":"ann"}`)},
			{ID: "g-2", Exchange: request("POST", "/Groups", `{"members":[{"value":"1"}]}`)},
		},
		Write:    request("PATCH", "/Groups/g-2", `{"Operations":[{"op":"remove","path":"members[value eq \"1\"]"}]}`),
		Exchange: request("GET", "/Groups/g-2?count=1", ""),
	}
	const authorized = ` -H "Authorization: Bearer $TOKEN"`
	require.Equal(t, commands{
		creates: []string{
			`ID1=$(curl -s -X 'POST' '` + scimURL + `/Users'` + authorized + ` --data-binary '{"userName":"ann"}' | jq -r .id)`,
			`ID2=$(curl -s -X 'POST' '` + scimURL + `/Groups'` + authorized + ` --data-binary '{"members":[{"value":"'"$ID1"'"}]}' | jq -r .id)`,
		},
		after: `curl -X 'PATCH' '` + scimURL + `/Groups/'"$ID2"''` + authorized +
			` --data-binary '{"Operations":[{"op":"remove","path":"members[value eq \"1\"]"}]}'`,
		shown: `curl '` + scimURL + `/Groups/'"$ID2"'?count=1'` + authorized,
		removes: `curl -X 'DELETE' '` + scimURL + `/Groups/'"$ID2"''` + authorized + `; curl -X 'DELETE' '` + scimURL + `/Users/'"$ID1"''` +
			authorized,
	}, commandsOf(c))
}

// TestCommands_CreateByWrite checks that a POST before a read is one of the creates, and that an object that a PUT created needs an
// id from the reader. The id of an object that a bulk request created is in its response.
func TestCommands_CreateByWrite(t *testing.T) {
	t.Parallel()
	run := commandsOf(causes.Cause{
		Write: request("POST", "/Users", `{"userName":"ann"}`), Exchange: request("GET", "/Users/a1?attributes=id", "")})
	require.Len(t, run.creates, 1)
	require.Empty(t, run.after)
	require.Contains(t, run.shown, `/Users/'"$ID1"'?attributes=id'`)
	require.Contains(t, run.removes, `'DELETE'`)

	run = commandsOf(causes.Cause{Preparation: []conformance.Preparation{{ID: "b1"}}, Exchange: request("GET", "/Groups/b1", "")})
	require.True(t, strings.HasPrefix(run.creates[0], "ID1= # "), run.creates)
	require.Contains(t, run.shown, `/Groups/'"$ID1"'`)
	require.Empty(t, run.removes)

	bulk := request("POST", "/Bulk", `{}`)
	bulk.ResponseBody = `{"Operations":[{"location":"` + scimURL + `/Users/u1"},{"location":"` + scimURL + `/Groups/b1"}]}`
	run = commandsOf(causes.Cause{
		Preparation: []conformance.Preparation{
			{ID: "b1", Exchange: bulk}, {ID: "u1", Exchange: bulk}, {Exchange: request("PATCH", "/Groups/b1", `{"add":"u1"}`)}},
		Exchange: request("GET", "/Groups/b1", "")})
	const authorized = ` -H "Authorization: Bearer $TOKEN"`
	require.Equal(t, commands{
		creates: []string{
			`BULK1=$(curl -s -X 'POST' '` + scimURL + `/Bulk'` + authorized + ` --data-binary '{}')`,
			`ID1=$(printf '%s' "$BULK1" | jq -r '.Operations[1].location | split("/") | last')`,
			`ID2=$(printf '%s' "$BULK1" | jq -r '.Operations[0].location | split("/") | last')`,
			`curl -X 'PATCH' '` + scimURL + `/Groups/'"$ID1"''` + authorized + ` --data-binary '{"add":"'"$ID2"'"}'`,
		},
		shown: `curl '` + scimURL + `/Groups/'"$ID1"''` + authorized,
		removes: `curl -X 'DELETE' '` + scimURL + `/Users/'"$ID2"''` + authorized + `; curl -X 'DELETE' '` + scimURL + `/Groups/'"$ID1"''` +
			authorized,
	}, run)

	run = commandsOf(causes.Cause{Exchange: request("GET", "/Users?count=1", "")})
	require.Equal(t, commands{shown: `curl '` + scimURL + `/Users?count=1' -H "Authorization: Bearer $TOKEN"`}, run)
}
