package checks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// bulkLimits are the checks of atomic operations, of preconditions, and of the limits of a bulk request.
var bulkLimits = []check{
	{
		ID:           "bulk.operation-atomic",
		Title:        "A PATCH in a bulk request changes nothing if the second of its own Operations fails",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.5.2-28"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedPatch),
		Requests:     4,
		Why:          whyUnchanged,
		Fix:          fixAtomic,
		Run: func(ctx context.Context, t *T) {
			blockedWithoutBulkPatch(ctx, t)
			u := t.CreateUser(ctx, "atom", nil)
			res := postBulkOK(ctx, t,
				patchOperation(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Half-way"}, doc{"op": "remove"}))
			t.SkipIf(!slices.ContainsFunc(results(res), func(o *scim.Object) bool { return resultStatus(o) >= 400 }),
				"the target accepts a remove without a path: see patch.remove-no-path")
			t.Expect("name.givenName after the rejected PATCH", "Conformance", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "bulk.precondition",
		Title:        "An operation of a bulk request with an outdated version fails with 412 and changes nothing",
		Requirements: reqs("RFC7644-3.7-09"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedETag),
		Requests:     5,
		Why:          "A server that ignores version lets a client overwrite a change that another client made in the meantime.",
		Fix:          "Compare \"version\" of the operation with the current entity tag, as for If-Match; report 412 if they differ.",
		Run:          bulkPrecondition,
	},
	{
		ID:           "bulk.version",
		Title:        "The version in the result of a POST in a bulk request is that of the created resource",
		Requirements: reqs("RFC7644-3.7.3-03"),
		Level:        should,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedETag),
		Requests:     3,
		Why:          "The client sends the version in If-Match with its next change; with another version, the server rejects the change.",
		Fix:          "Set \"version\" of the result to the entity tag of the resource after the operation, for example W/\"2\".",
		Run:          bulkVersion,
	},
	{
		ID:           "bulk.max-operations",
		Title:        "A bulk request with more than maxOperations operations is rejected with 413, and the Error names the limit",
		Requirements: reqs("RFC7644-3.7.4-02", "RFC7644-3.7.4-04", "RFC7644-3.7.4-01"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "A client that does not learn the limit cannot split its request and sends the same request again.",
		Fix: "Count the operations before executing them. If there are too many, return 413 with an Error whose detail contains " +
			"the value of maxOperations.",
		Run: bulkMaxOperations,
	},
	{
		ID:           "bulk.max-payload",
		Title:        "A bulk request larger than maxPayloadSize is rejected with 413, and the Error names the limit",
		Requirements: reqs("RFC7644-3.7.4-03", "RFC7644-3.7.4-04", "RFC7644-3.7.4-01"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "A client that does not learn the limit cannot split its request and sends the same request again.",
		Fix: "Stop reading the body after maxPayloadSize bytes, and return 413 with an Error whose detail contains the value of " +
			"maxPayloadSize.",
		Run: func(ctx context.Context, t *T) {
			limit := numberAt(t, "maxPayloadSize")
			t.SkipIf(limit <= 0 || limit > 2<<20, "bulk.maxPayloadSize is missing or too large to test")
			res := postBulk(ctx, t,
				doc{"method": "PUT", "path": "/Users/" + t.AbsentID(), "data": t.User("large", doc{"displayName": strings.Repeat("x", limit)})})
			t.Require("status of a bulk request larger than maxPayloadSize", 413, res.Status)
			t.Holds(strings.Contains(res.Object().Text("detail"), strconv.Itoa(limit)), "detail of the Error with status 413",
				"a string that contains the limit "+strconv.Itoa(limit), res.Object().Text("detail"))
		},
	},
}

func bulkPrecondition(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "versioned", nil)
	first := t.Read(ctx, u.Path()).Object()
	stale, _ := value(first, "meta.version").(string)
	t.SkipIf(stale == "", "the target does not return meta.version")
	change := func(name string) doc {
		return doc{"method": "PUT", "path": u.Path(), "version": stale,
			"data": t.User("versioned", doc{"name": doc{"givenName": name, "familyName": "Byron"}})}
	}
	res := postBulkOK(ctx, t, change("One"), change("Two"))
	var statuses []int
	for _, o := range results(res) {
		statuses = append(statuses, resultStatus(o))
	}
	t.Expect("statuses of two PUTs with the same version", []int{200, 412}, statuses)
	t.Expect("name.givenName read back", "One", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
}

func bulkVersion(ctx context.Context, t *T) {
	res := postBulkOK(ctx, t, postOperation(t, "versioned", nil))
	version := value(result(t, res, "POST", "versioned"), "version")
	read := t.Read(ctx, createdPath(t, res, "/Users", "versioned")).Object()
	t.About(res)
	if version == nil {
		t.Inform("version of POST in the bulk request", "the entity tag; RFC 7644 does not require it", version)
		return
	}
	t.Expect("version of POST in the bulk request, compared with meta.version in GET", value(read, "meta.version"), version)
}

func bulkMaxOperations(ctx context.Context, t *T) {
	limit := numberAt(t, "maxOperations")
	t.SkipIf(limit <= 0 || limit > 2000, "bulk.maxOperations is missing or too large to test")
	operations := slices.Repeat([]doc{{"method": "DELETE", "path": "/Users/" + t.AbsentID()}}, limit+1)
	res := postBulk(ctx, t, operations...)
	t.Require("status of a bulk request with one operation more than maxOperations", 413, res.Status)
	t.Holds(strings.Contains(res.Object().Text("detail"), strconv.Itoa(limit)), "detail of the Error with status 413",
		"a string that contains the limit "+strconv.Itoa(limit), res.Object().Text("detail"))
}

// numberAt returns the limit with the given name from the attribute bulk of the ServiceProviderConfig, or 0 if the limit is absent.
func numberAt(t *T, name string) int {
	n, _ := strconv.Atoi(jsonText(value(t.Capabilities.ServiceProviderConfig, "bulk."+name)))
	return n
}
