package mutants

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// texted narrows a match to requests whose body satisfies when, JSON or not.
//
//go:noinline
func texted(m match, when func(text []byte) bool) match {
	return func(r *http.Request) bool { return m(r) && when(readBody(r)) }
}

func holds(part string) func([]byte) bool {
	return func(text []byte) bool { return bytes.Contains(text, []byte(part)) }
}

func typed(part string) match {
	return headed(createUser, "Content-Type", func(v string) bool { return strings.Contains(v, part) })
}

// swallowed answers 201 with a user that nobody keeps.
func swallowed(m match) wrap {
	return instead(m, func(http.Handler, *http.Request) *reply {
		return answer(201,
			scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.UserSchema}}, scim.Member{Name: "id", Value: "swallowed"}))
	})
}

// corrupted takes a user that the server would perhaps refuse, with another nickName in the text, and shows a broken one.
func corrupted(part, shown string) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hit := createUser(r) && bytes.Contains(readBody(r), []byte(part))
			if hit {
				setBody(r, bytes.ReplaceAll(readBody(r), []byte(part), []byte("ab")))
			}
			rep := ask(next, r)
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
	{"body.put-500", "a malformed PUT answers 500", turned(putUser, 400, 500)},
	{"body.put-empty-kept", "an empty PUT answers 200", instead(texted(putUser, func(text []byte) bool { return len(text) == 0 }), unchanged)},
	{"body.patch-500", "a malformed PATCH answers 500", turned(patchUser, 400, 500)},
	{"body.patch-object-taken", "a PATCH whose Operations are an object answers 204",
		instead(texted(patchUser, holds(`"Operations":{`)), func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusNoContent, header: http.Header{}}
		})},
	{"body.charset-415", "a charset parameter answers 415", refusing(typed("charset="), 415)},
	{"body.delete-500", "a body on a DELETE answers 500", refusing(texted(deleteUser, func(text []byte) bool { return len(text) > 0 }), 500)},
	{"body.odd-ids-500", "an id that is too long answers 500", refusing(func(r *http.Request) bool {
		_, _, id := place(r)
		return readUser(r) && len(id) > 255
	}, 500)},
	{"body.ids-are-uuids", "an id that is no UUID answers 500", refusing(func(r *http.Request) bool {
		_, _, id := place(r)
		return readUser(r) && strings.Count(id, "-") != 4
	}, 500)},
	{"body.trailing-ignored", "text after the object is ignored",
		swallowed(texted(createUser, func(text []byte) bool { return bytes.HasSuffix(text, []byte("} x")) }))},
	{"body.second-object-ignored", "a second object is ignored", swallowed(texted(createUser, holds("}{")))},
	{"body.not-a-number-taken", "NaN is taken", swallowed(texted(createUser, holds("NaN")))},
	{"body.single-quotes-taken", "single quotes are taken", swallowed(texted(createUser, holds("{'")))},
	{"body.truncated-taken", "a body that was cut off is taken",
		swallowed(texted(createUser, func(text []byte) bool { return len(text) > 0 && !bytes.HasSuffix(text, []byte("}")) }))},
	{"body.duplicate-names-500", "a member that occurs twice answers 500",
		refusing(texted(createUser, holds(`"active":true,"active":true`)), 500)},
	{"body.deep-500", "deep nesting answers 500", refusing(texted(createUser, holds(strings.Repeat("[", 100))), 500)},
	{"body.deep-objects-500", "objects in objects answer 500", refusing(texted(createUser, holds(strings.Repeat(`{"a":`, 100))), 500)},
	{"body.many-members-500", "many members answer 500", refusing(texted(createUser, holds("scimconf4999")), 500)},
	{"body.huge-text-500", "a large text answers 500", refusing(texted(createUser, func(text []byte) bool { return len(text) > 1<<20 }), 500)},
	{"body.huge-text-cut", "a large text is cut off", before(createUser, func(o *scim.Object) {
		if text := o.Text("nickName"); len(text) > 4000 {
			o.Set("nickName", text[:4000])
		}
	})},
	{"body.huge-number-500", "a number that fits nowhere answers 500", refusing(texted(createUser, holds("1e999999")), 500)},
	{"body.utf-8-500", "invalid UTF-8 answers 500", refusing(texted(createUser, holds("\xff\xfe")), 500)},
	{"body.utf-8-kept", "invalid UTF-8 is stored", corrupted("a\xff\xfeb", "\"a\xff\xfeb\"")},
	{"body.null-character-500", "U+0000 answers 500", refusing(texted(createUser, holds(`\u0000`)), 500)},
	{"body.null-character-cuts", "a text ends at U+0000", corrupted(`a\u0000b`, `"a"`)},
	{"body.half-surrogate-500", "half a surrogate pair answers 500", refusing(texted(createUser, holds(`\ud800`)), 500)},
	{"body.byte-order-mark-500", "a byte order mark answers 500", refusing(texted(createUser, holds("\ufeff")), 500)},
	{"body.prototype-500", "__proto__ answers 500", refusing(texted(createUser, holds("__proto__")), 500)},
	{"body.prototype-polluted", "__proto__ becomes part of every user", func(next http.Handler) http.Handler {
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
	{"body.text-plain-500", "text/plain answers 500", refusing(typed("text/plain"), 500)},
	{"body.form-taken", "a form is taken", swallowed(typed("form-urlencoded"))},
	{"body.xml-taken", "XML is taken", swallowed(typed("xml"))},
	{"body.wrong-charset-500", "an unknown charset answers 500", refusing(typed("utf-16"), 500)},
}
