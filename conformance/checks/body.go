package checks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A hostile body is one that no client should send. What it may do is little: the server refuses it, or takes it for what it
// is; it never breaks.
type hostile struct {
	id, title string
	// body is the text to send, with the JSON of a whole user's members to put in; «name» in it stands for the userName.
	body func(members string) string
	// header overrides headers.
	header http.Header
	// refuse says that a success is a finding too.
	refuse bool
	// requests is what is sent beside the POST where the reference server takes the body.
	requests int
	// intact, when set, judges the user that came of it.
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
		Fix:          "Bound and check what the JSON reader takes; answer 400 invalidSyntax, 413 or 415.",
		Run: func(ctx context.Context, t *T) {
			user := jsonText(plain(t.User("hostile", doc{"externalId": t.Prefix() + "hostile"})))
			text := h.body(strings.TrimSuffix(strings.TrimPrefix(user, "{"), "}"))
			text = strings.ReplaceAll(text, "«name»", t.UserName("hostile"))
			res := t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: "/Users", Body: []byte(text), Header: h.header})
			switch {
			case !res.OK():
				t.Holds(res.Status >= 400 && res.Status < 500, "status of "+res.Name, "400", res.Status)
			case h.refuse:
				t.Holds(false, "status of "+res.Name, "400", res.Status)
			case h.intact != nil:
				where := "/Users/" + url.PathEscape(res.Object().Text("id"))
				after := t.Get(ctx, where)
				t.Expect("status of GET of what came of it", 200, after.Status)
				t.Holds(utf8.Valid(after.Body), "body of GET of what came of it", "valid UTF-8", "bytes that are no UTF-8")
				h.intact(t, after.Object())
			}
		},
	}
}

const whyHostile = "A 500 makes clients retry for ever what can never succeed, and tells an attacker where to go on."

