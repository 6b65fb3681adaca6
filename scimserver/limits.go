package scimserver

import (
	"cmp"
	"time"

	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/patch"
)

// Limits limits the cost of one request. Zero fields have their defaults.
type Limits struct {
	MaxBody   int64 // bytes of a request body, else 413. Default: 8 MiB
	MaxFilter int   // bytes of a filter, else 400. Default and maximum: filter.MaxLength
	// MaxFilterTerms is the maximum number of comparisons in a filter, else 400 invalidFilter. Default: 256.
	MaxFilterTerms int
	// MaxFilterWork is the maximum number of values that a query compares with its filter, else 400 tooMany. Queries that an index evaluates
	// compare none. A string counts once per 256 bytes. Default: 20,000,000, which are 20 comparisons with each of a million resources.
	MaxFilterWork int
	MaxPage       int // resources per page; advertised as filter.maxResults. Default: 1000
	DefaultPage   int // resources per page if the request has no count. Default: 100
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
	// MaxPatchWork is the maximum number of values that the operations of a PATCH read or compare, else 413. For example, each operation on an
	// attribute with 500 elements counts at least 500. See patch.Options. Default: 1,000,000.
	MaxPatchWork      int
	MaxBulkOperations int // operations per bulk request, else 413; advertised as bulk.maxOperations. Default: 1000
	// MaxBulkPayload is the maximum number of bytes of a bulk request, else 413; advertised as bulk.maxPayloadSize. Default and maximum:
	// MaxBody.
	MaxBulkPayload int64

	// MaxValue is the maximum length of a string in a resource in bytes, else 400 invalidValue. Default: 512 KiB.
	MaxValue int
	// MaxElements is the maximum number of elements of a multi-valued attribute other than the members of a group, else 400 invalidValue.
	// Default: 5000.
	MaxElements int
	// MaxResource is the maximum size of a resource in bytes of JSON, without the members of a group, else 413. Default: 1 MiB.
	//
	// A resource that exceeds one of these three limits, because it was stored with other limits, can be read and deleted, and changed if the
	// change does not enlarge what exceeds the limit.
	MaxResource int
	// MaxMemory is the maximum memory in bytes that the bodies of all requests in progress use together, with their decoded values. A request
	// that exceeds it waits for up to a second, and then fails with 429 and Retry-After. A single body that exceeds it fails with 413.
	// Default: 128 MiB. See also Options.Memory.
	MaxMemory int64
	// MaxTurnTime is the processor time per second that lists, groups, large resources, bulk requests and long PATCH requests may take while
	// other servers of the process have requests, so that these are not delayed. Beyond it, such requests wait. Default: that of half of the
	// processors less 900 ms, so 100 ms with two processors.
	MaxTurnTime time.Duration
}

func (l Limits) withDefaults() Limits {
	l.MaxBody = cmp.Or(l.MaxBody, 8<<20)
	l.MaxFilter = min(cmp.Or(l.MaxFilter, filter.MaxLength), filter.MaxLength)
	l.MaxFilterTerms = cmp.Or(l.MaxFilterTerms, 256)
	l.MaxFilterWork = cmp.Or(l.MaxFilterWork, 20_000_000)
	l.MaxPage = cmp.Or(l.MaxPage, 1000)
	l.DefaultPage = min(cmp.Or(l.DefaultPage, 100), l.MaxPage)
	l.MaxSortStart = cmp.Or(l.MaxSortStart, 100_000)
	l.MaxResponse = cmp.Or(l.MaxResponse, 16<<20)
	l.MaxPatchOperations = cmp.Or(l.MaxPatchOperations, 1000)
	l.MaxPatchWork = cmp.Or(l.MaxPatchWork, patch.DefaultMaxWork)
	l.MaxBulkOperations = cmp.Or(l.MaxBulkOperations, 1000)
	l.MaxBulkPayload = min(cmp.Or(l.MaxBulkPayload, l.MaxBody), l.MaxBody)
	l.MaxValue = cmp.Or(l.MaxValue, 512<<10)
	l.MaxElements = cmp.Or(l.MaxElements, 5000)
	l.MaxResource = cmp.Or(l.MaxResource, 1<<20)
	l.MaxMemory = cmp.Or(l.MaxMemory, 128<<20)
	l.MaxTurnTime = cmp.Or(l.MaxTurnTime, defaultTurnTime())
	return l
}
