package checks

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/conformance"
)

// plainHTTP is what a service provider owes to HTTP itself.
var plainHTTP = []check{
	{
		ID:           "read.head",
		Title:        "HEAD, where it is supported, answers like GET without a body",
		Requirements: reqs("RFC9110-9.3.2-01"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Proxies and monitors ask by HEAD whether something is there.",
		Fix:          "Route HEAD like GET, or answer 405; a Content-Length is the one that GET would have.",
		Run:          readHead,
	},
	{
		ID:           "read.options",
		Title:        "OPTIONS is answered without a server error",
		Requirements: reqs("RFC7644-3.12-07"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Browsers and gateways send it without being asked.",
		Fix:          "Answer 200 or 204 with Allow, or 405.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: http.MethodOptions, Path: "/Users"})
			t.Holds(res.Status < 500 || res.Status == http.StatusNotImplemented, "status of "+res.Name, "204, or 405", res.Status)
		},
	},
	{
		ID:           "read.accept-other",
		Title:        "An Accept that cannot be met answers 406, or the resource all the same",
		Requirements: reqs("RFC9110-15.5.7-01"),
		Level:        may,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Both are permitted; an HTML page or a server error is not what a client can work with.",
		Fix:          "Answer 406, or application/scim+json whatever Accept says.",
		Run:          readAcceptOther,
	},
}

func readHead(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "head", nil)
	whole := t.Read(ctx, u.Path())
	res := t.Call(ctx, conformance.Request{Method: http.MethodHead, Path: u.Path()})
	absent := t.Call(ctx, conformance.Request{Method: http.MethodHead, Path: "/Users/" + t.AbsentID()})
	t.About(res)
	t.SkipIf(res.Status == http.StatusMethodNotAllowed || res.Status == http.StatusNotImplemented, "the target does not support HEAD")
	t.Expect("status of "+res.Name+", as of GET", whole.Status, res.Status)
	t.Expect("media type of "+res.Name+", as of GET", whole.MediaType(), res.MediaType())
	// What rewrites bodies on their way may leave this to GET: worth knowing, and no more.
	if length, want := res.Header.Get("Content-Length"), whole.Header.Get("Content-Length"); length != "" && want != "" && length != want {
		t.Inform("Content-Length of "+res.Name+", as of GET", want, length)
	}
	t.About(absent)
	t.Expect("status of "+absent.Name, http.StatusNotFound, absent.Status)
}

func readAcceptOther(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "accept", nil)
	res := t.Call(ctx, conformance.Request{Method: http.MethodGet, Path: u.Path(), Header: http.Header{"Accept": {"image/png"}}})
	if res.Status != http.StatusNotAcceptable {
		t.Expect("status of "+res.Name+" with Accept: image/png", 200, res.Status)
		t.Expect("id in the answer", u.ID, value(res.Object(), "id"))
	}
}
