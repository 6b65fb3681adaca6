package scimserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// Record is a resource as stored in a [Store].
//
// The Resource contains the attributes that clients may write, cleaned by the schema, with "schemas" first. It never contains "id" and
// "meta", which the server builds from the other fields of the Record. It never contains "password", the "members" of a group or the
// "groups" of a user either, which are stored separately. The server and the store share a Record: neither of them may modify a Record
// after passing the Record to the other.
type Record struct {
	Type    string // name of the resource type: "User", "Group", ...
	ID      string
	Version int64 // increases with every change of this resource
	// Order is the position in the order of creation: positive, unique within a type, and never reused.
	Order        int64
	Created      time.Time
	LastModified time.Time
	Resource     *scim.Resource
	// Display is the name of this resource in other resources: the "display" of a member of a group, or of a group of a user.
	Display string
	// PasswordHash is empty or a hash that this package created. It is never a password.
	PasswordHash string
	// Groups is the result of MemberOf for this resource, if the store has read it together with the resource, so that the server need not
	// call MemberOf. Nil means that the store has not read it; an empty slice means that the resource is in no group. Stores ignore Groups in
	// records that the server passes to them.
	Groups []Membership
	// Previous is the record on which a change is based, in a record that the server passes to Replace: a record that the store has returned,
	// with the same Version. The store then need not read the previous state again. Nil in all other records, and if the caller of Replace
	// does not have it.
	Previous *Record
	// JSON is the JSON text of Resource, as [scim.Object.AppendJSON] writes it, in records that Create and Replace return, if the store has
	// encoded it. The server then need not encode it again. Stores ignore JSON in records that the server passes to
	// them.
	JSON []byte
}

// Member is one direct member of a group.
type Member struct {
	ID      string
	Type    string // name of the member's resource type
	Display string // the current Record.Display of the member
}

// Membership is one group that a resource is a direct member of.
type Membership struct {
	Group   string
	Display string // the group's Record.Display
}

// MemberChange is a set of members to add to a group and to remove from it.
type MemberChange struct {
	Add, Remove []string
}

// Empty reports whether the change adds and removes no members.
func (c MemberChange) Empty() bool { return len(c.Add) == 0 && len(c.Remove) == 0 }

// Store stores resources and the membership relation. The tests in scimserver/storetest check this contract.
//
// All methods may be called concurrently. Each change is atomic. When the method returns nil, the change is durable, and visible to every
// call that starts afterwards. If a method returns an error, it has changed nothing. Ids are unique over all types of a store.
//
// A userName is unique among users, ignoring case and Unicode spelling (as filter.Fold folds). A store may enforce uniqueness for further
// attributes that their schema declares unique.
type Store interface {
	// Get returns one resource, or [ErrNotFound] if no resource of that type has the id.
	Get(ctx context.Context, typ, id string) (*Record, error)

	// Scan yields the resources of a type whose Order is greater than after, by increasing Order: all resources that match the filter, and
	// possibly others. The caller evaluates the filter on each resource; a store may use the filter to read fewer resources. A nil filter
	// matches every resource. A resource that is created or deleted during the scan may or may not be yielded; all others are yielded exactly
	// once. After yielding an error, the scan stops.
	Scan(ctx context.Context, typ string, f filter.Expr, after int64) iter.Seq2[*Record, error]

	// Create stores a new resource with its first members and returns the stored record, in which Version, Order, Created and LastModified are
	// set; Created equals LastModified. It fails with a [*UniqueError], or with an [*UnknownMemberError] if a member does not exist.
	Create(ctx context.Context, rec *Record, members []string) (*Record, error)

	// Replace stores a new state of the resource and the change of its members. It returns the stored record with a greater Version, a new
	// LastModified and the previous Created. rec.Version is the version that the caller has read: if the stored version differs, Replace fails
	// with [ErrConflict]. Other errors are [ErrNotFound], [*UniqueError] and [*UnknownMemberError]. Adding an existing member and removing a
	// resource that is not a member are not errors. The cost does not depend on the number of unchanged members.
	Replace(ctx context.Context, rec *Record, change MemberChange) (*Record, error)

	// Delete removes the resource and its own members, and removes the resource from the groups that it is a direct member of. Delete
	// increases the Version of those groups, like every change of their members. If version is neither zero nor the stored version, Delete
	// fails with [ErrConflict]. If the resource does not exist, it fails with [ErrNotFound].
	Delete(ctx context.Context, typ, id string, version int64) error

	// Members returns the direct members of a group in the order in which they were added. If only is not nil, Members returns only members
	// whose ids are in only. An unknown group has no members. If the group changes during the call, the result may mix the members before and
	// after the change; the caller detects such a mixture by comparing the group's Version before and after the call.
	Members(ctx context.Context, group string, only []string) ([]Member, error)

	// MemberOf returns, by resource id, the groups that each of the resources is a direct member of, in a stable order. The map omits
	// resources without groups.
	MemberOf(ctx context.Context, ids []string) (map[string][]Membership, error)
}

