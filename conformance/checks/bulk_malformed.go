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
		Title:        "A job without the BulkRequest schema is refused with 400",
		Requirements: reqs("RFC7644-3.7-02"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "The schema tells a message from a resource.",
		Fix:          "Require schemas [urn:ietf:params:scim:api:messages:2.0:BulkRequest].",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Bulk",
				doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"method": "DELETE", "path": "/Users/" + t.AbsentID()}}})
			refused(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "bulk.no-operations",
		Title:        "A job without Operations is refused with 400",
		Requirements: reqs("RFC7644-3.7-05"),
		Level:        must,
		Needs:        bulkUsers,
		Requests:     1,
		Why:          "A message that was cut short must not look like a success.",
		Fix:          "Require Operations.",
		Run: func(ctx context.Context, t *T) {
			refused(t, t.Post(ctx, "/Bulk", doc{"schemas": []string{scim.BulkRequestMessage}}), 400, "invalidSyntax", "invalidValue")
		},
	},
	malformedBulk("unknown-method", "An operation with a method that jobs do not have is refused", "RFC7644-3.7-06", "the method GET", must, 1,
		func(t *T) doc { return doc{"method": "GET", "path": "/Users/" + t.AbsentID()} }),
	malformedBulk("no-method", "An operation without a method is refused", "RFC7644-3.7-06", "no method", must, 1, func(t *T) doc {
		return doc{"path": "/Users/" + t.AbsentID()}
	}),
	malformedBulk("no-path", "An operation without a path is refused", "RFC7644-3.7-10", "no path", must, 1, func(*T) doc {
		return doc{"method": "DELETE"}
	}),
	malformedBulk("no-data", "A PUT without data is refused", "RFC7644-3.7-11", "no data", must, 1, func(t *T) doc {
		return doc{"method": "PUT", "path": "/Users/" + t.AbsentID()}
	}),
	malformedBulk("no-bulk-id", "A POST without a bulkId is refused", "RFC7644-3.7-07", "no bulkId", must, 1, func(t *T) doc {
		op := posting(t, "nameless", nil)
		delete(op, "bulkId")
		return op
	}),
	malformedBulk("unknown-path", "An operation on an endpoint that does not exist is refused", "RFC7644-3.7-27", "an unknown endpoint", must,
		1,
		func(t *T) doc {
			return doc{"method": "POST", "path": "/ScimconfNothing", "bulkId": "x", "data": t.User("lost", nil)}
		}),
	malformedBulk("absolute-path", "A path that is an absolute URL is refused", "RFC7644-3.7-10", "an absolute URL as path", must, 1,
		func(t *T) doc {
			return doc{"method": "DELETE", "path": "https://scimconf.example.com/Users/" + t.AbsentID()}
		}),
	{
		ID:           "bulk.same-bulk-id",
		Title:        "Of two operations with one bulkId at least one is refused",
		Requirements: reqs("RFC7644-3.7-08"),
		Level:        may,
		Needs:        bulkUsers,
		Requests:     2,
		Why:          "The results cannot be told apart, and references do not know whom they mean.",
		Fix:          "Refuse the second operation, or the job.",
		Run: func(ctx context.Context, t *T) {
			second := posting(t, "second", nil)
			second["bulkId"] = "first"
			isRefused(t, job(ctx, t, posting(t, "first", nil), second), "a bulkId that another one has")
		},
	},
}

// isRefused expects that a job with a malformed operation is refused, or that the operation is.
func isRefused(t *T, res *conformance.Response, what string) {
	if res.Status != 200 {
		t.Holds(res.Status >= 400 && res.Status < 500, "status of a job with "+what, "400, or 200 with a failed operation", res.Status)
		return
	}
	list := results(res)
	t.Must(len(list) > 0, "results of a job with "+what, "one that failed", len(list))
	last := code(list[len(list)-1])
	t.Holds(last >= 400 && last < 500, "status of the operation with "+what, "400", last)
}

// malformedBulk is a check of an operation that has to be refused.
func malformedBulk(id, title, requirement, what string, level conformance.Level, requests int, op func(t *T) doc) check {
	return check{
		ID:           "bulk." + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        level,
		Needs:        bulkUsers,
		Requests:     requests,
		Why:          "A job that is half understood does something that nobody asked for.",
		Fix:          "Check the shape of every operation; answer 400 for it, or for the whole job.",
		Run:          func(ctx context.Context, t *T) { isRefused(t, job(ctx, t, op(t)), what) },
	}
}
