package mutants

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// withBody matches the requests of m whose body satisfies cond. The body need not be JSON.
//
//go:noinline
func withBody(m match, cond func(text []byte) bool) match {
	return func(r *http.Request) bool { return m(r) && cond(readBody(r)) }
}

func holds(part string) func([]byte) bool {
	return func(text []byte) bool { return bytes.Contains(text, []byte(part)) }
}

func typed(part string) match {
	return withHeader(createUser, "Content-Type", func(v string) bool { return strings.Contains(v, part) })
}

// pretendCreated returns a wrapper that returns 201 and a user for matching requests, although the server does not store the user.
func pretendCreated(m match) wrap {
	return instead(m, func(http.Handler, *http.Request) *reply {
		return newReply(201,
			scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.UserSchema}}, scim.Member{Name: "id", Value: "swallowed"}))
	})
}

// corrupted returns a wrapper that replaces the string part in the body of a POST by "ab", so that the server accepts the user. In later
// reads of the user, the wrapper replaces the value "ab" by the string shown.
func corrupted(part, shown string) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hit := createUser(r) && bytes.Contains(readBody(r), []byte(part))
			if hit {
				setBody(r, bytes.ReplaceAll(readBody(r), []byte(part), []byte("ab")))
			}
			rep := serve(next, r)
			id := rep.object().Text("id")
			if hit && rep.ok() {
				kept.put(id, true)
			} else if readUser(r) && rep.ok() && kept.at(id) != nil {
				rep.body = bytes.Replace(rep.body, []byte(`"ab"`), []byte(shown), 1)
			}
			rep.send(w)
		})
	}
}

var body = []Mutant{
	{"body.put-500", "a malformed PUT causes 500", changeStatus(putUser, 400, 500)},
	{"body.put-empty-kept", "an empty PUT returns 200",
		instead(withBody(putUser, func(text []byte) bool { return len(text) == 0 }), unchanged)},
	{"body.patch-500", "a malformed PATCH causes 500", changeStatus(patchUser, 400, 500)},
	{"body.patch-object-taken", "a PATCH whose Operations value is an object returns 204",
		instead(withBody(patchUser, holds(`"Operations":{`)), func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusNoContent, header: http.Header{}}
		})},
	{"body.charset-415", "a charset parameter in Content-Type is rejected with 415", refusing(typed("charset="), 415)},
	{"body.delete-500", "a DELETE with a body causes 500",
		refusing(withBody(deleteUser, func(text []byte) bool { return len(text) > 0 }), 500)},
	{"body.odd-ids-500", "an id of more than 255 characters causes 500", refusing(func(r *http.Request) bool {
		_, _, id := place(r)
		return readUser(r) && len(id) > 255
	}, 500)},
	{"body.id-copied-into-header", "Location of a 404 has the decoded id: a line break in the id adds a line to the header",
		after(everything, func(r *http.Request, rep *reply) {
			_, line, found := strings.Cut(r.URL.Path, "\n")
			if name, v, isField := strings.Cut(line, ":"); found && isField && rep.status == 404 {
				rep.header.Set(name, strings.TrimSpace(v))
			}
		})},
	{"body.ids-are-uuids", "an id that is not a UUID causes 500", refusing(func(r *http.Request) bool {
		_, _, id := place(r)
		return readUser(r) && strings.Count(id, "-") != 4
	}, 500)},
	{"body.trailing-ignored", "text after the JSON object in the body is ignored",
		pretendCreated(withBody(createUser, func(text []byte) bool { return bytes.HasSuffix(text, []byte("} x")) }))},
	{"body.second-object-ignored", "a second JSON object in the body is ignored", pretendCreated(withBody(createUser, holds("}{")))},
	{"body.not-a-number-taken", "NaN is accepted", pretendCreated(withBody(createUser, holds("NaN")))},
	{"body.single-quotes-taken", "JSON with single quotes is accepted", pretendCreated(withBody(createUser, holds("{'")))},
	{"body.truncated-taken", "a truncated body is accepted",
		pretendCreated(withBody(createUser, func(text []byte) bool { return len(text) > 0 && !bytes.HasSuffix(text, []byte("}")) }))},
	{"body.duplicate-names-500", "a duplicate member causes 500",
		refusing(withBody(createUser, holds(`"active":true,"active":true`)), 500)},
	{"body.deep-500", "deeply nested arrays cause 500", refusing(withBody(createUser, holds(strings.Repeat("[", 100))), 500)},
	{"body.deep-objects-500", "deeply nested objects cause 500", refusing(withBody(createUser, holds(strings.Repeat(`{"a":`, 100))), 500)},
	{"body.many-members-500", "an object with many members causes 500", refusing(withBody(createUser, holds("scimconf4999")), 500)},
	{"body.huge-text-500", "a long string causes 500",
		refusing(withBody(createUser, func(text []byte) bool { return len(text) > 1<<20 }), 500)},
	{"body.huge-text-cut", "a long string is truncated", before(createUser, func(o *scim.Object) {
		if text := o.Text("nickName"); len(text) > 4000 {
			o.Set("nickName", text[:4000])
		}
	})},
	{"body.huge-number-500", "a number out of range causes 500", refusing(withBody(createUser, holds("1e999999")), 500)},
	{"body.utf-8-500", "invalid UTF-8 causes 500", refusing(withBody(createUser, holds("\xff\xfe")), 500)},
	{"body.utf-8-kept", "invalid UTF-8 is stored", corrupted("a\xff\xfeb", "\"a\xff\xfeb\"")},
	{"body.null-character-500", "U+0000 causes 500", refusing(withBody(createUser, holds(`\u0000`)), 500)},
	{"body.null-character-cuts", "a string is truncated at U+0000", corrupted(`a\u0000b`, `"a"`)},
	{"body.half-surrogate-500", "an unpaired surrogate causes 500", refusing(withBody(createUser, holds(`\ud800`)), 500)},
	{"body.byte-order-mark-500", "a byte order mark causes 500", refusing(withBody(createUser, holds("\ufeff")), 500)},
	{"body.prototype-500", "__proto__ causes 500", refusing(withBody(createUser, holds("__proto__")), 500)},
	{"body.prototype-polluted", "after a POST with the member __proto__, every user has an additional attribute",
		func(next http.Handler) http.Handler {
			kept := &memory{}
			return afterEach(readUser, func(o *scim.Object) {
				if kept.at("polluted") != nil {
					o.Set("admin", true)
				}
			})(before(createUser, func(o *scim.Object) {
				if _, ok := o.Get("__proto__"); ok {
					kept.put("polluted", true)
				}
			})(next))
		}},
	{"body.text-plain-500", "text/plain causes 500", refusing(typed("text/plain"), 500)},
	{"body.form-taken", "a body with the Content-Type of an HTML form is accepted", pretendCreated(typed("form-urlencoded"))},
	{"body.xml-taken", "a body with the Content-Type of XML is accepted", pretendCreated(typed("xml"))},
	{"body.wrong-charset-500", "an unknown charset causes 500", refusing(typed("utf-16"), 500)},
}
