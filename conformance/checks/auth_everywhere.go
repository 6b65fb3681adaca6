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

var wrongToken = conformance.InvalidCredentials("Bearer scimconf-wrong-token")

// authEverywhere are the checks of authentication on every endpoint and method, with every form of missing or invalid credentials.
var authEverywhere = []check{
	{
		ID:           "auth.every-group-method",
		Title:        "GET, POST, PUT, PATCH and DELETE of groups without credentials are rejected with 401",
		Requirements: reqs("RFC7644-2-03", "RFC7644-2-04"),
		Level:        should,
		Requests:     5,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedGroup, conformance.NeedWrite),
		Why:          "A client that can change a group can grant itself the access that the group gives.",
		Fix:          "Authenticate in one middleware for all paths below the SCIM base URL, not in individual handlers.",
		Run: func(ctx context.Context, t *T) {
			for _, request := range append(writeRequests(t, "/Groups"), conformance.Request{Method: "GET", Path: "/Groups/" + t.AbsentID()}) {
				request.Credentials = conformance.WithoutCredentials()
				expectUnauthorized(t, t.Call(ctx, request), "no credentials", false)
			}
		},
	},
	{
		ID:           "auth.wrong-token-writing",
		Title:        "POST, PUT, PATCH and DELETE with a wrong token are rejected with 401",
		Requirements: reqs("RFC7644-3.12-08", "RFC7644-2-03"),
		Level:        should,
		Requests:     4,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser, conformance.NeedWrite),
		Why:          "A server that checks tokens only for reading lets any client change data.",
		Fix:          "Check the token in one place for all methods.",
		Run: func(ctx context.Context, t *T) {
			for _, request := range writeRequests(t, "/Users") {
				request.Credentials = wrongToken
				expectUnauthorized(t, t.Call(ctx, request), "a wrong token", false)
			}
		},
	},
	{
		ID:           "auth.other-scheme",
		Title:        "An Authorization header with an unsupported scheme or without a token is rejected with 401 or 400",
		Requirements: reqs("RFC7644-3.12-08", "RFC7644-2-03"),
		Level:        should,
		Requests:     3,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Why: "A server that only checks for the presence of an Authorization header admits every client that sends one. After a 500, clients " +
			"retry.",
		Fix: "Return 401 for every scheme that the server does not support, and for the scheme Bearer without a token.",
		Run: authOtherScheme,
	},
	{
		ID:           "auth.scheme-case",
		Title:        "The name of the authentication scheme is case-insensitive",
		Requirements: reqs("RFC7644-2-02"),
		Level:        interop,
		Requests:     2,
		Needs:        needs(conformance.NeedToken, conformance.NeedUser),
		Why: "Some clients write bearer instead of Bearer, as RFC 9110 section 11.1 permits; a case-sensitive server rejects all their " +
			"requests.",
		Fix: "Compare the scheme case-insensitively and the token case-sensitively.",
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
		Title:        "A GET with the token only in the request URL is rejected with 401 or 400",
		Requirements: reqs("RFC7644-7.4-02"),
		Level:        interop,
		Requests:     1,
		Needs:        needs(conformance.NeedToken, conformance.NeedUser),
		Why: "URLs are stored in logs and browser histories, where an attacker can read the token; RFC 6750 section 2.3 advises against " +
			"tokens in URLs.",
		Fix: "Read the token from the Authorization header only, and return 401 if it is only in the URL.",
		Run: func(ctx context.Context, t *T) {
			expectUnauthorized(t, t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.QueryCredentials()}),
				"the token in the URL only", true)
		},
	},
	{
		ID:           "auth.every-endpoint",
		Title:        "Without credentials, requests to a user, .search, /Bulk, /Me and the endpoint of every resource type are rejected",
		Requirements: reqs("RFC7644-2-03", "RFC7644-2-04"),
		Level:        should,
		Requests:     7,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Why: "Authentication is easily forgotten for endpoints that were added later; any client can then use them to read or change " +
			"users.",
		Fix: "Authenticate every request before routing, so that no endpoint can lack authentication.",
		Run: authEveryEndpoint,
	},
	{
		ID:           "auth.unknown-endpoint",
		Title:        "A GET of an unknown endpoint without credentials is rejected with 401, 403 or 404",
		Requirements: reqs("RFC7644-2-03"),
		Level:        should,
		Requests:     1,
		Needs:        needs(conformance.NeedCredentials),
		Why: "A catch-all route that runs before the authentication can return the list of users to any client; this has occurred in " +
			"practice.",
		Fix: "Return 401, 403 or 404 for every path without a route.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/ScimconfNoSuchEndpoint", Credentials: conformance.WithoutCredentials()})
			t.Holds(slices.Contains([]int{401, 403, 404}, res.Status), "status of "+res.Name+" without credentials", "401, 403 or 404", res.Status)
		},
	},
	{
		ID:           "auth.tls",
		Title:        "The target is reached over TLS 1.2 or later",
		Requirements: reqs("RFC7644-7.2-01", "RFC7644-7.2-02", "RFC7644-7.4-02"),
		Level:        must,
		Requests:     1,
		Needs:        needs(conformance.NeedRemote),
		Why:          "Without TLS, or with an older version, an attacker on the network can read the token and the personal data of users.",
		Fix:          "Serve SCIM over https only, and disable every version below TLS 1.2.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/ServiceProviderConfig")
			t.Must(strings.HasPrefix(t.Base(), "https://"), "scheme of the base URL", "https", t.Base())
			if res.TLS != nil { // a custom transport can omit the state of TLS
				t.Holds(res.TLS.Version >= tls.VersionTLS12, "version of TLS", "TLS 1.2 or later", tls.VersionName(res.TLS.Version))
			}
		},
	},
}

