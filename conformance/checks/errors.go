package checks

import (
	"context"
	"regexp"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// leak matches what a detail written for strangers does not contain: stack frames, SQL texts, file names of the source.
var leak = regexp.MustCompile(`(?i)(\bat [\w.$]+\([\w.]+:\d+\)|goroutine \d+ \[|Traceback \(most recent|\bSELECT\b.+\bFROM\b|\bINSERT ` +
	`INTO\b|\.(go|java|py|rb|php|cs):\d+|SQLSTATE)`)

var errors = []check{
	{
		ID:           "errors.status-text",
		Title:        "An Error repeats the HTTP status in \"status\", as a JSON text",
		Requirements: reqs("RFC7644-3.12-02", "RFC7644-3.2-08"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Typed clients declare status as a text, as RFC 7644 does; a number fails to parse and hides the real error.",
		Fix:          "Write \"status\":\"404\", not 404.",
		Run:          errorsStatusText,
	},
	{
		ID:           "errors.schema",
		Title:        "Errors are answered with the Error message",
		Requirements: reqs("RFC7644-3.12-01", "RFC7644-3.2-06"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Without it the client can only show a number.",
		Fix:          "Answer every error with schemas [urn:ietf:params:scim:api:messages:2.0:Error], status and detail.",
		Run:          errorsSchema,
	},
	{
		ID:           "errors.scim-type",
		Title:        "scimType is one of the registered keywords",
		Requirements: reqs("RFC7644-3.12-03"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Clients switch on the keyword.",
		Fix:          "Use the keywords of RFC 7644 table 9 and RFC 9865, or leave scimType out.",
		Run: func(ctx context.Context, t *T) {
			registered := []string{"", "invalidFilter", "tooMany", "uniqueness", "mutability", "invalidSyntax", "invalidPath", "noTarget",
				"invalidValue", "invalidVers", "sensitive", "invalidCursor", "expiredCursor", "invalidCount"}
			for _, res := range mistakes(ctx, t) {
				t.About(res)
				t.Holds(slices.Contains(registered, res.ScimType()), "scimType of "+res.Name, "a registered keyword", res.ScimType())
			}
		},
	},
	{
		ID:           "errors.no-internals",
		Title:        "Error texts do not show stack traces, SQL or source files",
		Requirements: reqs("RFC7644-3.12-04"),
		Level:        interop,
		Needs:        needs(conformance.NeedUser),
		Requests:     4,
		Why:          "They tell an attacker what to try next, and end up in other people's logs.",
		Fix:          "Write two texts: a short one for the client, the whole one for the log.",
		Run: func(ctx context.Context, t *T) {
			for _, res := range append(mistakes(ctx, t), t.Get(ctx, "/Users", "filter", `userName eq "'"`), t.Get(ctx, "/Users/'%22%3Cx")) {
				t.About(res)
				found := leak.FindString(string(res.Body))
				t.Holds(found == "", "body of "+res.Name, "no internals", found)
			}
		},
	},
	{
		ID:           "errors.unknown-endpoint",
		Title:        "An endpoint that does not exist answers 404",
		Requirements: reqs("RFC7644-3.12-10"),
		Level:        should,
		Requests:     1,
		Why:          "A start page with status 200 makes clients believe that the endpoint is there.",
		Fix:          "Do not serve a web site's catch-all route below the SCIM base URL.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/ScimconfNoSuchEndpoint")
			t.Holds(res.Status == 404 || res.Status == 501, "status of "+res.Name, "404", res.Status)
		},
	},
	{
		ID:           "errors.wrong-method",
		Title:        "A method that a path does not have is refused without a server error",
		Requirements: reqs("RFC7644-3.12-07", "RFC7644-3.2-07"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Deleting a whole collection by a mistyped address must not work.",
		Fix:          "Answer 405 or 404 to PUT, PATCH and DELETE on a collection and to POST on a resource.",
		Run:          errorsWrongMethod,
	},
}

func errorsStatusText(ctx context.Context, t *T) {
	for _, res := range mistakes(ctx, t) {
		if res.Status < 400 || res.Object() == nil {
			continue // another check's finding
		}
		t.About(res)
		t.Expect("status in the body of "+res.Name, strconv.Itoa(res.Status), value(res.Object(), "status"))
	}
}

func errorsSchema(ctx context.Context, t *T) {
	for _, res := range mistakes(ctx, t) {
		if res.Status < 400 {
			continue
		}
		t.About(res)
		if t.Holds(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body)) {
			t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ErrorMessage), "schemas of the body of "+res.Name, scim.ErrorMessage,
				value(res.Object(), "schemas"))
		}
	}
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

// mistakes are requests that every target has to refuse; reading ones only.
func mistakes(ctx context.Context, t *T) []*conformance.Response {
	return []*conformance.Response{
		t.Get(ctx, "/Users/"+t.AbsentID()),
		t.Get(ctx, "/Users", "filter", `userName eq "unclosed`),
	}
}
