package mutants

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var postBulk match = func(r *http.Request) bool {
	_, collection, _ := place(r)
	return collection == "Bulk" && r.Method == http.MethodPost
}

// bulkOperations returns a wrapper that replaces the operations of a bulk request by the result of fn.
func bulkOperations(fn func(o *scim.Object, operations []*scim.Object) []*scim.Object) wrap {
	return before(postBulk, func(o *scim.Object) {
		var list []*scim.Object
		for _, v := range o.Array("Operations") {
			if op, ok := v.(*scim.Object); ok {
				list = append(list, op)
			}
		}
		if len(list) != len(o.Array("Operations")) || len(list) == 0 {
			return
		}
		out := []any{}
		for _, op := range fn(o, list) {
			out = append(out, op)
		}
		o.Set("Operations", out)
	})
}

// bulkResults returns a wrapper that changes the results of a bulk request with fn.
func bulkResults(fn func(op *scim.Object)) wrap {
	return afterBody(postBulk, func(o *scim.Object) {
		for _, v := range o.Array("Operations") {
			fn(objectOf(v))
		}
	})
}

func method(op *scim.Object, name string) bool { return op.Text("method") == name }

// pretendBulkSuccess returns a wrapper that returns a successful result for bulk requests with an operation that satisfies cond. The server
// does not receive these requests.
func pretendBulkSuccess(cond func(op *scim.Object) bool) wrap {
	return refuse(postBulk, anyOp(cond), func() *reply {
		done := scim.NewObject(scim.Member{Name: "method", Value: "DELETE"}, scim.Member{Name: "status", Value: "204"})
		return newReply(200,
			scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.BulkResponseMessage}},
				scim.Member{Name: "Operations", Value: []any{done}}))
	})
}

// references returns a wrapper that replaces each string of a bulk request that starts with "bulkId:" by the result of fn.
func references(fn func(text string) any) wrap {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			if strings.HasPrefix(v, "bulkId:") {
				return fn(v)
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case *scim.Object:
			for name, inner := range v.Clone().All() {
				v.Set(name, walk(inner))
			}
		}
		return v
	}
	return before(postBulk, func(o *scim.Object) { walk(o) })
}

// withoutMembers returns a wrapper that removes the attribute members from the data of the bulk operations that satisfy cond.
func withoutMembers(cond func(op *scim.Object) bool) wrap {
	return bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
		for _, op := range list {
			if cond(op) {
				op.Complex("data").Delete("members")
			}
		}
		return list
	})
}