var body = append([]check{
	{
		ID:           "body.put",
		Title:        "Malformed bodies of a PUT are refused with 400 and change nothing",
		Requirements: reqs("RFC7644-3.5.1-16", "RFC7644-3.5.1-15"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     7,
		Why:          whyHostile,
		Fix:          "Read bodies of all methods by the same code.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "stays", nil)
			for _, text := range []string{`{"schemas":`, `[]`, `"text"`, ``} {
				refused(t, t.Call(ctx, conformance.Request{Method: http.MethodPut, Path: u.Path(), Body: []byte(text)}), 400, "invalidSyntax",
					"invalidValue")
			}
			t.Expect("userName after malformed PUTs", t.UserName("stays"), value(t.Read(ctx, u.Path()).Object(), "userName"))
		},
	},
	{
		ID:           "body.patch",
		Title:        "Malformed bodies of a PATCH are refused with 400 and change nothing",
		Requirements: reqs("RFC7644-3.12-19", "RFC7644-3.12-07"),
		Level:        should,
		Needs:        patches,
		Requests:     9,
		Why:          whyHostile,
		Fix:          "Read bodies of all methods by the same code.",
		Run:          bodyPatch,
	},
	{
		ID:           "body.charset",
		Title:        "A charset parameter of the media type is accepted",
		Requirements: reqs("RFC7644-3.8-01", "RFC7644-3.8-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Okta and many libraries send it.",
		Fix:          "Parse Content-Type; do not compare it as a text.",
		Run: func(ctx context.Context, t *T) {
			res := t.Call(ctx,
				conformance.Request{Method: http.MethodPost, Path: "/Users", Body: t.User("charset", nil),
					Header: http.Header{"Content-Type": {"application/scim+json; charset=UTF-8"}}})
			succeeded(t, res, 201)
		},
	},
	{
		ID:           "body.delete",
		Title:        "A body on a DELETE does no harm",
		Requirements: reqs("RFC7644-3.6-04"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Some client libraries always send one.",
		Fix:          "Do not read the body of a DELETE.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "doomed", nil)
			res := t.Call(ctx, conformance.Request{Method: http.MethodDelete, Path: u.Path(), Body: []byte(`{}`)})
			t.Holds(res.OK() || res.Status == 400, "status of DELETE with a body", "a success", res.Status)
		},
	},
	{
		ID:           "body.odd-ids",
		Title:        "Ids of any form are answered without a server error",
		Requirements: reqs("RFC7644-3.4.1-02"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     8,
		Why:          whyHostile,
		Fix:          "Treat an id that cannot exist as one that does not exist: 404.",
		Run: func(ctx context.Context, t *T) {
			for _, id := range []string{"0", "-1", "00000000-0000-0000-0000-000000000000", "99999999999999999999999", "a%2Fb", "%E5%B1%B1", "%00",
				strings.Repeat("x", 1500)} {
				res := t.Get(ctx, "/Users/"+id)
				t.Holds(res.Status == 404 || res.Status == 400 || res.Status == 414, "status of GET of /Users/"+id[:min(40, len(id))], "404",
					res.Status)
			}
		},
	},
}, hostiles(
	hostile{
		id:     "trailing",
		title:  "Text after the JSON object is refused",
		body:   func(m string) string { return "{" + m + "} x" },
		refuse: true,
		level:  should,
		why:    "Half of such a request gets lost.",
	},
	hostile{
		id:     "two-objects",
		title:  "Two JSON objects in one body are refused",
		body:   func(m string) string { return "{" + m + "}{" + m + "}" },
		refuse: true,
		level:  should,
		why:    "Half of such a request gets lost.",
	},
	hostile{
		id:     "not-a-number",
		title:  "NaN is no JSON and is refused",
		body:   func(m string) string { return "{" + m + `,"scimconfNumber":NaN}` },
		refuse: true,
		level:  should,
		why:    whyHostile,
	},
	hostile{
		id:     "single-quotes",
		title:  "Single quotes are no JSON and are refused",
		body:   func(m string) string { return "{" + strings.ReplaceAll(m, `"`, "'") + "}" },
		refuse: true,
		level:  should,
		why:    "A server that reads more than JSON reads it in another way than the proxy before it.",
	},
	hostile{
		id:     "truncated",
		title:  "A body that was cut off is refused",
		body:   func(m string) string { return "{" + m[:len(m)/2] },
		refuse: true,
		level:  should,
		why:    "A connection that broke must not create half an account.",
	},
	hostile{
		id:     "duplicate-names",
		title:  "A body with a member twice is refused, or one of the two counts",
		body:   func(m string) string { return "{" + m + `,"active":true,"active":true}` },
		level:  should,
		why:    whyHostile,
		intact: func(t *T, o *scim.Object) { t.Expect("active", true, value(o, "active")) },
	},
	hostile{
		id:    "deep",
		title: "Ten thousand levels of nesting are refused, or ignored",
		body: func(m string) string {
			return "{" + m + `,"scimconfDeep":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + "}"
		},
		level: should,
		why:   "A reader that recurses without a bound takes the whole process down.",
	},
	hostile{
		id:    "deep-objects",
		title: "Ten thousand objects in each other are refused, or ignored",
		body: func(m string) string {
			return "{" + m + `,"name":` + strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000) + "}"
		},
		level: should,
		why:   "A reader that recurses without a bound takes the whole process down.",
	},
	hostile{
		id:    "many-members",
		title: "Five thousand unknown members are refused, or ignored",
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
		id:       "huge-text",
		requests: 2,
		title:    "A text of a megabyte is refused, or kept whole",
		body:     func(m string) string { return "{" + m + `,"nickName":"` + strings.Repeat("x", 1<<20) + `"}` },
		level:    should,
		why:      whyHostile,
		intact: func(t *T, o *scim.Object) {
			if has(o, "nickName") {
				t.Expect("length of nickName", 1<<20, len(o.Text("nickName")))
			}
		},
	},
	hostile{
		id:       "huge-number",
		requests: 1,
		title:    "A number that fits nowhere is refused, or ignored",
		body:     func(m string) string { return "{" + m + `,"scimconfNumber":1e999999}` },
		level:    should,
		why:      whyHostile,
	},
	hostile{
		id:     "invalid-utf-8",
		title:  "Bytes that are no UTF-8 are refused, or come back as UTF-8",
		body:   func(m string) string { return "{" + m + ",\"nickName\":\"a\xff\xfeb\"}" },
		level:  should,
		why:    "One such name makes every list unreadable that it is in.",
		intact: func(*T, *scim.Object) {},
	},
	hostile{
		id:    "null-character",
		title: "A text with the character U+0000 is refused, or kept whole",
		body:  func(m string) string { return "{" + m + `,"nickName":"a\u0000b"}` },
		level: should,
		why:   "PostgreSQL refuses it in texts, which ends as a 500; C libraries cut the text off there.",
		intact: func(t *T, o *scim.Object) {
			if has(o, "nickName") {
				t.Holds(o.Text("nickName") == "a\x00b" || o.Text("nickName") == "ab", "nickName", "all of it", o.Text("nickName"))
			}
		},
	},
	hostile{
		id:    "half-surrogate",
		title: "Half a surrogate pair is refused, or replaced",
		body:  func(m string) string { return "{" + m + `,"nickName":"a\ud800b"}` },
		level: should,
		why:   "It has no form in UTF-8; readers fail on it.",
	},
	hostile{
		id:     "byte-order-mark",
		title:  "A byte order mark is refused, or passed over",
		body:   func(m string) string { return "\ufeff{" + m + "}" },
		level:  should,
		why:    "Some Windows programs write it.",
		intact: func(t *T, o *scim.Object) { t.Expect("userName", t.UserName("hostile"), value(o, "userName")) },
	},
	hostile{
		id:       "prototype",
		requests: 2,
		title:    "Members named __proto__ and constructor do no harm",
		body: func(m string) string {
			return "{" + m + `,"__proto__":{"active":false,"admin":true},"constructor":{"prototype":{"admin":true}}}`
		},
		level: should,
		why:   "On servers in JavaScript they change every object of the process.",
		intact: func(t *T, o *scim.Object) {
			t.Expect("active", true, value(o, "active"))
			t.Holds(!has(o, "admin"), "admin", "absent", value(o, "admin"))
		},
	},
	hostile{
		id:     "text-plain",
		title:  "A body that is typed text/plain is refused, or read as JSON",
		body:   func(m string) string { return "{" + m + "}" },
		header: http.Header{"Content-Type": {"text/plain"}},
		level:  should,
		why:    whyHostile,
		intact: func(t *T, o *scim.Object) { t.Expect("userName", t.UserName("hostile"), value(o, "userName")) },
	},
	hostile{
		id:     "form",
		title:  "A form is refused",
		body:   func(string) string { return "userName=«name»&schemas=y" },
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		refuse: true,
		level:  should,
		why:    whyHostile,
	},
	hostile{
		id:     "xml",
		title:  "XML is refused",
		body:   func(string) string { return "<User><userName>«name»</userName></User>" },
		header: http.Header{"Content-Type": {"application/xml"}},
		refuse: true,
		level:  should,
		why:    whyHostile,
	},
	hostile{
		id:     "wrong-charset",
		title:  "A charset that JSON does not have is refused, or read as UTF-8",
		body:   func(m string) string { return "{" + m + "}" },
		header: http.Header{"Content-Type": {"application/scim+json; charset=utf-16"}},
		level:  should,
		why:    whyHostile,
	},
)...)

func bodyPatch(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "stays", nil)
	for _, text := range []string{
		`{"schemas":`, `[]`, `"text"`, ``, `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":{"op":"remove","path":"name"}}`,
		`{"schemas":["` + scim.PatchOpMessage + `"],"Operations":["remove"]}`,
	} {
		res := t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: u.Path(), Body: []byte(text)})
		refused(t, res, 400, "invalidSyntax", "invalidValue")
	}
	t.Expect("name.givenName after malformed PATCHes", "Conformance", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
}

func hostiles(list ...hostile) []check {
	var out []check
	for _, h := range list {
		out = append(out, h.check())
	}
	return out
}
