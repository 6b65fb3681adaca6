package checks

import (
	"context"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// bulkMalformed are the checks of malformed bulk requests.
var bulkMalformed = []check{
	{
		ID:           "bulk.message-schema",
		Title:        "A bulk request without the BulkRequest schema is rejected with 400",
		Requirements: reqs("RFC7644-3.7-02"),
		Level:        should,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "A server that ignores schemas executes a message that the client intended for another endpoint.",
		Fix:          "Return 400 unless schemas contains urn:ietf:params:scim:api:messages:2.0:BulkRequest.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Bulk",
				doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"method": "DELETE", "path": "/Users/" + t.AbsentID()}}})
			expectError(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "bulk.no-operations",
		Title:        "A bulk request without Operations is rejected with 400",
		Requirements: reqs("RFC7644-3.7-05"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "A client that gets a success for a truncated message assumes that its accounts were created.",
		Fix:          "Return 400 for a bulk request without Operations.",
		Run: func(ctx context.Context, t *T) {
			expectError(t, t.Post(ctx, "/Bulk", doc{"schemas": []string{scim.BulkRequestMessage}}), 400)
		},
	},
	malformedBulk("unknown-method", "In a bulk request, an operation with the method GET is rejected", "RFC7644-3.7-06",
		"the method GET", must, 1,
		func(t *T) doc { return doc{"method": "GET", "path": "/Users/" + t.AbsentID()} }),
	malformedBulk("no-method", "In a bulk request, an operation without a method is rejected", "RFC7644-3.7-06", "no method", must, 1,
		func(t *T) doc { return doc{"path": "/Users/" + t.AbsentID()} }),
	malformedBulk("no-path", "In a bulk request, an operation without a path is rejected", "RFC7644-3.7-10", "no path", must, 1, func(*T) doc {
		return doc{"method": "DELETE"}
	}),
	malformedBulk("no-data", "In a bulk request, a PUT without data is rejected", "RFC7644-3.7-11", "no data", must, 1, func(t *T) doc {
		return doc{"method": "PUT", "path": "/Users/" + t.AbsentID()}
	}),
	malformedBulk("no-bulk-id", "In a bulk request, a POST without a bulkId is rejected", "RFC7644-3.7-07", "no bulkId", must, 1,
		func(t *T) doc {
			op := postOperation(t, "nameless", nil)
			delete(op, "bulkId")
			return op
		}),
	malformedBulk("unknown-path", "In a bulk request, an operation on an endpoint that does not exist is rejected", "RFC7644-3.7-27",
		"an unknown endpoint", must, 1,
		func(t *T) doc {
			return doc{"method": "POST", "path": "/ScimconfNothing", "bulkId": "x", "data": t.User("lost", nil)}
		}),
	malformedBulk("absolute-path", "In a bulk request, an operation whose path is an absolute URL is rejected", "RFC7644-3.7-10",
		"an absolute URL as path", must, 1,
		func(t *T) doc {
			return doc{"method": "DELETE", "path": "https://scimconf.example.com/Users/" + t.AbsentID()}
		}),
	{
		ID:           "bulk.same-bulk-id",
		Title:        "A bulk request in which two operations have the same bulkId is rejected as a whole, or its second operation is",
		Requirements: reqs("RFC7644-3.7-08"),
		Level:        may,
		Needs:        bulkUsers,
		Requests:     2,
		Why: "The client cannot assign the two results to its operations, and a group that refers to the bulkId may get the " +
			"wrong member.",
		Fix: "Reject the second operation, or the whole bulk request.",
		Run: func(ctx context.Context, t *T) {
			second := postOperation(t, "second", nil)
			second["bulkId"] = "first"
			expectRejected(t, postBulk(ctx, t, postOperation(t, "first", nil), second), "a duplicate bulkId")
		},
	},
}

// expectRejected expects that the target rejects a bulk request whose last operation is malformed: with a 4xx status for the whole request,
// or with 200 and a 4xx status in the last result. Findings contain the description of the defect.
func expectRejected(t *T, res *conformance.Response, defect string) {
	if res.Status != 200 {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a bulk request with "+defect, "400, or 200 with a failed operation", res.Status)
		return
	}
	list := results(res)
	t.Must(len(list) > 0, "number of results of a bulk request with "+defect, "at least 1", len(list))
	last := resultStatus(list[len(list)-1])
	t.Holds(last >= 400 && last < 500, "status of the operation with "+defect, "400", last)
}

// malformedBulk returns a check that a bulk request with one malformed operation is rejected. See [expectRejected].
func malformedBulk(id, title, requirement, defect string, level conformance.Level, requests int, op func(t *T) doc) check {
	return check{
		ID:           "bulk." + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        level,
		Needs:        bulkUsers,
		Requests:     requests,
		Why:          "A server that executes a malformed operation makes changes that the client did not request.",
		Fix:          "Validate every operation; return 400 for the operation or for the whole bulk request.",
		Run:          func(ctx context.Context, t *T) { expectRejected(t, postBulk(ctx, t, op(t)), defect) },
	}
}
