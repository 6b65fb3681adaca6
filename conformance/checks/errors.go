package checks

import (
	"context"
	"regexp"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// leak matches implementation details that error messages must not contain: stack frames, SQL statements, names of source files.
var leak = regexp.MustCompile(`(?i)(\bat [\w.$]+\([\w.]+:\d+\)|goroutine \d+ \[|Traceback \(most recent|\bSELECT\b.+\bFROM\b|\bINSERT ` +
	`INTO\b|\.(go|java|py|rb|php|cs):\d+|SQLSTATE)`)

var errors = []check{
	{
		ID:           "errors.status-text",
		Title:        "An Error repeats the HTTP status in \"status\" as a JSON string",
		Requirements: reqs("RFC7644-3.12-02", "RFC7644-3.2-08"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Typed clients declare status as a string, as in RFC 7644; without it, or with a number, they cannot read the error.",
		Fix:          "Write the status in every Error, as a string: \"status\":\"404\".",
		Run:          errorsStatusText,
	},
	{
		ID:           "errors.schema",
		Title:        "Error responses have an Error message as body, with a JSON media type and a string as detail",
		Requirements: reqs("RFC7644-3.12-01", "RFC7644-3.2-06", "RFC7644-3.12-04", "RFC7644-3.12-26", "RFC7643-3-01"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Without an Error message, a client can show the administrator only the status code, not the cause.",
		Fix: "Return every error as application/scim+json, with schemas [urn:ietf:params:scim:api:messages:2.0:Error], status, and a " +
			"detail that is a string.",
		Run: errorsSchema,
	},
	{
		ID:           "errors.scim-type",
		Title:        "scimType of an Error is one of the registered keywords, and invalidFilter if a filter is rejected with 400",
		Requirements: reqs("RFC7644-3.12-03", "RFC7644-3.12-16", "RFC7644-3.12-17"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Clients select their error handling by scimType; for an unknown keyword, they cannot correct their request.",
		Fix:          "Use the keywords of RFC 7644 table 9 and RFC 9865, in the member scimType. For an error without a keyword, omit scimType.",
		Run:          errorsScimType,
	},
	{
		ID:           "errors.no-internals",
		Title:        "Error messages do not contain stack traces, SQL or names of source files",
		Requirements: reqs("RFC7644-3.12-04"),
		Level:        interop,
		Needs:        needs(conformance.NeedUser),
		Requests:     4,
		Why:          "Stack traces and SQL show an attacker weak points of the server, and clients write them to their logs.",
		Fix:          "Return a short message in detail, such as \"invalid filter\", and write the complete error only to the log of the server.",
		Run: func(ctx context.Context, t *T) {
			for _, res := range append(errorResponses(ctx, t), t.Get(ctx, "/Users", "filter", `userName eq "'"`), t.Get(ctx, "/Users/'%22%3Cx")) {
				t.About(res)
				found := leak.FindString(string(res.Body))
				t.Holds(found == "", "body of "+res.Name, "no stack trace, SQL or name of a source file", found)
			}
		},
	},
	{
		ID:           "errors.unknown-endpoint",
		Title:        "An unknown endpoint returns 404",
		Requirements: reqs("RFC7644-3.12-10"),
		Level:        should,
		Requests:     1,
		Why:          "If the server returns the start page of its website with 200, clients assume that the endpoint exists.",
		Fix:          "Do not serve the catch-all route of a website below the SCIM base URL.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/ScimconfNoSuchEndpoint")
			t.Holds(res.Status == 404 || res.Status == 501, "status of "+res.Name, "404", res.Status)
		},
	},
	{
		ID:           "errors.wrong-method",
		Title:        "PUT and PATCH of /Users and POST to the path of a user are rejected with a 4xx status or 501",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.2-07"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "A client with a mistyped URL could delete or overwrite a whole collection.",
		Fix:          "Return 405 or 404 for PUT, PATCH and DELETE on a collection and for POST on a resource.",
		Run:          errorsWrongMethod,
	},
}

func errorsStatusText(ctx context.Context, t *T) {
	for _, res := range errorResponses(ctx, t) {
		if res.Status < 400 || res.Object() == nil {
			continue // not a finding here: errors.schema reports a body that is not an object
		}
		t.About(res)
		t.Expect("status in the body of "+res.Name, strconv.Itoa(res.Status), value(res.Object(), "status"))
	}
}

func errorsSchema(ctx context.Context, t *T) {
	for _, res := range errorResponses(ctx, t) {
		if res.Status < 400 {
			continue
		}
		t.About(res)
		if t.Holds(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body)) {
			t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ErrorMessage), "schemas of the body of "+res.Name, scim.ErrorMessage,
				value(res.Object(), "schemas"))
			detail, given := res.Object().Get("detail")
			_, isText := detail.(string)
			t.Warn(isText || !given || detail == nil, "detail of the body of "+res.Name, "a string", detail)
			t.Warn(isJSON(res.MediaType()), "Content-Type of "+res.Name, scim.MediaType, res.Header.Get("Content-Type"))
		}
	}
}

func errorsScimType(ctx context.Context, t *T) {
	registered := []string{"", "invalidFilter", "tooMany", "uniqueness", "mutability", "invalidSyntax", "invalidPath", "noTarget",
		"invalidValue", "invalidVers", "sensitive", "invalidCursor", "expiredCursor", "invalidCount"}
	responses := errorResponses(ctx, t)
	for _, res := range responses {
		t.About(res)
		t.Holds(slices.Contains(registered, res.ScimType()), "scimType of "+res.Name, "a registered keyword", res.ScimType())
	}
	filtered := responses[len(responses)-1]
	t.Holds(filtered.Status != 400 || filtered.ScimType() != "", "scimType of "+filtered.Name+" with an invalid filter", "invalidFilter",
		filtered.ScimType())
}

func errorsWrongMethod(ctx context.Context, t *T) {
	for _, request := range []conformance.Request{
		{Method: "PUT", Path: "/Users", Body: t.User("misplaced", nil)},
		{Method: "PATCH", Path: "/Users",
			Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "remove", "path": "nickName"}}}},
		{Method: "POST", Path: "/Users/" + t.AbsentID(), Body: t.User("misplaced", nil)},
	} {
		res := t.Call(ctx, request)
		t.Holds(res.Status >= 400 && (res.Status < 500 || res.Status == 501), "status of "+res.Name, "404, 405 or 501", res.Status)
	}
}

// errorResponses returns the responses to read requests that every target must reject. The last request has an invalid filter.
func errorResponses(ctx context.Context, t *T) []*conformance.Response {
	return []*conformance.Response{
		t.Get(ctx, "/Users/"+t.AbsentID()),
		t.Get(ctx, "/Users", "filter", `userName eq "unclosed`),
	}
}
