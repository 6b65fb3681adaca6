package checks

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

var read = []check{
	{
		ID:           "read.by-id",
		Title:        "GET of a resource returns 200 with the same resource as the response to POST",
		Requirements: reqs("RFC7644-3.4.1-01", "RFC7643-3.1-07", "RFC7644-3.1-05"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients read an account before they change it; a different representation makes them overwrite correct data.",
		Fix:          "Build the responses to POST and GET from the same stored representation.",
		Run:          readByID,
	},
	{
		ID:           "read.unknown-id",
		Title:        "GET of an unknown id returns 404 with an Error",
		Requirements: reqs("RFC7644-3.4.1-02", "RFC7644-3.4.1-03"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "After a 404, a client creates the account again; after any other response it stops the synchronization.",
		Fix:          "Return 404 for every unknown id, also if the id is not a UUID or a number. Do not return 400 or 500.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users/"+t.AbsentID())
			expectError(t, res, 404)
		},
	},
	{
		ID:           "read.media-type",
		Title:        "Responses have the Content-Type application/scim+json",
		Requirements: reqs("RFC7644-3.1-01", "RFC7644-3.8-06", "RFC7644-3.8-04"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why: "Strict clients do not parse a body of another type. Many clients accept application/json, so this type is only reported as " +
			"information.",
		Fix: "Set Content-Type: application/scim+json on every response with a body.",
		Run: readMediaType,
	},
	{
		ID:           "read.accept",
		Title:        "Every Accept header that application/scim+json satisfies is accepted, and application/json is accepted too",
		Requirements: reqs("RFC7644-3.8-04", "RFC7644-3.8-05", "RFC7644-3.8-06"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     4,
		Why: "HTTP libraries add media types and parameters to Accept; if the server compares the whole header, it rejects all these " +
			"requests.",
		Fix: "Split Accept at commas, ignore the parameters of each media type, and accept application/scim+json, application/json, " +
			"application/* and */*.",
		Run: readAccept,
	},
	{
		ID:           "read.primary-once",
		Title:        "At most one element of a multi-valued attribute is primary",
		Requirements: reqs("RFC7643-2.4-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     4,
		Why:          "Clients send email to the primary address; with two of them, it is undefined which one they use.",
		Fix:          "Reject two primary elements in one request, or leave only one of them primary.",
		Run:          readPrimaryOnce,
	},
	{
		ID:           "read.last-modified",
		Title:        "A change updates meta.lastModified, a read does not, and meta.created never changes",
		Requirements: reqs("RFC7643-3.1-22", "RFC7643-3.1-21"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Clients import only resources that changed since the last import; with a wrong time, they miss changes.",
		Fix:          "Set meta.lastModified on every write that changes a value, with a resolution of milliseconds or better, never on a read.",
		Run:          readLastModified,
	},
	{
		ID:           "read.ignores-unknown-parameters",
		Title:        "Unknown query parameters are ignored",
		Requirements: reqs("RFC7644-3.4.2-02"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Identity providers append their own parameters; if the server rejects them, all requests fail.",
		Fix:          "Ignore unknown query parameters.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "count", "1", "scimconfUnknown", "x")
			t.Expect("status of "+res.Name+" with an unknown parameter", 200, res.Status)
		},
	},
}

func readByID(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "reread", doc{"displayName": "Read Again"})
	res := t.Get(ctx, u.Path())
	t.Require("status of "+res.Name, 200, res.Status)
	t.Must(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body))
	t.Expect("id", u.ID, value(res.Object(), "id"))
	for _, name := range []string{"userName", "displayName", "name", "active", "emails"} {
		if u.Resource != nil {
			t.Expect(name+" in GET, compared with the response to POST", value(u.Resource, name), value(res.Object(), name))
		}
	}
	location, created := value(res.Object(), "meta.location"), value(u.Resource, "meta.location")
	t.Holds(created == nil || created == location, "meta.location in GET, compared with the response to POST", "the same URI", location)
}

func readMediaType(ctx context.Context, t *T) {
	for _, path := range []string{"/Users", "/Users/" + t.AbsentID()} {
		res := t.Get(ctx, path, "count", "1")
		switch {
		case len(res.Body) == 0:
		case res.MediaType() == "application/json":
			t.Inform("Content-Type of "+res.Name, scim.MediaType, res.Header.Get("Content-Type"))
		default:
			t.Expect("Content-Type of "+res.Name, scim.MediaType, res.MediaType())
		}
	}
}

func readAccept(ctx context.Context, t *T) {
	for _, accept := range []string{
		"application/scim+json, application/json;q=0.9", "application/scim+json; charset=utf-8", "*/*", "application/json",
	} {
		res := t.Call(ctx, conformance.Request{Method: http.MethodGet, Path: "/Users", Query: url.Values{"count": {"1"}},
			Header: http.Header{"Accept": {accept}}})
		what := "status of " + res.Name + " with Accept: " + accept
		if accept == "application/json" {
			t.Warn(res.Status == 200, what, "200", res.Status) // RFC 7644 section 3.8 only recommends (SHOULD) this media type
			continue
		}
		t.Expect(what, 200, res.Status)
	}
}

func readPrimaryOnce(ctx context.Context, t *T) {
	primaries := func(path string) {
		n := 0
		for _, item := range t.Read(ctx, path).Object().Array("emails") {
			e, _ := item.(*scim.Object)
			if primary, _ := e.Bool("primary"); primary {
				n++
			}
		}
		t.Holds(n <= 1, "number of primary emails", "at most 1", n)
	}
	primaries(t.CreateUser(ctx, "decided", twoEmails(t)).Path())
	res := t.Post(ctx, "/Users", t.User("torn", doc{"emails": []doc{
		{"value": t.UserName("torn-1"), "type": "work", "primary": true}, {"value": t.UserName("torn-2"), "type": "home", "primary": true},
	}}))
	if res.OK() {
		primaries("/Users/" + url.PathEscape(res.Object().Text("id")))
		return
	}
	expectError(t, res, 400, "invalidValue", "invalidSyntax")
}

func readLastModified(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "aging", doc{"displayName": "Before"})
	first := t.Read(ctx, u.Path()).Object()
	t.SkipIf(!has(first.Complex("meta"), "lastModified"), "the target does not return meta.lastModified")
	again := t.Read(ctx, u.Path()).Object()
	t.Expect("meta.lastModified after reading", value(first, "meta.lastModified"), value(again, "meta.lastModified"))
	t.Wait(ctx, 5*time.Millisecond) // in case the target has timestamps in milliseconds
	res := t.Put(ctx, u.Path(), t.User("aging", doc{"displayName": "After"}))
	t.SkipIf(!res.OK() || res.Object() == nil, "blocked: the user could not be replaced")
	before, changed := first.Complex("meta").Text("lastModified"), res.Object().Complex("meta").Text("lastModified")
	if changed == before { // The target may have timestamps in seconds, so the check waits longer and changes the user again.
		t.Wait(ctx, 1100*time.Millisecond)
		res = t.Put(ctx, u.Path(), t.User("aging", doc{"displayName": "Much later"}))
		changed = res.Object().Complex("meta").Text("lastModified")
	}
	from, errFrom := schema.ParseDateTime(before)
	to, errTo := schema.ParseDateTime(changed)
	t.Holds(errFrom == nil && errTo == nil && to.After(from), "meta.lastModified after a change", "later than "+before, changed)
	t.Expect("meta.created after a change", value(first, "meta.created"), value(res.Object(), "meta.created"))
}
