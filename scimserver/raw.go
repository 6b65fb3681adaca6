package scimserver

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/scim/filter"
)

// Raw is a resource that is not decoded.
type Raw struct {
	ID                    string
	Version, Order        int64
	Created, LastModified time.Time
	// JSON is the JSON text of Record.Resource, as [scim.Object.AppendJSON] writes it. It is nil if it is longer than the caller permits.
	JSON []byte
	// Reusable is true if the caller may pass the memory of JSON as the next buffer.
	Reusable bool
	// Size is the approximate length of the text in bytes, also if it was not read.
	Size int64
	// Groups is Record.Groups.
	Groups []Membership
}

// RawOptions are what to read of a resource.
type RawOptions struct {
	// Groups reports that the server will use Raw.Groups.
	Groups bool
	// Longest is the length in bytes of the longest text to read. Zero means no limit.
	Longest int
}

// RawQuery is a [Query] for resources that are not decoded.
type RawQuery struct {
	Query
	RawOptions
	// Room is the number of bytes after which the page ends early. The page contains one resource at least.
	Room int
	// Resume is the RawSelection.Resume of the previous part of a page. If Resume is set, the other fields have the same values as in the
	// query for the previous part. Exception: Limit is the number of resources that the page still lacks. After and Offset have no effect.
	Resume string
}

// RawSelection is the result of a [RawQuery].
type RawSelection struct {
	Resources []Raw
	Total     int // as in Selection; not counted if Resume or After is set
	// More reports whether further resources follow in the requested order, whether or not they are on the page.
	More bool
	// Resume is the position at which the next part of the page starts. It is empty unless the page ended early because of Room.
	Resume string
	// Buffer is the memory of the texts. The caller may reuse the memory when the texts are no longer needed.
	Buffer []byte
}

// RawReader is implemented by stores that have the JSON text of resources. The server then sends that text to clients, with what it
// derives, and decodes only what it must. A RawReader returns the same resources as Get, Select and Members.
//
// The methods hold no connection to a database after they return, so that a slow client does not occupy one.
type RawReader interface {
	Selector

	// GetRaw is Store.Get. It may append the text to buf, whose contents are not kept. If buf is nil, it may return memory that the caller
	// must not write; Raw.Reusable is then false.
	GetRaw(ctx context.Context, typ, id string, o RawOptions, buf []byte) (Raw, error)

	// SelectRaw is Selector.Select. It may append the texts to buf.
	SelectRaw(ctx context.Context, q RawQuery, buf []byte) (RawSelection, bool, error)

	// SizeRaw returns the sum of Raw.Size of a page, without reading the texts. It is called for queries that SelectRaw can evaluate.
	SizeRaw(ctx context.Context, q Query) (int64, error)

	// EachMember passes all members of a group to the function use, in the order of Store.Members. The function does not use the store. Its
	// error ends the reading and is returned.
	EachMember(ctx context.Context, group string, use func(*Member) error) error

	// ScanRaw is a part of Store.Scan: it examines resources by increasing Order, and passes at least those that match to the function use.
	// It returns the number of examined ones, with the Order of the last one; fewer than the limit means that no further ones follow. The
	// function does not use the store, and does not keep the text.
	ScanRaw(ctx context.Context, scan RawScan, use func(order int64, id string, text []byte) error) (n int, last int64, err error)
}

// RawScan selects the resources that RawReader.ScanRaw examines.
type RawScan struct {
	Type   string
	Filter filter.Expr // nil: all match
	After  int64       // the resources have a greater Order
	Limit  int         // maximum number of resources
	// Contains is a string in ASCII. A resource whose text is in ASCII matches only if the text contains the string, in any case of letters.
	// Empty: any text may match.
	Contains string
}
