package mutants

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// stored returns the stored resource at the path of a request, or nil if absent.
func stored(next http.Handler, r *http.Request) *scim.Object {
	rep := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
	if !rep.ok() {
		return nil
	}
	return rep.object()
}

// merging returns a wrapper that changes the body of a matching request. fn receives the body and the stored resource.
func merging(m match, fn func(sent, has *scim.Object)) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		if sent, err := scim.Decode(readBody(r)); err == nil {
			if has := stored(next, r); has != nil {
				fn(sent, has)
				setBody(r, sent.AppendJSON(nil))
			}
		}
		return serve(next, r)
	})
}

// unchanged returns the stored resource without processing the request.
func unchanged(next http.Handler, r *http.Request) *reply {
	return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
}

func empty(v any) bool {
	list, isList := v.([]any)
	return v == nil || isList && len(list) == 0
}

var put = []Mutant{
	{"put.ignored", "PUT has no effect", instead(putUser, unchanged)},
	{"put.answer-stale", "the PUT response contains the state before the PUT",
		instead(putUser, func(next http.Handler, r *http.Request) *reply {
			old := stored(next, r)
			rep := serve(next, r)
			if rep.ok() {
				rep.body = old.AppendJSON(nil)
			}
			return rep
		})},
	{"put.status-201", "PUT returns 201", after(putUser, func(_ *http.Request, rep *reply) {
		if rep.ok() {
			rep.status = 201
		}
	})},
	{"put.merges-emails", "PUT adds to the existing email addresses", merging(putUser, func(sent, has *scim.Object) {
		var all []any
		for _, item := range append(has.Array("emails"), sent.Array("emails")...) {
			objectOf(item).Delete("primary")
			all = append(all, item)
		}
		sent.Set("emails", all)
	})},
	{"put.null-ignored", "an attribute with the value null or [] in a PUT keeps its old value", merging(putUser, func(sent, has *scim.Object) {
		for name, v := range sent.Clone().All() {
			if old, ok := has.Get(name); ok && empty(v) {
				sent.Set(name, old)
			}
		}
	})},
	{"put.read-only-refused", "a PUT with an id is rejected with 400", refuse(putUser, func(o *scim.Object) bool {
		_, id := o.Get("id")
		return id
	}, func() *reply { return failure(400, scim.Mutability) })},
	{"put.groups-taken", "PUT stores groups from the body", func(next http.Handler) http.Handler {
		taken := &memory{}
		inner := echo(putUser, func(sent, got *scim.Object) {
			if v, ok := sent.Get("groups"); ok {
				taken.put(got.Text("id"), v)
			}
		})(next)
		return afterBody(readUser, func(o *scim.Object) {
			if v := taken.at(o.Text("id")); v != nil {
				o.Set("groups", v)
			}
		})(inner)
	}},
	{"put.required-kept", "a PUT without userName keeps the old value", merging(putUser, func(sent, has *scim.Object) {
		if sent.Text("userName") == "" {
			sent.Set("userName", has.Text("userName"))
		}
	})},
	{"put.creates", "PUT of an unknown id creates a user", func(next http.Handler) http.Handler {
		return instead(putUser, func(next http.Handler, r *http.Request) *reply {
			body := readBody(r)
			rep := serve(next, r)
			if rep.status == 404 {
				base, collection, _ := place(r)
				return serve(next, derivedRequest(r, http.MethodPost, base+"/"+collection, "", body))
			}
			return rep
		})(next)
	}},
	{"put.unknown-500", "PUT of an unknown id causes 500", after(putUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = *failure(500, "")
		}
	})},
	{"put.conflict-hidden", "PUT with a userName in use returns 200", pretend(putUser, 409)},
	{"put.own-name-conflicts", "PUT with the user's own userName is rejected with 409", func(next http.Handler) http.Handler {
		return instead(putUser, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			if has := stored(next, r); err == nil && has != nil && has.Text("userName") == sent.Text("userName") {
				return failure(409, scim.Uniqueness)
			}
			return serve(next, r)
		})(next)
	}},
	{"put.password-echoed", "the PUT response contains the password", echo(putUser, echoMember("password"))},
}