func authOtherScheme(ctx context.Context, t *T) {
	for _, header := range []string{"Basic c2NpbWNvbmY6c2NpbWNvbmY=", "Scimconf token", "Bearer"} {
		scheme, _, _ := strings.Cut(header, " ")
		credentials := "credentials of the scheme " + scheme
		if header == "Bearer" {
			credentials = "the word Bearer and no token"
		}
		request := conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.InvalidCredentials(header)}
		expectUnauthorized(t, t.Call(ctx, request), credentials, true)
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
	// A request above is for /Users. Some targets list the discovery endpoints as resource types; they may need no credentials.
	notTried := []string{"/Users", "/ServiceProviderConfig", "/ResourceTypes", "/Schemas"}
	for _, rt := range t.Capabilities.ResourceTypes {
		if endpoint := rt.Text("endpoint"); strings.HasPrefix(endpoint, "/") && !slices.Contains(notTried, endpoint) {
			requests = append(requests, conformance.Request{Method: "GET", Path: endpoint})
		}
	}
	for _, request := range requests {
		request.Credentials = conformance.WithoutCredentials()
		res := t.Call(ctx, request)
		// For an optional endpoint that the target does not have, these statuses are permitted without credentials.
		absent := slices.Contains([]int{403, 404, 405, 501}, res.Status) &&
			(strings.HasSuffix(request.Path, ".search") || request.Path == "/Me" || request.Path == "/Bulk")
		t.Holds(res.Status == 401 || absent, "status of "+res.Name+" without credentials", "401", res.Status)
	}
}

// expectUnauthorized expects that a request with missing or invalid credentials is rejected with 401, and that the response contains no
// resources. If malformed is set, 400 is accepted too: RFC 6750 section 3.1 defines this status for a malformed Authorization header.
// Findings contain the description of the credentials.
func expectUnauthorized(t *T, res *conformance.Response, credentials string, malformed bool) {
	want := "401"
	if malformed {
		want = "401 or 400"
	}
	t.Holds(res.Status == 401 || res.Status == 400 && malformed, "status of "+res.Name+" with "+credentials, want, res.Status)
	shown := res.OK() && (len(res.Resources()) > 0 || res.Object().Text("id") != "")
	t.Holds(!shown, "body of "+res.Name+" with "+credentials, "no resources", string(res.Body))
}

// writeRequests returns a POST to the collection, and a PUT, a PATCH and a DELETE of an id that does not exist. The PATCH is omitted if
// [hasPatch] is false.
func writeRequests(t *T, collection string) []conformance.Request {
	body := t.User("intruder", nil)
	if collection == "/Groups" {
		body = t.Group("intruder", nil)
	}
	// The operation has a value, because some servers check the body first and reject an operation without a value with 400.
	change := doc{"op": "replace", "path": "externalId", "value": t.Prefix() + "intruder"}
	requests := []conformance.Request{
		{Method: "POST", Path: collection, Body: body},
		{Method: "PUT", Path: collection + "/" + t.AbsentID(), Body: body},
		{Method: "PATCH", Path: collection + "/" + t.AbsentID(),
			Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{change}}},
		{Method: "DELETE", Path: collection + "/" + t.AbsentID()},
	}
	return slices.DeleteFunc(requests, func(r conformance.Request) bool { return r.Method == http.MethodPatch && !hasPatch(t) })
}

// hasPatch reports whether a PATCH without credentials must be rejected with 401. A target whose ServiceProviderConfig declares PATCH as
// not supported may return 405 or 501 instead.
func hasPatch(t *T) bool {
	supported, known := t.Capabilities.Supports("patch")
	return supported || !known
}
