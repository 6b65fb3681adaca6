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
		Title:        "GET of /Me answers with the own resource, a redirect to it, or 501",
		Requirements: reqs("RFC7644-3.11-01", "RFC7644-3.11-02"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Self-service applications start here.",
		Fix:          "Answer 200 or 308 when the token belongs to a resource, 501 when /Me is not implemented.",
		Run:          meAnswer,
	},
	{
		ID:           "me.location",
		Title:        "The location of /Me is the permanent address of the own resource",
		Requirements: reqs("RFC7644-3.11-03"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "A client stores the address; /Me is somebody else for the next token.",
		Fix:          "Set meta.location, and Location when it is sent, to the resource's own address.",
		Run:          meLocation,
	},
	{
		ID:           "me.same",
		Title:        "/Me shows the same resource as its own address",
		Requirements: reqs("RFC7644-3.1-05", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Two views that differ lead to changes that undo each other.",
		Fix:          "Build both answers from the same stored representation.",
		Run:          meSame,
	},
	{
		ID:           "me.projection",
		Title:        "attributes works on /Me",
		Requirements: reqs("RFC7644-3.9-02"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Self-service applications ask for the few attributes that they show.",
		Fix:          "Apply attributes to every answer with a resource.",
		Run: func(ctx context.Context, t *T) {
			o := whoami(ctx, t, "attributes", "userName").Object()
			t.Holds(has(o, "userName"), "userName in /Me?attributes=userName", "a text", value(o, "userName"))
			for _, name := range []string{"meta", "name", "emails", "active", "displayName"} {
				t.Holds(!has(o, name), name+" in /Me?attributes=userName", "absent", value(o, name))
			}
		},
	},
	{
		ID:           "me.no-password",
		Title:        "/Me does not show the password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "What a browser holds ends up in its cache.",
		Fix:          "Never put password into a representation.",
		Run: func(ctx context.Context, t *T) {
			o := whoami(ctx, t, "attributes", "userName,password").Object()
			t.Holds(!has(o, "password"), "password in /Me", "absent", "it is there")
		},
	},
	{
		ID:           "me.mistakes",
		Title:        "Malformed changes of /Me are refused without a server error",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.11-01"),
		Level:        should,
		Needs:        needs(conformance.NeedUser, conformance.NeedWrite),
		Requests:     3,
		Why:          "A 500 is retried for ever.",
		Fix:          "Answer 400 to what cannot be read, 501 or 405 to what is not implemented.",
		Run:          meMistakes,
	},
}

func meAnswer(ctx context.Context, t *T) {
	res := t.Get(ctx, "/Me")
	t.Holds(slices.Contains([]int{200, 307, 308, 403, 404, 501}, res.Status), "status of "+res.Name, "200, 308 or 501", res.Status)
	if res.Status == 404 {
		t.Inform("status of "+res.Name, "501", res.Status)
	}
	if res.Status == 307 || res.Status == 308 {
		to, err := url.Parse(res.Header.Get("Location"))
		t.Holds(err == nil && path.Base(to.Path) != "Me" && to.Path != "", "Location header of the redirect", "the address of the own resource",
			res.Header.Get("Location"))
	}
}

func meLocation(ctx context.Context, t *T) {
	res := whoami(ctx, t)
	id := res.Object().Text("id")
	t.Must(id != "", "id of /Me", "the id of the own resource", id)
	for what, address := range map[string]string{"meta.location of /Me": res.Object().Complex("meta").Text("location"),
		"Location header of /Me": res.Header.Get("Location")} {
		t.Holds(address == "" || path.Base(address) == id, what, "an address that ends in "+id, address)
	}
}

func meSame(ctx context.Context, t *T) {
	mine := whoami(ctx, t).Object()
	own := t.Get(ctx, "/Users/"+url.PathEscape(mine.Text("id")))
	t.SkipIf(own.Status == 403 || own.Status == 404, "the own resource is no user that these credentials may read by id")
	for _, name := range []string{"id", "userName", "name", "active", "emails"} {
		t.Expect(name+" in GET by id, compared with /Me", value(mine, name), value(own.Object(), name))
	}
}

func meMistakes(ctx context.Context, t *T) {
	// None of them can change anything, whoever the token belongs to.
	for _, req := range []conformance.Request{
		{Method: "PATCH", Path: "/Me", Body: doc{"schemas": []string{scim.PatchOpMessage}}},
		{Method: "PUT", Path: "/Me", Body: []byte(`{"schemas":`)},
		{Method: "POST", Path: "/Me", Body: []byte(`{"externalId":"` + t.Prefix() + `mistake","schemas":`)},
	} {
		res := t.Call(ctx, req)
		t.Holds(res.Status >= 300 && (res.Status < 500 || res.Status == 501), "status of a malformed "+res.Name, "400, 405 or 501", res.Status)
	}
}

// whoami reads /Me, or skips the check when the target has none for these credentials. Nothing is ever written there: it is
// somebody's account.
func whoami(ctx context.Context, t *T, query ...string) *conformance.Response {
	res := t.Get(ctx, "/Me", query...)
	if res.Status != 200 || res.Object() == nil {
		t.NotApplicable("the target has no /Me for these credentials, which is permitted")
	}
	return res
}
