package checks

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A hostile is a check of a POST body that no client should send. The server must reject the body, or process it as the title of the check
// states, without a server error.
type hostile struct {
	id, title string
	// body returns the body to send, given the JSON members of a complete user; «name» in the body is replaced by the userName.
	body func(members string) string
	// header overrides request headers.
	header http.Header
	// mustReject makes a success status a finding, in addition to a server error.
	mustReject bool
	// requests is the number of requests after the POST if the reference server accepts the body.
	requests int
	// intact, if set, checks the user that a GET returns after the server accepted the body.
	intact func(t *T, o *scim.Object)
	level  conformance.Level
	why    string
}

func (h hostile) check() check {
	return check{
		ID:           "body." + h.id,
		Title:        h.title,
		Requirements: reqs("RFC7644-3.3-10", "RFC7644-3.12-07"),
		Level:        h.level,
		Needs:        writesUsers,
		Requests:     1 + h.requests,
		Why:          h.why,
		Fix: "Validate the body before storing it. Return 400 invalidSyntax for an invalid body, 413 for a body that is too large or " +
			"too deep, and 415 for a media type other than JSON.",
		Run: func(ctx context.Context, t *T) {
			user := jsonText(plain(t.User("hostile", doc{"externalId": t.Prefix() + "hostile"})))
			text := h.body(strings.TrimSuffix(strings.TrimPrefix(user, "{"), "}"))
			text = strings.ReplaceAll(text, "«name»", t.UserName("hostile"))
			res := t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: "/Users", Body: []byte(text), Header: h.header})
			switch {
			case !res.OK():
				t.Holds(res.Status >= 400 && res.Status < 500, "status of "+res.Name, "400", res.Status)
			case h.mustReject:
				t.Holds(false, "status of "+res.Name, "400", res.Status)
			case h.intact != nil:
				where := "/Users/" + url.PathEscape(res.Object().Text("id"))
				after := t.Get(ctx, where)
				t.Expect("status of GET of the created user", 200, after.Status)
				t.Holds(utf8.Valid(after.Body), "body of GET of the created user", "valid UTF-8", "invalid UTF-8")
				h.intact(t, after.Object())
			}
		},
	}
}

const (
	whyHostile = "A 500 makes clients retry a request that can never succeed, and shows an attacker a weak point."
	whyDeep    = "A parser that recurses without a limit crashes the process; one that reports its limit as a 500 makes clients retry."
	whyInvalid = "A 500 makes clients retry a request that can never succeed; after a success, they assume that the server stored their data."
)

