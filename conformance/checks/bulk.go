package checks

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var (
	bulkUsers  = needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedBulk)
	bulkGroups = needs(conformance.NeedWrite, conformance.NeedUser, conformance.NeedGroup, conformance.NeedBulk)
)

const whyBulk = "Clients learn from the results of a bulk request which accounts the server created or changed; after a wrong result, " +
	"client and server hold different data."

var bulk = []check{
	{
		ID: "bulk.advertised",
		Title: "A bulk request is processed if and only if the ServiceProviderConfig declares bulk as supported; otherwise the response is " +
			"501 or a 4xx",
		Requirements: reqs("RFC7644-3.7-01"),
		Level:        should,
		Needs:        writesUsers,
		Requests:     1,
		Why: "Clients rely on bulk.supported in the ServiceProviderConfig; if it is true by mistake, all their bulk requests fail, and if " +
			"it is false by mistake, they send single requests.",
		Fix: "Set bulk.supported to true if and only if the server processes bulk requests; if not, return 501 or 404 for /Bulk.",
		Run: bulkAdvertised,
	},
	{
		ID:           "bulk.post",
		Title:        "A POST in a bulk request creates the resource and reports 201 with its bulkId and location",
		Requirements: reqs("RFC7644-3.7-16", "RFC7644-3.7-25", "RFC7644-3.7-13", "RFC7644-3.7-19"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     3,
		Why:          whyBulk,
		Fix:          "Report method, bulkId, location and status for every POST.",
		Run: func(ctx context.Context, t *T) {
			res := postBulkOK(ctx, t, postOperation(t, "new", nil))
			where := createdPath(t, res, "/Users", "new")
			location := result(t, res, "POST", "new").Text("location")
			t.Holds(strings.HasSuffix(location, where), "location of POST new in the bulk request", "the URI of the new user, ending in "+where,
				location)
			after := t.Get(ctx, where)
			t.Require("status of GET of the new user", 200, after.Status)
			t.Expect("userName of the new user", t.UserName("new"), value(after.Object(), "userName"))
		},
	},
	{
		ID:           "bulk.response",
		Title:        "The response to a bulk request is a BulkResponse with a result for every operation",
		Requirements: reqs("RFC7644-3.7-03", "RFC7644-3.7.3-01", "RFC7644-3.7-05", "RFC7644-3.7-04", "RFC7644-3.8-06"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     4,
		Why:          whyBulk,
		Fix: "Return schemas [urn:ietf:params:scim:api:messages:2.0:BulkResponse] and Operations, and no member of the request such as " +
			"failOnErrors.",
		Run: bulkResponse,
	},
	{
		ID:           "bulk.no-password",
		Title:        "The response to a bulk request contains no password of the request",
		Requirements: reqs("RFC7643-4.1.1-13"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     2,
		Why:          "Clients write the response of a bulk request to their logs; every reader of a log can then use the passwords.",
		Fix:          "Omit \"data\" and \"response\" from the results of successful operations, or remove password from them.",
		Run: func(ctx context.Context, t *T) {
			const password = "scimconf-Bulk-Passw0rd-7"
			res := postBulkOK(ctx, t, postOperation(t, "secret", doc{"password": password}))
			t.Must(len(results(res)) == 1, "number of results", "1", len(results(res)))
			t.Holds(!strings.Contains(string(res.Body), password), "body of "+res.Name, "no password of the request", "a password")
		},
	},
	{
		ID:           "bulk.status-text",
		Title:        "The status of each result in the response to a bulk request is a JSON string such as \"201\"",
		Requirements: reqs("RFC7644-3.7-17"),
		Level:        should,
		Needs:        bulkUsers,
		Requests:     2,
		Why:          "Typed clients declare status as a string; they cannot parse a response with another type.",
		Fix:          "Write \"status\":\"201\", neither 201 nor {\"code\":\"201\"}.",
		Run: func(ctx context.Context, t *T) {
			res := postBulkOK(ctx, t, postOperation(t, "typed", nil))
			t.Expect("status of POST in the bulk request", "201", value(result(t, res, "POST", "typed"), "status"))
		},
	},
	{
		ID:           "bulk.put",
		Title:        "A PUT in a bulk request replaces the resource and reports its location",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.7-13"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     4,
		Why:          whyBulk,
		Fix:          "Process the operation like a single PUT, and report status \"200\" and the location of the resource.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "put", nil)
			res := postBulkOK(ctx, t,
				doc{"method": "PUT", "path": u.Path(), "data": t.User("put", doc{"name": doc{"givenName": "Ada", "familyName": "Byron"}})})
			t.Expect("status of PUT in the bulk request", 200, resultStatus(result(t, res, "PUT", u.ID)))
			t.Expect("name.givenName read back", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "bulk.patch",
		Title:        "A PATCH in a bulk request changes the resource and reports its location",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.7-12", "RFC7644-3.7-13"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedPatch),
		Requests:     4,
		Why:          whyBulk,
		Fix: "Read the member \"data\" of a PATCH operation as a complete PatchOp message, with schemas and Operations, and apply it as a " +
			"PATCH of the resource.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "patch", nil)
			res := postBulkOK(ctx, t, patchOperation(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"}))
			status := resultStatus(result(t, res, "PATCH", u.ID))
			t.Holds(status == 200 || status == 204, "status of PATCH in the bulk request", "200 or 204", status)
			t.Expect("name.givenName read back", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "bulk.delete",
		Title:        "A DELETE in a bulk request removes the resource and reports 204 and its location",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.7-13", "RFC7644-3.6-01"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     3,
		Why:          whyBulk,
		Fix:          "Process the operation like a single DELETE, and report status \"204\" and the location of the resource.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "delete", nil)
			res := postBulkOK(ctx, t, doc{"method": "DELETE", "path": u.Path()})
			t.Expect("status of DELETE in the bulk request", 204, resultStatus(result(t, res, "DELETE", u.ID)))
			t.Expect("status of GET of the deleted user", 404, t.Get(ctx, u.Path()).Status)
		},
	},
	{
		ID:           "bulk.mixed",
		Title:        "One bulk request can contain operations of several methods on several resource types",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.7-16"),
		Level:        must,
		Needs:        append(slices.Clone(bulkGroups), conformance.NeedPatch),
		Requests:     9,
		Why:          whyBulk,
		Fix:          "Route every operation by its own path and method.",
		Run:          bulkMixed,
	},
	{
		ID:           "bulk.order",
		Title:        "Operations of a bulk request on the same resource take effect in the order of the request",
		Requirements: reqs("RFC7644-3.7-26"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedPatch),
		Requests:     4,
		Why:          "If an earlier change overwrites a later one, the client's data and the server's data differ.",
		Fix: "Process operations on the same resource in the order of the request; reorder only operations that do not depend " +
			"on each other.",
		Run: bulkOrder,
	},
	{
		ID: "bulk.error",
		Title: "The result of a failed operation in a bulk request has the status of the equivalent single request, and an Error as " +
			"response",
		Requirements: reqs("RFC7644-3.7-14", "RFC7644-3.7-18", "RFC7644-3.7-16", "RFC7644-3.7.3-02"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     3,
		Why:          "Without the status and the Error, a client with thousands of operations cannot determine which of them failed, and why.",
		Fix: "For every status other than 2xx, set the member \"response\" of the result to a complete Error, with schemas, status " +
			"and detail.",
		Run: bulkError,
	},
	{
		ID:           "bulk.error-location",
		Title:        "The result of a failed DELETE in a bulk request has a location",
		Requirements: reqs("RFC7644-3.7-13"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "Only the location identifies the failed operation; without it, the client cannot repeat that operation.",
		Fix:          "Set location to the absolute URI of the resource that the path of the operation names, also if the operation fails.",
		Run: func(ctx context.Context, t *T) {
			res := postBulkOK(ctx, t, doc{"method": "DELETE", "path": "/Users/" + t.AbsentID()})
			list := results(res)
			t.Must(len(list) == 1, "number of results", "1", len(list))
			t.Expect("status of DELETE of an unknown id", 404, resultStatus(list[0]))
			t.Holds(path.Base(list[0].Text("location")) == t.AbsentID(), "location of DELETE of an unknown id",
				"a URI that ends in "+t.AbsentID(), value(list[0], "location"))
		},
	},
	{
		ID:           "bulk.conflict",
		Title:        "In a bulk request, a POST with an existing userName fails with 409, and the other operations are processed",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.3-09"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     3,
		Why:          "Directories contain duplicate users; if one duplicate stops the bulk request, the users after it get no accounts.",
		Fix:          "Check uniqueness for each operation, and report 409 only in the result of the duplicate.",
		Run:          bulkConflict,
	},
	{
		ID:           "bulk.continues",
		Title:        "Without failOnErrors, all operations are processed even if some fail",
		Requirements: reqs("RFC7644-3.7-21"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     5,
		Why:          "A server that stops at one bad record leaves all later users of an import without accounts.",
		Fix:          "After a failed operation, process the next one. If failOnErrors is set, stop when that many operations have failed.",
		Run: func(ctx context.Context, t *T) {
			fail := failingOperations(ctx, t, "bad", "worse")
			res := postBulkOK(ctx, t, postOperation(t, "first", nil), fail.operations[0], fail.operations[1], postOperation(t, "last", nil))
			t.Expect("status of GET of the user whose POST follows the two failed "+
				"operations", 200, t.Get(ctx, createdPath(t, res, "/Users", "last")).Status)
		},
	},
	{
		ID:           "bulk.fail-on-errors",
		Title:        "With failOnErrors 1, processing stops after the first error, and completed operations are not undone",
		Requirements: reqs("RFC7644-3.7-23", "RFC7644-3.7-22", "RFC7644-3.7-24", "RFC7644-3.7.3-01"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedFilter),
		Requests:     5,
		Why: "A client sets failOnErrors 1 to stop a faulty import; a server that continues creates accounts that the client " +
			"has to remove. From a result, the client concludes that the operation was processed.",
		Fix: "Count the failed operations; when the count is equal to failOnErrors, process no further operations. Return only the " +
			"results of the processed operations in a BulkResponse.",
		Run: bulkFailOnErrors,
	},
	{
		ID:           "bulk.fail-on-errors-counts",
		Title:        "With failOnErrors 2, processing continues after the first error and stops after the second",
		Requirements: reqs("RFC7644-3.7-22", "RFC7644-3.7-23"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedFilter),
		Requests:     5,
		Why:          "If a server stops before the number of errors reaches failOnErrors, accounts that the client expects are not created.",
		Fix:          "Compare the number of errors with failOnErrors, not with 1.",
		Run:          bulkFailOnErrorsCounts,
	},
}

func bulkAdvertised(ctx context.Context, t *T) {
	supported, known := t.Capabilities.Supports("bulk")
	t.SkipIf(!known, "the ServiceProviderConfig does not declare whether bulk is supported")
	res := postBulk(ctx, t, doc{"method": "DELETE", "path": "/Users/" + t.AbsentID()})
	if supported {
		t.Expect("status of "+res.Name+", while the ServiceProviderConfig declares bulk as supported", 200, res.Status)
		return
	}
	what := "status of " + res.Name + ", while the ServiceProviderConfig declares bulk as not supported"
	t.Holds(res.Status == 501 || res.Status < 500, what, "501", res.Status)
	t.Warn(!res.OK(), what, "501", res.Status)
}

func bulkResponse(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "old", nil)
	res := t.Post(ctx, "/Bulk", doc{"schemas": []string{scim.BulkRequestMessage}, "failOnErrors": 5,
		"Operations": []doc{postOperation(t, "one", nil), postOperation(t, "two", nil), postOperation(t, "three", doc{"userName": omit}),
			{"method": "DELETE", "path": u.Path()}}})
	t.Require("status of "+res.Name, 200, res.Status)
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.BulkResponseMessage), "schemas of the response", scim.BulkResponseMessage,
		value(res.Object(), "schemas"))
	hasJSONType(t, res)
	t.Expect("number of results", 4, len(results(res)))
	_, there := res.Object().Get("failOnErrors")
	t.Holds(!there, "failOnErrors in the response", "absent", value(res.Object(), "failOnErrors"))
}

func bulkMixed(ctx context.Context, t *T) {
	changed, removed := t.CreateUser(ctx, "changed", nil), t.CreateUser(ctx, "removed", nil)
	blockedWithoutBulkPatch(ctx, t)
	res := postBulkOK(ctx, t, postOperation(t, "user", nil), groupOperation(t, "group"),
		patchOperation(changed.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"}),
		doc{"method": "DELETE", "path": removed.Path()})
	t.Expect("status of GET of the new user", 200, t.Get(ctx, createdPath(t, res, "/Users", "user")).Status)
	t.Expect("status of GET of the new group", 200, t.Get(ctx, createdPath(t, res, "/Groups", "group")).Status)
	t.Expect("name.givenName of the changed user", "Ada", value(t.Read(ctx, changed.Path()).Object(), "name.givenName"))
	t.Expect("status of DELETE in the bulk request", 204, resultStatus(result(t, res, "DELETE", removed.ID)))
}

func bulkOrder(ctx context.Context, t *T) {
	blockedWithoutBulkPatch(ctx, t)
	u := t.CreateUser(ctx, "ordered", nil)
	postBulkOK(ctx, t, patchOperation(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "One"}),
		patchOperation(u.Path(), doc{"op": "add", "path": "name.middleName", "value": "Kept"}),
		patchOperation(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Two"}))
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("name.givenName, replaced twice", "Two", value(o, "name.givenName"))
	t.Expect("name.middleName, added in between", "Kept", value(o, "name.middleName"))
}

func bulkError(ctx context.Context, t *T) {
	fail := failingOperations(ctx, t, "failed")
	res := postBulkOK(ctx, t, postOperation(t, "fine", nil), fail.operations[0])
	o := result(t, res, "POST", "failed")
	t.Expect("status of the failed operation", fail.status, resultStatus(o))
	e := o.Complex("response")
	t.Must(e != nil, "response of the failed operation", "an Error", value(o, "response"))
	t.Holds(slices.Contains(texts(e, "schemas"), scim.ErrorMessage), "response.schemas of the failed operation", scim.ErrorMessage,
		value(e, "schemas"))
	t.Expect("response.status of the failed operation", strconv.Itoa(fail.status), value(e, "status"))
	t.Warn(e.Text("detail") != "", "response.detail of the failed operation", "a string", value(e, "detail"))
}

func bulkConflict(ctx context.Context, t *T) {
	twin := postOperation(t, "twin", nil)
	twin["bulkId"] = "second"
	res := postBulkOK(ctx, t, postOperation(t, "twin", nil), twin, postOperation(t, "other", nil))
	t.Expect("status of the first POST of a userName", 201, resultStatus(result(t, res, "POST", "twin")))
	t.Expect("status of the second POST of a userName", 409, resultStatus(result(t, res, "POST", "second")))
	t.Expect("status of the POST after the duplicate", 201, resultStatus(result(t, res, "POST", "other")))
}

func bulkFailOnErrorsCounts(ctx context.Context, t *T) {
	fail := failingOperations(ctx, t, "bad", "worse")
	res := t.Post(ctx, "/Bulk", doc{"schemas": []string{scim.BulkRequestMessage}, "failOnErrors": 2,
		"Operations": []doc{fail.operations[0], postOperation(t, "between", nil), fail.operations[1], postOperation(t, "after", nil)}})
	processed(t, res)
	t.Expect("status of GET of the user whose POST is between the two failed "+
		"operations", 200, t.Get(ctx, createdPath(t, res, "/Users", "between")).Status)
	found := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("after")))
	t.Expect("number of users that the POST after the second failed operation created", 0, len(found.IDs()))
}

func bulkFailOnErrors(ctx context.Context, t *T) {
	fail := failingOperations(ctx, t, "bad")
	res := t.Post(ctx, "/Bulk",
		doc{"schemas": []string{scim.BulkRequestMessage}, "failOnErrors": 1,
			"Operations": []doc{postOperation(t, "before", nil), fail.operations[0], postOperation(t, "after", nil)}})
	processed(t, res)
	t.Expect("status of GET of the user whose POST precedes the failed "+
		"operation", 200, t.Get(ctx, createdPath(t, res, "/Users", "before")).Status)
	found := t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("after")))
	t.Expect("number of users that the POST after the failed operation created", 0, len(found.IDs()))
	t.About(res)
	unprocessed := slices.IndexFunc(results(res), func(o *scim.Object) bool { return o.Text("bulkId") == "after" })
	t.Warn(unprocessed < 0, "result of the POST that follows the failed operation and is not processed", "absent", "present")
}

// processed requires that the response to a bulk request in which the number of errors reaches failOnErrors contains results. RFC 7644 does
// not specify its status: section 3.7 calls it an error response.
func processed(t *T, res *conformance.Response) {
	if !res.OK() {
		t.Inform("status of "+res.Name+", in which the number of errors reaches failOnErrors", "200", res.Status)
	}
	if len(results(res)) == 0 {
		t.Require("number of results of "+res.Name, "at least 1", 0)
	}
}

// postBulk posts a bulk request.
func postBulk(ctx context.Context, t *T, operations ...doc) *conformance.Response {
	return t.Post(ctx, "/Bulk", doc{"schemas": []string{scim.BulkRequestMessage}, "Operations": operations})
}

// postBulkOK posts a bulk request and requires status 200, whatever the status of its operations.
func postBulkOK(ctx context.Context, t *T, operations ...doc) *conformance.Response {
	res := postBulk(ctx, t, operations...)
	t.Require("status of "+res.Name, 200, res.Status)
	return res
}

// postOperation returns an operation that creates a user, with the label as bulkId.
func postOperation(t *T, label string, extra doc) doc {
	return doc{"method": "POST", "path": "/Users", "bulkId": label, "data": t.User(label, extra)}
}

// groupOperation returns an operation that creates a group with members, with the label as bulkId.
func groupOperation(t *T, label string, members ...string) doc {
	extra := doc{}
	var list []doc
	for _, m := range members {
		list = append(list, doc{"value": m})
	}
	if len(list) > 0 {
		extra["members"] = list
	}
	return doc{"method": "POST", "path": "/Groups", "bulkId": label, "data": t.Group(label, extra)}
}

// blockedWithoutBulkPatch blocks the check if the target rejects every bulk request with a PATCH, which bulk.patch reports.
func blockedWithoutBulkPatch(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "control", nil)
		res := postBulk(ctx, t, patchOperation(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Alone"}))
		if res.Status == http.StatusOK {
			return ""
		}
		return fmt.Sprintf("a bulk request with a single PATCH returns %d, which bulk.patch reports", res.Status)
	})
}

// patchOperation returns an operation that patches a resource.
func patchOperation(where string, operations ...doc) doc {
	return doc{"method": "PATCH", "path": where, "data": doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}}
}

// failing is a list of operations that the target rejects, and the status with which it rejects the equivalent single requests.
type failing struct {
	operations []doc
	status     int
}

// failingOperations returns operations that the target rejects, each with a label as bulkId. It sends the equivalent single request first:
// a POST of a user without a userName. If the target creates this user, the operations are POSTs with the userName of an existing user. If
// the target does not reject these either, failingOperations skips the check.
func failingOperations(ctx context.Context, t *T, labels ...string) failing {
	rejected := func(extra doc) int {
		if res := t.Post(ctx, "/Users", t.User(labels[0], extra)); res.Status >= 400 && res.Status < 500 {
			return res.Status
		}
		return 0
	}
	extra := doc{"userName": omit}
	status := rejected(extra)
	if status == 0 {
		extra = doc{"userName": t.CreateUser(ctx, "taken", nil).Sent["userName"]}
		status = rejected(extra)
	}
	t.SkipIf(status == 0, "blocked: the target rejects neither a user without a userName nor a second user with the same userName, "+
		"so no operation fails")
	out := failing{status: status}
	for _, label := range labels {
		out.operations = append(out.operations, postOperation(t, label, extra))
	}
	return out
}

// results returns the results of a bulk request that are objects.
func results(res *conformance.Response) []*scim.Object {
	var out []*scim.Object
	for _, v := range res.Object().Array("Operations") {
		if o, ok := v.(*scim.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

// result returns the result of an operation, and ends the check if it is absent. The key is the bulkId of a POST; for another method, it is
// the id of the resource, with which the location of the result ends. If no result has the key, but only one result has the method, result
// records a finding about the missing key, and returns this result.
func result(t *T, res *conformance.Response, method, key string) *scim.Object {
	t.About(res)
	var others []*scim.Object
	for _, o := range results(res) {
		if !strings.EqualFold(o.Text("method"), method) {
			continue
		}
		if o.Text("bulkId") == key || path.Base(o.Text("location")) == key {
			return o
		}
		others = append(others, o)
	}
	if len(others) == 1 {
		if method == http.MethodPost {
			t.Expect("bulkId of the result of POST "+key+" in the bulk response", key, value(others[0], "bulkId"))
		} else {
			t.Holds(false, "location of the result of "+method+" in the bulk response", "a URI that ends in "+key, value(others[0], "location"))
		}
		return others[0]
	}
	t.Must(false, "result of "+method+" "+key+" in the bulk response", "present",
		"absent; the response has "+strconv.Itoa(len(results(res)))+" other results")
	return nil
}

// resultStatus returns the status of a result as a number, and 0 if it is absent. It accepts the forms "201", 201 and {"code":"201"}.
func resultStatus(o *scim.Object) int {
	v, _ := o.Get("status")
	if inner, ok := v.(*scim.Object); ok {
		v, _ = inner.Get("code")
	}
	n, _ := strconv.Atoi(strings.Trim(jsonText(v), `"`))
	return n
}

func jsonText(v any) string {
	o := scim.NewObject(scim.Member{Name: "v", Value: v})
	return strings.TrimSuffix(strings.TrimPrefix(string(o.AppendJSON(nil)), `{"v":`), "}")
}

// createdPath returns the path of the resource that the POST with a bulkId created in the collection, and ends the check if the POST failed
// or its result has no location.
func createdPath(t *T, res *conformance.Response, collection, bulkID string) string {
	o := result(t, res, "POST", bulkID)
	t.Must(resultStatus(o) == 201, "status of POST "+bulkID+" in the bulk request", "201", value(o, "status"))
	id := path.Base(o.Text("location"))
	t.Must(o.Text("location") != "", "location of POST "+bulkID+" in the bulk request", "the URI of the new resource", value(o, "location"))
	return collection + "/" + id
}
