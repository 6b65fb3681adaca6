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

// TestHeadline_MissingName checks that a headline names a missing required attribute only if the finding is about it.
func TestHeadline_MissingName(t *testing.T) {
	const patch = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[`
	for _, c := range []struct{ method, path, body, what, got, want string }{
		{"POST", "/Users", `{"schemas":["s"]}`, "status of POST /Users", "201", "POST /Users without userName returns 201 instead of 400"},
		{"POST", "/Groups", `{"schemas":["s"],"displayName":""}`, "status of POST /Groups", "201",
			"POST /Groups with an empty displayName returns 201 instead of 400"},
		{"PUT", "/Users/7a", `{"schemas":["s"],"username":null}`, "status of PUT /Users/7a", "200",
			"PUT /Users/{id} with userName null returns 200 instead of 400"},
		{"PATCH", "/Users/7a", patch + `{"op":"remove","path":"userName"}]}`, "status of a PATCH that removes userName", "200",
			"PATCH that removes userName returns 200 instead of 400 (PATCH /Users/{id})"},
		{"PATCH", "/Users/7a", patch + `{"op":"replace","path":"userName","value":""}]}`, "status of PATCH /Users/7a", "204",
			"PATCH /Users/{id} with replace userName returns 204 instead of 400"},
		{"PATCH", "/Users/7a", patch + `{"op":"remove"}]}`, "status of the PATCH", "200",
			"PATCH returns 200 instead of 400 (PATCH /Users/{id})"},
		{"PATCH", "/Users/7a", patch + `{"op":"replace","path":"meta.created","value":"x"}]}`, "status of PATCH of meta.created", "200",
			"PATCH of meta.created returns 200 instead of 400 (PATCH /Users/{id})"},
		{"PATCH", "/Users/7a", patch + `{"op":"replace","path":"displayName..x","value":"x"}]}`,
			"status of PATCH with the path displayName..x", "200",
			"PATCH with the path displayName..x returns 200 instead of 400 (PATCH /Users/{id})"},
		{"POST", "/Users/.search", `{"schemas":["s"]}`, "status of POST /Users/.search", "200",
			"POST /Users/.search returns 200 instead of 400"},
		{"POST", "/Users", `{"schemas":["s"]}`, "status of a POST without userName of User", "201",
			"POST without userName of User returns 201 instead of 400 (POST /Users)"},
	} {
		f := conformance.Finding{What: c.what, Want: "400", Got: c.got, Exchange: &wirelog.Exchange{
			Method: c.method, URL: "https://x" + c.path, RequestBody: c.body,
		}}
		require.Equal(t, c.want, headline(f, evidenceOf(f, "https://x")))
	}
}
