package mutants

import (
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/scim"
)

// failing returns a wrapper that changes the body of error responses.
func failing(fn func(o *scim.Object)) wrap {
	return after(everything, func(_ *http.Request, rep *reply) {
		if o := rep.object(); rep.status >= 400 && o != nil {
			fn(o)
			rep.body = o.AppendJSON(nil)
		}
	})
}

var errors = []Mutant{
	{"errors.status-number", "status in the body of an error response is a number", failing(func(o *scim.Object) {
		if n, err := strconv.Atoi(o.Text("status")); err == nil {
			o.Set("status", n)
		}
	})},
	{"errors.status-differs", "status in the body of every error response is 400", failing(func(o *scim.Object) { o.Set("status", "400") })},
	{"errors.status-missing", "the body of an error response has no status", failing(func(o *scim.Object) { o.Delete("status") })},
	{"errors.schema-missing", "an error response has no schemas", failing(func(o *scim.Object) { o.Delete("schemas") })},
	{"errors.plain-text", "errors are plain text", after(everything, func(_ *http.Request, rep *reply) {
		if rep.status >= 400 && rep.status != 401 {
			rep.header.Set("Content-Type", "text/plain")
			rep.body = []byte("not found")
		}
	})},
	{"errors.type-unknown", "scimType of every error response is a keyword that no RFC defines",
		failing(func(o *scim.Object) { o.Set("scimType", "notFound") })},
	{"errors.stack-trace", "detail of an error response contains a stack trace", failing(func(o *scim.Object) {
		o.Set("detail", "java.lang.NullPointerException\n\tat com.example.Users.get(Users.java:42)")
	})},
	{"errors.catch-all", "an unknown endpoint returns an HTML page", instead(func(r *http.Request) bool {
		_, collection, _ := place(r)
		return collection == ""
	}, func(http.Handler, *http.Request) *reply {
		return &reply{status: 200, header: http.Header{"Content-Type": {"text/html"}}, body: []byte("<!doctype html><title>Welcome</title>")}
	})},
	{"errors.wrong-method-500", "PUT on a collection causes 500",
		instead(on("PUT", "Users", false), func(http.Handler, *http.Request) *reply { return failure(500, "") })},
	{"errors.wrong-method-200", "POST on a resource returns 200",
		instead(on("POST", "Users", true), func(http.Handler, *http.Request) *reply { return newReply(200, scim.NewObject()) })},
}
