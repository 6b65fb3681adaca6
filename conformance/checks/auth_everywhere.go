package checks

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var wrongToken = conformance.OtherCredentials("Bearer scimconf-wrong-token")

// authEverywhere asks for credentials at every door, in every form.
var authEverywhere = []check{
	{
		ID:           "auth.every-group-method",
		Title:        "No method on groups is open without credentials",
		Requirements: reqs("RFC7644-2-03", "RFC7644-2-04"),
		Level:        should,
		Requests:     5,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedGroup, conformance.NeedWrite),
		Why:          "Whoever can change a group can give himself the access that comes with it.",
		Fix:          "Put authentication in front of the whole SCIM path, not into single handlers.",
		Run: func(ctx context.Context, t *T) {
			for _, request := range append(writings(t, "/Groups"), conformance.Request{Method: "GET", Path: "/Groups/" + t.AbsentID()}) {
				request.Credentials = conformance.WithoutCredentials()
				unauthorised(t, t.Call(ctx, request), "no credentials", false)
			}
		},
	},
	{
		ID:           "auth.wrong-token-writing",
		Title:        "A wrong token changes nothing: creating, replacing, patching and deleting answer 401",
		Requirements: reqs("RFC7644-3.12-08", "RFC7644-2-03"),
		Level:        should,
		Requests:     4,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser, conformance.NeedWrite),
		Why:          "A server that compares tokens for reading only is open where it hurts.",
		Fix:          "Check the token in one place for all methods.",
		Run: func(ctx context.Context, t *T) {
			for _, request := range writings(t, "/Users") {
				request.Credentials = wrongToken
				unauthorised(t, t.Call(ctx, request), "a wrong token", false)
			}
		},
	},
	{
		ID:           "auth.other-scheme",
		Title:        "Credentials of another scheme answer 401",
		Requirements: reqs("RFC7644-3.12-08", "RFC7644-2-03"),
		Level:        should,
		Requests:     3,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Why:          "A server that looks for any Authorization header lets everybody in who sends one.",
		Fix:          "Answer 401 to every scheme that is not supported.",
		Run:          authOtherScheme,
	},
	{
		ID:           "auth.scheme-case",
		Title:        "The name of the authentication scheme is read without regard to letter case",
		Requirements: reqs("RFC7644-2-02"),
		Level:        interop,
		Requests:     2,
		Needs:        needs(conformance.NeedToken, conformance.NeedUser),
		Why:          "RFC 9110 section 11.1 makes the name case-insensitive, and clients write bearer as well as Bearer.",
		Fix:          "Compare the scheme without regard to letter case, the token with regard to it.",
		Run: func(ctx context.Context, t *T) {
			for _, scheme := range []string{"bearer", "BEARER"} {
				res := t.Call(ctx,
					conformance.Request{Method: "GET", Path: "/Users", Query: url.Values{"count": {"1"}},
						Credentials: conformance.SpelledCredentials(scheme)})
				t.Holds(res.OK(), "status of "+res.Name+" with the scheme written "+scheme, "200", res.Status)
			}
		},
	},
	{
		ID:           "auth.query-token",
		Title:        "A token in the address of a request is not accepted",
		Requirements: reqs("RFC7644-7.4-02"),
		Level:        interop,
		Requests:     1,
		Needs:        needs(conformance.NeedToken, conformance.NeedUser),
		Why:          "Addresses are kept in logs, histories and referrers; RFC 6750 section 2.3 advises against tokens in them.",
		Fix:          "Read the token from the Authorization header only.",
		Run: func(ctx context.Context, t *T) {
			unauthorised(t, t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.QueryCredentials()}),
				"the token in the address alone", true)
		},
	},
	{
		ID:           "auth.every-endpoint",
		Title:        "No endpoint with data is open without credentials: queries by POST, bulk jobs, /Me and custom resource types neither",
		Requirements: reqs("RFC7644-2-03", "RFC7644-2-04"),
		Level:        should,
		Requests:     7,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Why:          "Endpoints that came later are forgotten first.",
		Fix:          "Authenticate before routing.",
		Run:          authEveryEndpoint,
	},
	{
		ID:           "auth.unknown-endpoint",
		Title:        "Without credentials an unknown endpoint shows nothing",
		Requirements: reqs("RFC7644-2-03"),
		Level:        should,
		Requests:     1,
		Needs:        needs(conformance.NeedCredentials),
		Why:          "A catch-all route in front of the authentication has answered with lists before.",
		Fix:          "Answer 401 or 404 to whatever is not routed.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/ScimconfNoSuchEndpoint", Credentials: conformance.WithoutCredentials()})
			t.Holds(slices.Contains([]int{401, 403, 404}, res.Status), "status of "+res.Name+" without credentials", "401 or 404", res.Status)
		},
	},
	{
		ID:           "auth.tls",
		Title:        "The target is reached over TLS 1.2 or later",
		Requirements: reqs("RFC7644-7.2-01", "RFC7644-7.2-02", "RFC7644-7.4-02"),
		Level:        must,
		Requests:     1,
		Needs:        needs(conformance.NeedRemote),
		Why:          "The token and everybody's data cross the network in clear text, or in a cipher that has been broken.",
		Fix:          "Serve SCIM over https only, and switch off everything below TLS 1.2.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/ServiceProviderConfig")
			t.Must(strings.HasPrefix(t.Base(), "https://"), "scheme of the base URL", "https", t.Base())
			if res.TLS != nil { // a transport of the caller's own may not tell
				t.Holds(res.TLS.Version >= tls.VersionTLS12, "version of TLS", "TLS 1.2 or later", tls.VersionName(res.TLS.Version))
			}
		},
	},
}

