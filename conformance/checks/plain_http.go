package checks

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/conformance"
)

// plainHTTP are the checks of requirements of HTTP that SCIM does not change.
var plainHTTP = []check{
	{
		ID:           "read.head",
		Title:        "HEAD returns the status and headers of GET without a body, or 405 or 501",
		Requirements: reqs("RFC9110-9.3.2-01", "RFC9110-9.1-01"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     5,
		Why:          "Proxies and monitoring use HEAD to check whether a resource exists; a wrong status raises false alarms.",
		Fix:          "Route HEAD like GET, or return 405; a Content-Length must equal that of GET.",
		Run:          readHead,
	},
	{
		ID:           "read.options",
		Title:        "OPTIONS does not cause a server error",
		Requirements: reqs("RFC7644-3.12-07"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "Browsers and gateways send OPTIONS automatically; a server error blocks the requests that follow.",
		Fix:          "Return 200 or 204 with Allow, or 405.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: http.MethodOptions, Path: "/Users"})
			t.Holds(res.Status < 500 || res.Status == http.StatusNotImplemented, "status of "+res.Name, "200, 204 or 405", res.Status)
		},
	},
	{
		ID:           "read.accept-other",
		Title:        "A request with an Accept that the server cannot satisfy returns 406 or the resource",
		Requirements: reqs("RFC9110-15.5.7-01"),
		Level:        may,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "A client cannot process an HTML page or a server error in place of the resource. The RFC permits both responses.",
		Fix:          "Return 406, or ignore Accept and return the resource as application/scim+json.",
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
	t.Require("status of "+res.Name+", compared with GET", whole.Status, res.Status)
	t.Expect("media type of "+res.Name+", compared with GET", whole.MediaType(), res.MediaType())
	// A proxy that rewrites bodies may omit Content-Length for HEAD or change it, so a difference is reported as Info only.
	if length, want := res.Header.Get("Content-Length"), whole.Header.Get("Content-Length"); length != "" && want != "" && length != want {
		t.Inform("Content-Length of "+res.Name+", compared with GET", want, length)
	}
	t.About(absent)
	t.Expect("status of "+absent.Name, http.StatusNotFound, absent.Status)
}

func readAcceptOther(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "accept", nil)
	res := t.Call(ctx, conformance.Request{Method: http.MethodGet, Path: u.Path(), Header: http.Header{"Accept": {"image/png"}}})
	if res.Status != http.StatusNotAcceptable {
		t.Expect("status of "+res.Name+" with Accept: image/png", 200, res.Status)
		t.Expect("id in the response", u.ID, value(res.Object(), "id"))
	}
}