var body = append([]check{
	{
		ID:           "body.put",
		Title:        "Malformed bodies of a PUT are rejected with 400 and change nothing",
		Requirements: reqs("RFC7644-3.5.1-16", "RFC7644-3.5.1-15"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     7,
		Why:          whyInvalid,
		Fix:          "Return 400 invalidSyntax for a body that is empty, is not JSON, or is not a JSON object.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "stays", nil)
			for _, text := range []string{`{"schemas":`, `[]`, `"text"`, ``} {
				expectError(t, t.Call(ctx, conformance.Request{Method: http.MethodPut, Path: u.Path(), Body: []byte(text)}), 400, "invalidSyntax",
					"invalidValue")
			}
			t.Expect("userName after malformed PUTs", t.UserName("stays"), value(t.Read(ctx, u.Path()).Object(), "userName"))
		},
	},
	{
		ID:           "body.patch",
		Title:        "Malformed bodies of a PATCH are rejected with 400 and change nothing",
		Requirements: reqs("RFC7644-3.12-19", "RFC7644-3.12-07"),
		Level:        should,
		Needs:        patches,
		Requests:     9,
		Why:          whyInvalid,
		Fix:          "Return 400 invalidSyntax for a body that is empty, is not JSON, or is not a JSON object.",
		Run:          bodyPatch,
	},
	{
		ID:           "body.charset",
		Title:        "A charset parameter of the media type is accepted",
		Requirements: reqs("RFC7644-3.8-01", "RFC7644-3.8-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Okta and many HTTP libraries send the parameter charset; a server that rejects it rejects every write of these clients.",
		Fix:          "Compare only the media type of Content-Type, and ignore parameters such as charset=utf-8.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx,
				conformance.Request{Method: http.MethodPost, Path: "/Users", Body: t.User("charset", nil),
					Header: http.Header{"Content-Type": {"application/scim+json; charset=UTF-8"}}})
			succeeded(t, res, 201)
		},
	},
	{
		ID:           "body.delete",
		Title:        "A DELETE with a body is processed, or rejected with 400",
		Requirements: reqs("RFC7644-3.6-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Some client libraries send a body with every DELETE; if the server returns a 500, these clients cannot delete any user.",
		Fix:          "Ignore the body of a DELETE.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "doomed", nil)
			res := t.Call(ctx, conformance.Request{Method: http.MethodDelete, Path: u.Path(), Body: []byte(`{}`)})
			t.Holds(res.OK() || res.Status == 400, "status of DELETE with a body", "a success", res.Status)
		},
	},
	{
		ID:           "body.odd-ids",
		Title:        "A GET of an id that no resource has, such as -1 or %00, returns 404, 400 or 414",
		Requirements: reqs("RFC7644-3.4.1-02", "RFC9110-5.5-01"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     8,
		Why:          whyHostile + " A control character that the server copies into a header makes the response unreadable.",
		Fix: "Return 404 for every id that no resource has, whatever its characters and length. Percent-encode the id before writing it to a " +
			"header such as Location.",
		Run: bodyOddIDs,
	},
	{
		ID:           "body.id-in-header",
		Title:        "An id with an encoded line break, such as a%0D%0AX-Name:1, adds no line to the header of the response",
		Requirements: reqs("RFC9110-5.5-01"),
		Level:        must,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why: "An attacker who makes a client request such a path can set header fields of the response, such as Set-Cookie, or its whole body " +
			"(response header injection).",
		Fix: "Percent-encode an id before writing it to a header such as Location; reject header values with CR, LF or NUL.",
		Run: bodyIDInHeader,
	},
}, hostileChecks(
	hostile{
		id:         "trailing",
		title:      "Characters after the JSON object are rejected",
		body:       func(m string) string { return "{" + m + "} x" },
		mustReject: true,
		level:      should,
		why:        "A server that reads only the first JSON object loses the rest of the request, and the client does not notice it.",
	},
	hostile{
		id:         "two-objects",
		title:      "Two JSON objects in one body are rejected",
		body:       func(m string) string { return "{" + m + "}{" + m + "}" },
		mustReject: true,
		level:      should,
		why:        "A server that reads only the first JSON object loses the rest of the request, and the client does not notice it.",
	},
	hostile{
		id:         "not-a-number",
		title:      "A body with the number NaN, which is not JSON, is rejected",
		body:       func(m string) string { return "{" + m + `,"scimconfNumber":NaN}` },
		mustReject: true,
		level:      should,
		why:        whyInvalid,
	},
	hostile{
		id:         "single-quotes",
		title:      "A body with single instead of double quotes, which is not JSON, is rejected",
		body:       func(m string) string { return "{" + strings.ReplaceAll(m, `"`, "'") + "}" },
		mustReject: true,
		level:      should,
		why:        "A proxy that checks requests cannot parse such a body; if the server can, an attacker bypasses the rules of the proxy.",
	},
	hostile{
		id:         "truncated",
		title:      "A truncated body is rejected",
		body:       func(m string) string { return "{" + m[:len(m)/2] },
		mustReject: true,
		level:      should,
		why:        "A server that accepts part of a body creates an incomplete account when the connection of a client breaks.",
	},
	hostile{
		id:     "duplicate-names",
		title:  "A body that contains the member active twice, both times with true, is rejected, or the user is active",
		body:   func(m string) string { return "{" + m + `,"active":true,"active":true}` },
		level:  should,
		why:    whyHostile,
		intact: func(t *T, o *scim.Object) { t.Expect("active", true, value(o, "active")) },
	},
	hostile{
		id:    "deep",
		title: "A POST with ten thousand nested arrays in an unknown attribute causes no 5xx response",
		body: func(m string) string {
			return "{" + m + `,"scimconfDeep":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + "}"
		},
		level: should,
		why:   whyDeep,
	},
	hostile{
		id:    "deep-objects",
		title: "A POST with ten thousand nested objects in the attribute name causes no 5xx response",
		body: func(m string) string {
			return "{" + m + `,"name":` + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000) + "}"
		},
		level: should,
		why:   whyDeep,
	},
	hostile{
		id:    "many-members",
		title: "A POST with five thousand unknown members causes no 5xx response",
		body: func(m string) string {
			var b strings.Builder
			for i := range 5000 {
				fmt.Fprintf(&b, `,"scimconf%d":%d`, i, i)
			}
			return "{" + m + b.String() + "}"
		},
		level: should,
		why:   whyHostile,
	},
	hostile{
		id:    "huge-text",
		title: "A nickName of 1 MiB is rejected, ignored or stored whole",
		body:  func(m string) string { return "{" + m + `,"nickName":"` + strings.Repeat("x", 1<<20) + `"}` },
		level: should,
		why:   whyHostile,
		intact: func(t *T, o *scim.Object) {
			if has(o, "nickName") {
				t.Expect("length of nickName", 1<<20, len(o.Text("nickName")))
			}
		},
	},
	hostile{
		id:       "huge-number",
		requests: 1,
		title:    "A POST with the number 1e999999 in an unknown attribute causes no 5xx response",
		body:     func(m string) string { return "{" + m + `,"scimconfNumber":1e999999}` },
		level:    should,
		why:      whyHostile,
	},
	hostile{
		id:     "invalid-utf-8",
		title:  "A body with bytes that are not UTF-8 is rejected, or a GET of the created user returns valid UTF-8",
		body:   func(m string) string { return "{" + m + ",\"nickName\":\"a\xff\xfeb\"}" },
		level:  should,
		why:    "One user with a string that is not UTF-8 makes every list that contains this user unreadable for clients.",
		intact: func(*T, *scim.Object) {},
	},
	hostile{
		id:    "null-character",
		title: "A nickName with the character U+0000 is rejected, ignored, or stored with or without this character",
		body:  func(m string) string { return "{" + m + `,"nickName":"a\u0000b"}` },
		level: should,
		why: "PostgreSQL rejects U+0000, so that the server returns a 500; C libraries end the string at U+0000, so that the user " +
			"loses data.",
		intact: func(t *T, o *scim.Object) {
			if has(o, "nickName") {
				t.Holds(o.Text("nickName") == "a\x00b" || o.Text("nickName") == "ab", "nickName", "the whole value, with or without U+0000",
					o.Text("nickName"))
			}
		},
	},
	hostile{
		id:    "half-surrogate",
		title: "A POST of a string with half of a surrogate pair, \\ud800, causes no 5xx response",
		body:  func(m string) string { return "{" + m + `,"nickName":"a\ud800b"}` },
		level: should,
		why: "Half of a surrogate pair has no UTF-8 encoding; a server that does not validate strings fails when it stores or returns this " +
			"one.",
	},
	hostile{
		id:     "byte-order-mark",
		title:  "A byte order mark before the body is rejected or skipped",
		body:   func(m string) string { return "\ufeff{" + m + "}" },
		level:  should,
		why:    "Some Windows programs put a byte order mark before the body; if the server returns a 500, they retry indefinitely.",
		intact: func(t *T, o *scim.Object) { t.Expect("userName", t.UserName("hostile"), value(o, "userName")) },
	},
	hostile{
		id:       "prototype",
		requests: 2,
		title:    "A body with members named __proto__ and constructor is rejected, or these members have no effect",
		body: func(m string) string {
			return "{" + m + `,"__proto__":{"active":false,"admin":true},"constructor":{"prototype":{"admin":true}}}`
		},
		level: should,
		why: "On servers in JavaScript, __proto__ and constructor can change every object of the process, so that an attacker can " +
			"grant rights to any user.",
		intact: func(t *T, o *scim.Object) {
			t.Expect("active", true, value(o, "active"))
			t.Holds(!has(o, "admin"), "admin", "absent", value(o, "admin"))
		},
	},
	hostile{
		id:     "text-plain",
		title:  "A body with the media type text/plain is rejected or read as JSON",
		body:   func(m string) string { return "{" + m + "}" },
		header: http.Header{"Content-Type": {"text/plain"}},
		level:  should,
		why:    whyHostile,
		intact: func(t *T, o *scim.Object) { t.Expect("userName", t.UserName("hostile"), value(o, "userName")) },
	},
	hostile{
		id:         "form",
		title:      "A body of the media type application/x-www-form-urlencoded is rejected",
		body:       func(string) string { return "userName=«name»&schemas=y" },
		header:     http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		mustReject: true,
		level:      should,
		why:        whyInvalid,
	},
	hostile{
		id:         "xml",
		title:      "An XML body is rejected",
		body:       func(string) string { return "<User><userName>«name»</userName></User>" },
		header:     http.Header{"Content-Type": {"application/xml"}},
		mustReject: true,
		level:      should,
		why:        whyInvalid,
	},
	hostile{
		id:     "wrong-charset",
		title:  "A POST with charset=utf-16 in Content-Type, which JSON does not permit, causes no 5xx response",
		body:   func(m string) string { return "{" + m + "}" },
		header: http.Header{"Content-Type": {"application/scim+json; charset=utf-16"}},
		level:  should,
		why:    whyHostile,
	},
)...)

func bodyOddIDs(ctx context.Context, t *T) {
	const control = "%00"
	others := true // all other ids get the permitted statuses
	for _, id := range []string{"0", "-1", "00000000-0000-0000-0000-000000000000", "99999999999999999999999", "a%2Fb", "%E5%B1%B1", control,
		strings.Repeat("x", 1500)} {
		res := t.Get(ctx, "/Users/"+id)
		permitted := res.Status == 404 || res.Status == 400 || res.Status == 414
		t.Holds(permitted, "status of GET of /Users/"+id[:min(40, len(id))], "404", res.Status)
		others = others && (permitted || id == control)
	}
	if others {
		t.BlockedIf(func() string {
			for _, ending := range lineBreaks {
				if brokenHeader(getWithLineBreak(ctx, t, ending)) {
					return "the target copies control characters of an id to a header, which body.id-in-header reports"
				}
			}
			return ""
		})
	}
}

// lineBreaks are the percent-encoded line breaks in the ids of body.id-in-header, and addedField is the header field after them.
var lineBreaks = []string{"%0D%0A", "%0A"}

const addedField = "X-Scimconf-Added"

func getWithLineBreak(ctx context.Context, t *T, ending string) *conformance.Response {
	return t.Get(ctx, "/Users/"+t.AbsentID()+ending+addedField+":%201")
}

// hasLineBreak reports whether a header field contains a character that ends it.
func hasLineBreak(values []string) bool {
	return strings.ContainsAny(strings.Join(values, ""), "\r\n\x00")
}

// brokenHeader reports whether the response to getWithLineBreak has a field with a line break, or one that the id has added.
func brokenHeader(res *conformance.Response) bool {
	return res.Header.Get(addedField) != "" || slices.ContainsFunc(slices.Collect(maps.Values(res.Header)), hasLineBreak)
}

func bodyIDInHeader(ctx context.Context, t *T) {
	for _, ending := range lineBreaks {
		res := getWithLineBreak(ctx, t, ending)
		of := " of the response to a GET of an id that contains " + ending
		t.Holds(res.Header.Get(addedField) == "", "header field "+addedField+of, "absent", res.Header.Get(addedField))
		for _, field := range slices.Sorted(maps.Keys(res.Header)) {
			t.Holds(!hasLineBreak(res.Header[field]), "header field "+field+of, "no line break", res.Header[field])
		}
	}
}

func bodyPatch(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "stays", nil)
	for _, text := range []string{
		`{"schemas":`, `[]`, `"text"`, ``, `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":{"op":"remove","path":"name"}}`,
		`{"schemas":["` + scim.PatchOpMessage + `"],"Operations":["remove"]}`,
	} {
		res := t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: u.Path(), Body: []byte(text)})
		expectError(t, res, 400, "invalidSyntax", "invalidValue")
	}
	t.Expect("name.givenName after malformed PATCHes", "Conformance", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
}

func hostileChecks(list ...hostile) []check {
	var out []check
	for _, h := range list {
		out = append(out, h.check())
	}
	return out
}