func authOtherScheme(ctx context.Context, t *T) {
	for _, header := range []string{"Basic c2NpbWNvbmY6c2NpbWNvbmY=", "Scimconf token", "Bearer"} {
		scheme, _, _ := strings.Cut(header, " ")
		with := "credentials of the scheme " + scheme
		if header == "Bearer" {
			with = "the word Bearer and no token"
		}
		unauthorised(t, t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.OtherCredentials(header)}), with,
			true)
	}
}

func authEveryEndpoint(ctx context.Context, t *T) {
	search := doc{"schemas": []string{scim.SearchRequestMessage}, "count": 1}
	requests := []conformance.Request{
		{Method: "GET", Path: "/Users/" + t.AbsentID()},
		{Method: "POST", Path: "/Users/.search", Body: search},
		{Method: "POST", Path: "/.search", Body: search},
		{Method: "GET", Path: "/Me"},
		{Method: "POST", Path: "/Bulk",
			Body: doc{"schemas": []string{scim.BulkRequestMessage}, "Operations": []doc{{"method": "DELETE", "path": "/Users/" + t.AbsentID()}}}},
	}
	for _, rt := range t.Capabilities.ResourceTypes {
		if endpoint := rt.Text("endpoint"); strings.HasPrefix(endpoint, "/") && endpoint != "/Users" {
			requests = append(requests, conformance.Request{Method: "GET", Path: endpoint})
		}
	}
	for _, request := range requests {
		request.Credentials = conformance.WithoutCredentials()
		res := t.Call(ctx, request)
		// An endpoint that is not there may say so to everybody.
		absent := slices.Contains([]int{403, 404, 405, 501}, res.Status) &&
			(strings.HasSuffix(request.Path, ".search") || request.Path == "/Me" || request.Path == "/Bulk")
		t.Holds(res.Status == 401 || absent, "status of "+res.Name+" without credentials", "401", res.Status)
	}
}

// unauthorised expects that a request with credentials that are none is refused and shows nothing. RFC 6750 answers a
// malformed header with 400.
func unauthorised(t *T, res *conformance.Response, with string, malformed bool) {
	t.Holds(res.Status == 401 || res.Status == 400 && malformed, "status of "+res.Name+" with "+with, "401", res.Status)
	shown := res.OK() && (len(res.Resources()) > 0 || res.Object().Text("id") != "")
	t.Holds(!shown, "body of "+res.Name+" with "+with, "no resources", string(res.Body))
}

// writings are the requests that change something, on ids that do not exist.
func writings(t *T, collection string) []conformance.Request {
	body := t.User("intruder", nil)
	if collection == "/Groups" {
		body = t.Group("intruder", nil)
	}
	requests := []conformance.Request{
		{Method: "POST", Path: collection, Body: body},
		{Method: "PUT", Path: collection + "/" + t.AbsentID(), Body: body},
		{Method: "PATCH", Path: collection + "/" + t.AbsentID(),
			Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "remove", "path": "externalId"}}}},
		{Method: "DELETE", Path: collection + "/" + t.AbsentID()},
	}
	return slices.DeleteFunc(requests, func(r conformance.Request) bool { return r.Method == http.MethodPatch && !hasPatch(t) })
}

// hasPatch tells whether there is a PATCH to protect: a target that says it has none may answer 405 or 501 to everybody.
func hasPatch(t *T) bool {
	supported, known := t.Capabilities.Supports("patch")
	return supported || !known
}