var bulk = []Mutant{
	{"bulk.not-there", "/Bulk returns 501 although the ServiceProviderConfig advertises bulk requests",
		instead(postBulk, func(http.Handler, *http.Request) *reply { return failure(501, "") })},
	{"bulk.status-201", "a bulk request returns 201", after(postBulk, func(_ *http.Request, rep *reply) {
		if rep.ok() {
			rep.status = 201
		}
	})},
	{"bulk.fails-whole", "a bulk request with a failed operation returns 400", after(postBulk, func(_ *http.Request, rep *reply) {
		for _, v := range rep.object().Array("Operations") {
			if strings.HasPrefix(objectOf(v).Text("status"), "4") {
				*rep = *failure(400, scim.InvalidValue)
				return
			}
		}
	})},
	{"bulk.schema-missing", "the bulk response has no schemas", afterBody(postBulk, func(o *scim.Object) { o.Delete("schemas") })},
	{"bulk.fail-on-errors-echoed", "the bulk response repeats failOnErrors", echo(postBulk, echoMember("failOnErrors"))},
	{"bulk.errors-only", "only failed operations have results", afterBody(postBulk, func(o *scim.Object) {
		o.Set("Operations",
			slices.DeleteFunc(slices.Clone(o.Array("Operations")), func(v any) bool {
				return strings.HasPrefix(objectOf(v).Text("status"), "2")
			}))
	})},
	{"bulk.status-number", "the status of a result is a number", bulkResults(func(op *scim.Object) {
		if n, err := strconv.Atoi(op.Text("status")); err == nil {
			op.Set("status", n)
		}
	})},
	{"bulk.status-object", "the status of a result is an object", bulkResults(func(op *scim.Object) {
		op.Set("status", scim.NewObject(scim.Member{Name: "code", Value: op.Text("status")}))
	})},
	{"bulk.bulk-id-lost", "results have no bulkId", bulkResults(func(op *scim.Object) { op.Delete("bulkId") })},
	{"bulk.location-lost", "results have no location", bulkResults(func(op *scim.Object) { op.Delete("location") })},
	{"bulk.error-location-lost", "failed operations have no location", bulkResults(func(op *scim.Object) {
		if strings.HasPrefix(op.Text("status"), "4") {
			op.Delete("location")
		}
	})},
	{"bulk.response-lost", "failed operations have no response", bulkResults(func(op *scim.Object) { op.Delete("response") })},
	{"bulk.response-text", "the response of a failed operation is a string", bulkResults(func(op *scim.Object) {
		if op.Complex("response") != nil {
			op.Set("response", "it failed")
		}
	})},
	{"bulk.response-status-number", "response.status is a number", bulkResults(func(op *scim.Object) {
		if e := op.Complex("response"); e != nil {
			e.Set("status", 400)
		}
	})},
	{"bulk.put-skipped", "PUT operations are reported as successful but not executed",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			for _, op := range list {
				if name := op.Complex("data").Complex("name"); method(op, "PUT") && name != nil {
					name.Set("givenName", "Conformance")
				}
			}
			return list
		})},
	{"bulk.patch-skipped", "PATCH operations are reported as successful but not executed",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			for _, op := range list {
				if method(op, "PATCH") {
					complexOf(op, "data").Set("Operations",
						[]any{scim.NewObject(scim.Member{Name: "op", Value: "remove"}, scim.Member{Name: "path", Value: "locale"})})
				}
			}
			return list
		})},
	{"bulk.delete-200", "the result of a DELETE operation has the status 200", bulkResults(func(op *scim.Object) {
		if op.Text("status") == "204" {
			op.Set("status", "200")
		}
	})},
	{"bulk.groups-refused", "groups cannot be created in a bulk request", bulkResults(func(op *scim.Object) {
		if strings.Contains(op.Text("location"), "/Groups/") && method(op, "POST") {
			op.Set("status", "400")
		}
	})},
	{"bulk.last-first", "operations are executed from the last to the first",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			slices.Reverse(list)
			return list
		})},
	{"bulk.first-per-resource", "only the first operation on a resource is executed",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			seen := map[string]bool{}
			return slices.DeleteFunc(list, func(op *scim.Object) bool {
				again := seen[op.Text("path")] && !method(op, "POST")
				seen[op.Text("path")] = true
				return again
			})
		})},
	{"bulk.conflict-400", "the result of an operation that creates a duplicate has the status 400", bulkResults(func(op *scim.Object) {
		if op.Text("status") == "409" {
			op.Set("status", "400")
		}
	})},
	{"bulk.stops", "a bulk request stops at its first error", before(postBulk, func(o *scim.Object) { o.Set("failOnErrors", 1) })},
	{"bulk.never-stops", "failOnErrors is ignored", before(postBulk, func(o *scim.Object) { o.Delete("failOnErrors") })},
	{"bulk.fail-on-errors-one-more", "with failOnErrors, processing stops one error too late", before(postBulk, func(o *scim.Object) {
		if v, ok := o.Get("failOnErrors"); ok && scim.Equal(v, jsonInteger(2)) {
			o.Set("failOnErrors", 3)
		}
	})},
	{"bulk.references-kept", "bulkId references are replaced by an unknown id", references(func(string) any { return "scimconf-nobody" })},
	{"bulk.references-dropped", "members that refer to a bulkId are dropped",
		withoutMembers(func(op *scim.Object) bool { return method(op, "POST") })},
	{"bulk.forward-dropped", "members that refer to the bulkId of a later operation are dropped",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			seen := map[string]bool{}
			for _, op := range list {
				for _, m := range op.Complex("data").Array("members") {
					if id, ok := strings.CutPrefix(objectOf(m).Text("value"), "bulkId:"); ok && !seen[id] {
						op.Complex("data").Delete("members")
						break
					}
				}
				seen[op.Text("bulkId")] = true
			}
			return list
		})},
	{"bulk.extension-reference-dropped", "bulkId references in extensions are not resolved", afterEach(readUser, func(o *scim.Object) {
		if m := o.Complex(scim.EnterpriseUserSchema).Complex("manager"); m != nil {
			m.Set("value", "bulkId:boss")
		}
	})},
	{"bulk.patch-reference-dropped", "PATCH operations with a bulkId reference are not executed",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			return slices.DeleteFunc(list, func(op *scim.Object) bool {
				return method(op, "PATCH") && strings.Contains(string(op.AppendJSON(nil)), "bulkId:")
			})
		})},
	{"bulk.not-atomic", "if a PATCH in a bulk request fails, a part of its operations stays applied",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			var out []*scim.Object
			for _, op := range list {
				all := op.Complex("data").Array("Operations")
				if !method(op, "PATCH") || len(all) < 2 {
					out = append(out, op)
					continue
				}
				for _, single := range all {
					part := op.Clone()
					complexOf(part, "data").Set("Operations", []any{single})
					out = append(out, part)
				}
			}
			return out
		})},
	{"bulk.version-ignored", "the member version of an operation is ignored",
		bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
			for _, op := range list {
				op.Delete("version")
			}
			return list
		})},
	{"bulk.version-of-nothing", "the version in results is that of no resource", bulkResults(func(op *scim.Object) {
		if op.Text("version") != "" {
			op.Set("version", `W/"0"`)
		}
	})},
	{"bulk.limit-ignored", "a request with too many operations returns 200", after(postBulk, func(_ *http.Request, rep *reply) {
		if rep.status == 413 {
			*rep = *newReply(200,
				scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.BulkResponseMessage}}, scim.Member{Name: "Operations", Value: []any{}}))
		}
	})},
	{"bulk.limit-unnamed", "a 413 response does not name the limit", after(postBulk, func(_ *http.Request, rep *reply) {
		if rep.status == 413 {
			*rep = *failure(413, "")
		}
	})},
	{"bulk.schema-not-needed", "a bulk request with another message schema is processed",
		before(postBulk, func(o *scim.Object) { o.Set("schemas", []any{scim.BulkRequestMessage}) })},
	{"bulk.operations-not-needed", "a bulk request without Operations returns 200", before(postBulk, func(o *scim.Object) {
		if _, ok := o.Get("Operations"); !ok {
			o.Set("Operations", []any{})
		}
	})},
	{"bulk.get-hidden", "an operation with the method GET succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return method(op, "GET") })},
	{"bulk.method-guessed", "an operation without a method succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return op.Text("method") == "" })},
	{"bulk.path-guessed", "an operation without a path succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return op.Text("path") == "" })},
	{"bulk.data-guessed", "a PUT operation without data succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return method(op, "PUT") && op.Complex("data") == nil })},
	{"bulk.bulk-id-not-needed", "a POST operation without a bulkId succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return method(op, "POST") && op.Text("bulkId") == "" })},
	{"bulk.unknown-path-500", "the result of an operation on an unknown endpoint has the status 500", bulkResults(func(op *scim.Object) {
		if op.Text("bulkId") == "x" {
			op.Set("status", "500")
		}
	})},
	{"bulk.absolute-path-followed", "an operation with an absolute URL as its path succeeds",
		pretendBulkSuccess(func(op *scim.Object) bool { return strings.HasPrefix(op.Text("path"), "https:") })},
	{"bulk.same-bulk-id-hidden", "a bulkId may be used twice", bulkOperations(func(_ *scim.Object, list []*scim.Object) []*scim.Object {
		for i, op := range list {
			if i > 0 && op.Text("bulkId") == list[0].Text("bulkId") {
				op.Set("bulkId", op.Text("bulkId")+"-"+strconv.Itoa(i))
			}
		}
		return list
	})},
	{"bulk.dependents-created", "a resource that refers to a POST operation that failed is created without the reference",
		references(func(string) any { return nil })},
}
