package checks

import (
	"context"
	"net/url"
	"path"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var me = []check{
	{
		ID:           "me.answer",
		Title:        "GET of /Me returns the client's own resource, a redirect to it, 403, 404 or 501",
		Requirements: reqs("RFC7644-3.11-01", "RFC7644-3.11-02"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Self-service applications start with a request to /Me; after any other response, users cannot use the application.",
		Fix: "Return 200 with the resource that belongs to the token, or 308 with its URL in Location; return 501 if /Me is not " +
			"implemented.",
		Run: meStatus,
	},
	{
		ID:           "me.location",
		Title:        "meta.location and the Location header of /Me are the permanent URL of the client's own resource",
		Requirements: reqs("RFC7644-3.11-03"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why: "Clients store meta.location as the URL of the user; if it is /Me, a client with another token reads and changes " +
			"another user.",
		Fix: "Set meta.location and the Location header to the permanent URL, for example https://example.com/scim/v2/Users/2819c223.",
		Run: meLocation,
	},
	{
		ID:           "me.same",
		Title:        "/Me and the permanent URL of the client's own resource return the same resource",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "If the two representations differ, clients make changes that revert each other.",
		Fix:          "Build both responses from the same stored representation.",
		Run:          meSame,
	},
	{
		ID:           "me.projection",
		Title:        "The parameter attributes applies to /Me",
		Requirements: reqs("RFC7644-3.9-02"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Self-service applications request few attributes; a complete response can show personal data unnecessarily.",
		Fix:          "Apply the parameter attributes to every response with a resource, also to that of /Me.",
		Run: func(ctx context.Context, t *T) {
			o := readMe(ctx, t, "attributes", "userName").Object()
			t.Holds(has(o, "userName"), "userName in /Me?attributes=userName", "a string", value(o, "userName"))
			for _, name := range []string{"meta", "name", "emails", "active", "displayName"} {
				t.Holds(!has(o, name), name+" in /Me?attributes=userName", "absent", value(o, name))
			}
		},
	},
	{
		ID:           "me.no-password",
		Title:        "/Me does not return the password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Browsers cache responses, so another user of the computer could read the password.",
		Fix:          "Never include password in a representation.",
		Run: func(ctx context.Context, t *T) {
			o := readMe(ctx, t, "attributes", "userName,password").Object()
			t.Holds(!has(o, "password"), "password in /Me", "absent", "present")
		},
	},
	{
		ID:           "me.mistakes",
		Title:        "Malformed changes of /Me are rejected with 400, 403, 404, 405 or 501, or redirected",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.11-01"),
		Level:        should,
		Needs:        needs(conformance.NeedUser, conformance.NeedWrite),
		Requests:     3,
		Why:          "After a 500, clients repeat the malformed request indefinitely.",
		Fix:          "Return 400 for a malformed body, and 501, 405 or 404 if /Me does not support the method.",
		Run:          meMalformed,
	},
}

func meStatus(ctx context.Context, t *T) {
	res := t.Get(ctx, "/Me")
	t.Holds(slices.Contains([]int{200, 307, 308, 403, 404, 501}, res.Status), "status of "+res.Name,
		"200, 308 or 501; 307, 403 and 404 are accepted too", res.Status)
	if res.Status == 404 {
		t.Inform("status of "+res.Name, "501", res.Status)
	}
	if res.Status == 307 || res.Status == 308 {
		to, err := url.Parse(res.Header.Get("Location"))
		t.Holds(err == nil && path.Base(to.Path) != "Me" && to.Path != "", "Location header of the redirect",
			"the URL of the client's own resource, not of /Me",
			res.Header.Get("Location"))
	}
}

func meLocation(ctx context.Context, t *T) {
	res := readMe(ctx, t)
	id := res.Object().Text("id")
	t.Must(id != "", "id of /Me", "the id of the client's own resource", id)
	for what, address := range byName(map[string]string{"meta.location of /Me": res.Object().Complex("meta").Text("location"),
		"Location header of /Me": res.Header.Get("Location")}) {
		t.Holds(address == "" || path.Base(address) == id, what, "a URL that ends in "+id, address)
	}
	// The clause defines the value of the header. Whether a response may omit the header is not stated: its absence is a warning.
	t.Warn(res.Header.Get("Location") != "", "Location header of /Me", "a URL that ends in "+id, "nothing")
}

func meSame(ctx context.Context, t *T) {
	mine := readMe(ctx, t).Object()
	own := t.Get(ctx, "/Users/"+url.PathEscape(mine.Text("id")))
	t.SkipIf(own.Status == 403 || own.Status == 404, "the client's own resource is not a user that these credentials can read by id")
	for _, name := range []string{"id", "userName", "name", "active", "emails"} {
		t.Expect(name+" in GET by id, compared with /Me", value(mine, name), value(own.Object(), name))
	}
}

func meMalformed(ctx context.Context, t *T) {
	// None of these requests changes a resource, whatever the token: the first one has no Operations, the others are truncated JSON.
	for _, req := range []conformance.Request{
		{Method: "PATCH", Path: "/Me", Body: doc{"schemas": []string{scim.PatchOpMessage}}},
		{Method: "PUT", Path: "/Me", Body: []byte(`{"schemas":`)},
		{Method: "POST", Path: "/Me", Body: []byte(`{"externalId":"` + t.Prefix() + `mistake","schemas":`)},
	} {
		res := t.Call(ctx, req)
		t.Holds(slices.Contains([]int{307, 308, 400, 403, 404, 405, 501}, res.Status), "status of a malformed "+res.Name,
			"400; 307, 308, 403, 404, 405 and 501 are accepted too", res.Status)
	}
}

// readMe reads /Me, or skips the check if the target has none for these credentials. No check sends a valid change to /Me, because the
// resource is the account of a real user.
func readMe(ctx context.Context, t *T, query ...string) *conformance.Response {
	res := t.Get(ctx, "/Me", query...)
	if res.Status != 200 || res.Object() == nil {
		t.NotApplicable("the target has no /Me for these credentials, which is permitted")
	}
	return res
}
