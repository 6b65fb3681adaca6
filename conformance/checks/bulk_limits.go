package checks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// bulkLimits are the checks of atomic operations, of preconditions, and of the limits of a bulk request.
var bulkLimits = []check{
	{
		ID:           "bulk.operation-atomic",
		Title:        "A PATCH of a job that fails half-way changes nothing",
		Requirements: reqs("RFC7644-3.7-27", "RFC7644-3.5.2-28"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedPatch),
		Requests:     4,
		Why:          whyUnchanged,
		Fix:          fixAtomic,
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "atom", nil)
			res := processed(ctx, t, patching(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Half-way"}, doc{"op": "remove"}))
			t.SkipIf(code(result(t, res, "PATCH", u.ID)) < 400, "the target does not refuse the failing operation, which is another check's finding")
			t.Expect("name.givenName after the refused PATCH", "Conformance", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
	{
		ID:           "bulk.precondition",
		Title:        "An operation whose version is not the current one answers 412 and changes nothing",
		Requirements: reqs("RFC7644-3.7-09"),
		Level:        must,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedETag),
		Requests:     5,
		Why:          "The client wrote down which state it wants to change.",
		Fix:          "Treat version as If-Match.",
		Run:          bulkPrecondition,
	},
	{
		ID:           "bulk.version",
		Title:        "Results of successful operations carry the version of the resource",
		Requirements: reqs("RFC7644-3.7.3-03"),
		Level:        should,
		Needs:        append(slices.Clone(bulkUsers), conformance.NeedETag),
		Requests:     3,
		Why:          "The client can go on changing the resource without reading it.",
		Fix:          "Put the entity tag into version.",
		Run:          bulkVersion,
	},
	{
		ID:           "bulk.max-operations",
		Title:        "A job with more than maxOperations operations answers 413 and names the limit",
		Requirements: reqs("RFC7644-3.7.4-02", "RFC7644-3.7.4-04", "RFC7644-3.7.4-01"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "The client has to learn how to cut its job.",
		Fix:          "Count before executing; answer 413 with the limit in detail.",
		Run:          bulkMaxOperations,
	},
	{
		ID:           "bulk.max-payload",
		Title:        "A job larger than maxPayloadSize answers 413 and names the limit",
		Requirements: reqs("RFC7644-3.7.4-03", "RFC7644-3.7.4-04", "RFC7644-3.7.4-01"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "The client has to learn how to cut its job.",
		Fix:          "Bound the body before reading it whole; answer 413 with the limit in detail.",
		Run: func(ctx context.Context, t *T) {
			limit := numberAt(t, "maxPayloadSize")
			t.SkipIf(limit <= 0 || limit > 2<<20, "bulk.maxPayloadSize is missing or too large to try")
			res := job(ctx, t,
				doc{"method": "PUT", "path": "/Users/" + t.AbsentID(), "data": t.User("large", doc{"displayName": strings.Repeat("x", limit)})})
			t.Require("status of a job that is too large", 413, res.Status)
			t.Holds(strings.Contains(res.Object().Text("detail"), strconv.Itoa(limit)), "detail of the 413",
				"a text with the limit "+strconv.Itoa(limit), res.Object().Text("detail"))
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
	res := processed(ctx, t, change("One"), change("Two"))
	var statuses []int
	for _, o := range results(res) {
		statuses = append(statuses, code(o))
	}
	t.Expect("statuses of two PUTs with the same version", []int{200, 412}, statuses)
	t.Expect("name.givenName read back", "One", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
}

func bulkVersion(ctx context.Context, t *T) {
	res := processed(ctx, t, posting(t, "versioned", nil))
	version := value(result(t, res, "POST", "versioned"), "version")
	read := t.Read(ctx, createdPath(t, res, "/Users", "versioned")).Object()
	t.About(res)
	t.Expect("version of POST in the job, compared with meta.version in GET", value(read, "meta.version"), version)
	t.Holds(version != nil, "version of POST in the job", "the entity tag", version)
}

func bulkMaxOperations(ctx context.Context, t *T) {
	limit := numberAt(t, "maxOperations")
	t.SkipIf(limit <= 0 || limit > 2000, "bulk.maxOperations is missing or too large to try")
	operations := slices.Repeat([]doc{{"method": "DELETE", "path": "/Users/" + t.AbsentID()}}, limit+1)
	res := job(ctx, t, operations...)
	t.Require("status of a job with one operation too many", 413, res.Status)
	t.Holds(strings.Contains(res.Object().Text("detail"), strconv.Itoa(limit)), "detail of the 413",
		"a text with the limit "+strconv.Itoa(limit), res.Object().Text("detail"))
}

// numberAt returns a limit of the ServiceProviderConfig's bulk, 0 when it is absent.
func numberAt(t *T, name string) int {
	n, _ := strconv.Atoi(jsonText(value(t.Capabilities.ServiceProviderConfig, "bulk."+name)))
	return n
}
