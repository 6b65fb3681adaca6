package causes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

func TestHeadline_OmitsIDs(t *testing.T) {
	list := &wirelog.Exchange{Method: "GET", URL: "https://x/Users?filter=a", Status: 200,
		ResponseBody: `{"Resources":[{"id":"abcdefghij"},{"id": "7"}]}`}
	for _, c := range []struct {
		finding conformance.Finding
		want    string
	}{
		{conformance.Finding{What: "status of GET /Users/abcdefghij", Want: "200", Got: "404"}, "GET /Users/{id} returns 404 instead of 200"},
		{conformance.Finding{What: "ids found", Want: `["7"]`, Got: `["abcdefghij"]`, Exchange: list},
			`ids found: other ids instead of ["{id}"]`},
		{conformance.Finding{What: "schema in /Schemas/urn:x:User", Want: "one", Got: "none"},
			"schema in /Schemas/urn:x:User: none instead of one"},
		{conformance.Finding{What: "emails.value", Want: `["the-first@example.com","second@example.com"]`,
			Got: `["the-first@example.com"]`},
			`emails.value lacks "second@example.com"`},
		{conformance.Finding{What: "emails.value", Want: `["the-first@example.com"]`,
			Got: `["the-first@example.com","second@example.com"]`},
			`emails.value also has "second@example.com"`},
		{conformance.Finding{What: "name", Want: "scimconf-abcdefgh-ann", Got: "scimconf-hgfedcba-ann"}, "name: another value instead of ann"},
	} {
		got := headline(c.finding, evidence{})
		require.Equal(t, c.want, got)
	}
}

func TestClip_EndsAtWord(t *testing.T) {
	require.Equal(t, `["fin","gus…`, clip(`["fin","gus","hal","ivy"]`, 16))
	require.Equal(t, "urn:ietf:params…", clip("urn:ietf:params:scim:api", 17))
	require.Equal(t, "the connection…", clip("the connection was closed before the end", 19))
	require.Equal(t, "aaaaaaa…", clip(strings.Repeat("a", 20), 8))
}
