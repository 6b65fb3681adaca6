package checks

import (
	"context"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var auth = []check{
	{
		ID:           "auth.missing-credentials",
		Title:        "A GET of /Users without credentials is rejected with 401",
		Requirements: reqs("RFC7644-2-03", "RFC7644-3.12-08"),
		Level:        should,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Requests:     1,
		Why:          "A server that does not require credentials shows the personal data of all users to any client.",
		Fix:          "Authenticate every request before routing, and return 401 if the Authorization header is absent.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.WithoutCredentials()})
			t.Expect("status of "+res.Name+" without credentials", 401, res.Status)
			t.Holds(len(res.Resources()) == 0, "body of "+res.Name+" without credentials", "no resources", len(res.Resources()))
		},
	},
	{
		ID:           "auth.every-method",
		Title:        "GET, POST, PUT, PATCH and DELETE without credentials are rejected with 401",
		Requirements: reqs("RFC7644-2-03", "RFC7644-2-04"),
		Level:        should,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser, conformance.NeedWrite),
		Requests:     6,
		Why: "If each route has its own access rule, one rule is easily forgotten; without a rule for POST, any client can create an " +
			"account.",
		Fix: "Authenticate in one middleware for all paths below the SCIM base URL, not in individual handlers.",
		Run: authEveryMethod,
	},
	{
		ID:           "auth.wrong-token",
		Title:        "A wrong token is rejected with 401, and an empty token with 401 or 400",
		Requirements: reqs("RFC7644-3.12-08", "RFC7644-2-03"),
		Level:        should,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Requests:     2,
		Why:          "A server that only checks whether a token is present is open to any client.",
		Fix: "Look up the token of the request among the valid tokens with a constant-time comparison, and return 401 if no token is " +
			"equal.",
		Run: authWrongToken,
	},
	{
		ID:           "auth.www-authenticate",
		Title:        "A 401 response names the authentication schemes in WWW-Authenticate",
		Requirements: reqs("RFC7644-2-02"),
		Level:        must,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Requests:     1,
		Why: "Clients choose the authentication scheme from the WWW-Authenticate header; without it, they do not learn how to " +
			"authenticate.",
		Fix: "Send the header WWW-Authenticate with every 401, for example: WWW-Authenticate: Bearer.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.WithoutCredentials()})
			t.SkipIf(res.Status != 401, "the target does not return 401")
			t.Holds(res.Header.Get("WWW-Authenticate") != "", "WWW-Authenticate header of the 401", "at least one scheme, such as Bearer",
				res.Header.Get("WWW-Authenticate"))
		},
	},
	{
		ID:           "auth.error-body",
		Title:        "The body of a 401 response is a SCIM Error",
		Requirements: reqs("RFC7644-3.12-01", "RFC7644-3.12-02"),
		Level:        should,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser),
		Requests:     1,
		Why: "Clients show the detail of the Error to the administrator who has to correct the token; without an Error, the administrator " +
			"does not learn the cause.",
		Fix: "In the middleware that rejects credentials, write an Error with schemas, status \"401\" and detail (RFC 7644 section " +
			"3.12).",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.WithoutCredentials()})
			t.SkipIf(res.Status != 401, "the target does not return 401")
			t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ErrorMessage), "schemas of the 401 body", scim.ErrorMessage,
				string(res.Body))
		},
	},
	{
		ID:           "auth.unknown-path",
		Title:        "Without credentials, a GET of an unknown id returns the same status as a GET of an existing user",
		Requirements: reqs("RFC7644-2-03"),
		Level:        should,
		Needs:        needs(conformance.NeedCredentials, conformance.NeedUser, conformance.NeedWrite),
		Requests:     4,
		Why:          "If the two statuses differ, an attacker without credentials can find out which ids exist.",
		Fix:          "Authenticate before looking up the resource, and return 401 for both ids.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "present", nil)
			present := t.Call(ctx, conformance.Request{Method: "GET", Path: u.Path(), Credentials: conformance.WithoutCredentials()})
			t.Holds(present.Object().Text("userName") == "", "body of GET of an existing user without credentials", "no user", string(present.Body))
			absent := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users/" + t.AbsentID(), Credentials: conformance.WithoutCredentials()})
			t.Expect("status of GET of an unknown id without credentials, compared with that of an existing user", present.Status, absent.Status)
		},
	},
}

func authEveryMethod(ctx context.Context, t *T) {
	patch := doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "replace", "path": "title", "value": "x"}}}
	for _, request := range []conformance.Request{
		{Method: "GET", Path: "/Users/" + t.AbsentID()},
		{Method: "POST", Path: "/Users", Body: t.User("intruder", nil)},
		{Method: "PUT", Path: "/Users/" + t.AbsentID(), Body: t.User("intruder", nil)},
		{Method: "PATCH", Path: "/Users/" + t.AbsentID(), Body: patch},
		{Method: "DELETE", Path: "/Users/" + t.AbsentID()},
		{Method: "GET", Path: "/Groups"},
	} {
		if request.Path == "/Groups" && !t.Capabilities.Groups || request.Method == http.MethodPatch && !hasPatch(t) {
			continue
		}
		request.Credentials = conformance.WithoutCredentials()
		res := t.Call(ctx, request)
		t.Expect("status of "+res.Name+" without credentials", 401, res.Status)
	}
}

func authWrongToken(ctx context.Context, t *T) {
	for _, authorization := range []string{"Bearer scimconf-wrong-token", "Bearer "} {
		res := t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.InvalidCredentials(authorization)})
		what := "status of " + res.Name + " with a wrong token"
		if authorization == "Bearer " {
			what = "status of " + res.Name + " with an empty token"
		}
		// RFC 6750 section 3.1 defines 400 for a malformed Authorization header, such as one without a token.
		t.Holds(res.Status == 401 || res.Status == 400 && authorization == "Bearer ", what, "401", res.Status)
	}
}