// NewRecord is a resource to be created, with its first members.
type NewRecord struct {
	*Record
	Members []string
}

// Batcher is implemented by stores that can create several resources in one step. The server uses it for operations of a bulk request that
// refer to each other in a cycle. If the store is not a Batcher, the server creates the resources without their references to each other
// and adds these references afterwards, so other clients can see the incomplete resources.
type Batcher interface {
	// CreateAll is Store.Create for several resources. It creates all of them or none, and no concurrent call sees only a part of them. A
	// resource may have other resources of the same call as members. If one of the resources causes an error, the error is a [*BatchError]
	// that wraps the error of Create.
	CreateAll(ctx context.Context, all []NewRecord) ([]*Record, error)
}

// IDAssigner is implemented by stores that can assign the ids of new resources. Store.Create must return the record with the assigned ID.
type IDAssigner interface {
	// AssignsIDs reports whether the server may omit Record.ID in a call of Store.Create, except for a call of Batcher. The store then assigns
	// an id. If AssignsIDs returns false, and for a store that is not an IDAssigner, the server assigns a UUID. A store that assigns ids also
	// accepts records with an ID.
	AssignsIDs() bool
}

// BatchError reports which resource of a batch cannot be created.
type BatchError struct {
	Index int
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("scimserver: resource %d of the batch: %v", e.Index, e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// Selector is implemented by stores that can evaluate queries with an index. If the store is not a Selector, or if Select returns false,
// the server calls Scan.
type Selector interface {
	// Select returns one page of the resources that match the filter, and the number of all matching resources. It returns false, without
	// reading resources, if its indexes cannot evaluate the filter exactly or do not have the requested order. A nil filter matches every
	// resource.
	Select(ctx context.Context, q Query) (Selection, bool, error)
}

// Query is a request for one page of a type's resources.
type Query struct {
	Type   string
	Filter filter.Expr
	// SortBy is the attribute to sort by, in canonical spelling. Resources with equal values are in the order of creation, and resources
	// without a value are last. The zero path means the order of creation.
	SortBy scim.AttrPath
	// Reverse reverses the whole order: resources without a value are first, and resources with equal values are in the reverse order of
	// creation.
	Reverse bool
	// After is the position after which the page starts, in the requested order. The resource at that position may have been deleted. Nil
	// means the start of the order.
	After  *Position
	Offset int // number of matching resources to skip, counted from After
	Limit  int // maximum number of resources to return; 0 requests only the total
	// Groups reports that the server will use Record.Groups, so that the store can read them together with the resources.
	Groups bool
}

// Position is a position in the order of a [Query].
type Position struct {
	// Key is the value to sort by. It is nil for resources without a value and if SortBy is zero. A string is folded by filter.Fold, or by
	// filter.Exact if the attribute is caseExact; a dateTime has the layout [SortTime]; a boolean is "0" or "1"; a number has its JSON form. A
	// string of [MaxSortKey] bytes or more is truncated and ends with a digest.
	Key   *string
	Order int64 // the Order of the Record
}

// SortTime is the layout of dateTimes, in UTC, in a [Position]. The string order of this layout is the order of time.
const SortTime = "2006-01-02T15:04:05.000000000"

// MaxSortKey is the minimum length in bytes of a string that is truncated in a [Position].
const MaxSortKey = 640

// Selection is the result of a [Query].
type Selection struct {
	Records []*Record
	Total   int // number of all matches, independent of the page; not counted if Query.After is set
}

var (
	// ErrNotFound is returned for a resource that does not exist.
	ErrNotFound = errors.New("scimserver: resource not found")
	// ErrConflict is returned if the version of a resource differs from the one that the caller has read.
	ErrConflict = errors.New("scimserver: the version of the resource has changed")
)

// UniqueError reports that another resource has the value of a unique attribute.
type UniqueError struct {
	Attribute string // name of the attribute as in the schema, with the URN if it belongs to an extension
}

func (e *UniqueError) Error() string {
	return fmt.Sprintf("scimserver: another resource has the same %s", e.Attribute)
}

// UnknownMemberError reports that resources to be added to a group do not exist.
type UnknownMemberError struct {
	IDs []string
}

func (e *UnknownMemberError) Error() string {
	return "scimserver: members not found: " + strings.Join(e.IDs, ", ")
}
