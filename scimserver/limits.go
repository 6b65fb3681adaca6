package scimserver

import (
	"cmp"

	"github.com/scimwright/scimwright/scim/filter"
)

// Limits limits the cost of one request. Zero fields have their defaults.
type Limits struct {
	MaxBody     int64 // bytes of a request body, else 413. Default: 8 MiB
	MaxFilter   int   // bytes of a filter, else 400. Default and maximum: filter.MaxLength
	MaxPage     int   // resources per page; advertised as filter.maxResults. Default: 1000
	DefaultPage int   // resources per page if the request has no count. Default: 100
	// MaxResults is the maximum number of resources on all pages of a query. A query that matches more resources fails with 400 tooMany. Zero
	// means no limit.
	MaxResults int
	// MaxSortStart is the maximum startIndex for an order for which the store has no index, else 400 tooMany. For such an order, the server
	// keeps all previous positions in memory. Cursors have no such limit. Default: 100,000.
	MaxSortStart int
	// MaxResponse is the maximum number of bytes of the resources in a list. A page by startIndex that is larger fails with 400 tooMany,
	// because a client that adds its count to startIndex would miss resources of a shorter page. A page by cursor ends early; it contains at
	// least one resource. Default: 16 MiB.
	MaxResponse        int64
	MaxPatchOperations int // operations per PATCH, else 413. Default: 1000
	MaxBulkOperations  int // operations per bulk request, else 413; advertised as bulk.maxOperations. Default: 1000
	// MaxBulkPayload is the maximum number of bytes of a bulk request, else 413; advertised as bulk.maxPayloadSize. Default and maximum:
	// MaxBody.
	MaxBulkPayload int64
}

func (l Limits) withDefaults() Limits {
	l.MaxBody = cmp.Or(l.MaxBody, 8<<20)
	l.MaxFilter = min(cmp.Or(l.MaxFilter, filter.MaxLength), filter.MaxLength)
	l.MaxPage = cmp.Or(l.MaxPage, 1000)
	l.DefaultPage = min(cmp.Or(l.DefaultPage, 100), l.MaxPage)
	l.MaxSortStart = cmp.Or(l.MaxSortStart, 100_000)
	l.MaxResponse = cmp.Or(l.MaxResponse, 16<<20)
	l.MaxPatchOperations = cmp.Or(l.MaxPatchOperations, 1000)
	l.MaxBulkOperations = cmp.Or(l.MaxBulkOperations, 1000)
	l.MaxBulkPayload = min(cmp.Or(l.MaxBulkPayload, l.MaxBody), l.MaxBody)
	return l
}
