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

// Record is a resource as a [Store] keeps it.
//
// The Resource holds what clients may write, cleaned by the schema, with "schemas" first. It never holds "id" and "meta",
// which are made from the other fields, nor "password", the "members" of a group and the "groups" of a user, which have
// their own places. A Record is shared: neither side changes one after handing it over.
type Record struct {
	Type    string // name of the resource type: "User", "Group", ...
	ID      string
	Version int64 // grows with every change of this resource
	// Order is the place in the order of creation: positive, another for each resource of a type, and never given again.
	Order        int64
	Created      time.Time
	LastModified time.Time
	Resource     *scim.Resource
	// Display is what others show for this resource: the "display" of a member and of a group.
	Display string
	// PasswordHash is empty or a hash as made by this package; it is never a password.
	PasswordHash string
	// Groups is what MemberOf tells of this resource, when the store has read that along with it: one answer then takes one
	// question less. Nil when it has not; empty, and not nil, for a resource that is in no group. Stores ignore it in what
	// they are given.
	Groups []Membership
}

// Member is one direct member of a group.
type Member struct {
	ID      string
	Type    string // name of the member's resource type
	Display string // the member's Record.Display now, not when it was added
}

// Membership is one group that a resource is a direct member of.
type Membership struct {
	Group   string
	Display string // the group's Record.Display
}

// MemberChange says which members join and leave a group.
type MemberChange struct {
	Add, Remove []string
}

// Empty says whether nobody joins or leaves.
func (c MemberChange) Empty() bool { return len(c.Add) == 0 && len(c.Remove) == 0 }

// Store keeps resources and the membership relation. The suite in scimserver/storetest checks this contract.
//
// Every method may be called by many goroutines at once. Each change is atomic and durable when the method returns nil,
// and is seen by every call that begins afterwards; when it returns an error, nothing has changed. Ids are unique over all
// types of a store.
//
// A userName is unique among users without regard to letter case and spelling in Unicode (as filter.Fold folds). A store may enforce
// uniqueness for further attributes that their schema declares unique.
type Store interface {
	// Get returns one resource, or [ErrNotFound] when no resource of that type has the id.
	Get(ctx context.Context, typ, id string) (*Record, error)

	// Scan yields the resources of a type whose Order is greater than after, by growing Order: every one that matches the
	// filter, and possibly others. The caller tests each one; a store uses the filter only as far as it helps to read less.
	// A nil filter matches everything. A resource that is created or deleted during the scan may or may not be seen; all
	// others are seen exactly once. After yielding an error the scan ends.
	Scan(ctx context.Context, typ string, f filter.Expr, after int64) iter.Seq2[*Record, error]

	// Create stores a new resource with its first members and returns it with Version, Order, Created and LastModified set,
	// the last two being equal. It fails with a [*UniqueError], or with a [*UnknownMemberError] when a member does not exist.
	Create(ctx context.Context, rec *Record, members []string) (*Record, error)

	// Replace stores a new state of the resource and the change of its members, and returns it with a greater Version, a
	// new LastModified and the Created it had. rec.Version is the version that the caller has seen: when the stored one is
	// another, Replace fails with [ErrConflict]. It fails with [ErrNotFound], [*UniqueError] and [*UnknownMemberError] too.
	// Adding who is a member already and removing who is none is no error. The cost does not depend on the number of
	// members that stay.
	Replace(ctx context.Context, rec *Record, change MemberChange) (*Record, error)

	// Delete removes the resource, takes it out of the groups it is a direct member of (which counts as a change of those
	// groups) and dissolves its own membership. A version other than zero must be the stored one, else [ErrConflict].
	// It fails with [ErrNotFound] when there is no such resource.
	Delete(ctx context.Context, typ, id string, version int64) error

	// Members returns the direct members of a group in the order in which they joined; when only is not nil, just those
	// of them that it names. An unknown group has no members. While the group changes the answer may mix its states; the
	// caller tells by the group's version.
	Members(ctx context.Context, group string, only []string) ([]Member, error)

	// MemberOf returns, by resource id, the groups that each of the resources is a direct member of, in a stable order.
	// Resources without groups are left out of the map.
	MemberOf(ctx context.Context, ids []string) (map[string][]Membership, error)
}

// NewRecord is a resource to be created, with its first members.
type NewRecord struct {
	*Record
	Members []string
}

// Batcher is implemented by stores that can create several resources in one step. The server uses it for operations of a bulk job
// that refer to each other in a circle. Without it, it creates these without what refers to those not yet there, and completes
// them then, which others can see.
type Batcher interface {
	// CreateAll is Store.Create for several resources: all are created or none is, and nobody sees some of them only. Their
	// members may be among them. When it fails for what one of them is, the error is a [*BatchError] around that of Create.
	CreateAll(ctx context.Context, all []NewRecord) ([]*Record, error)
}

// BatchError says which resource of a batch cannot be created.
type BatchError struct {
	Index int
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("scimserver: resource %d of the batch: %v", e.Index, e.Err)
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

// Selector is implemented by stores that can answer queries from an index. Without it, or when it declines, the server
// scans.
type Selector interface {
	// Select returns the page and the number of all resources that match the filter exactly. It returns false, and does
	// no work, when it cannot be exact or has no index for the order. A nil filter matches everything.
	Select(ctx context.Context, q Query) (Selection, bool, error)
}

// Query asks for one page of a type's resources.
type Query struct {
	Type   string
	Filter filter.Expr
	// SortBy is the attribute to sort by, in canonical spelling. Equal values come in the order of creation, resources
	// without a value after all others. The zero path is the order of creation.
	SortBy scim.AttrPath
	// Reverse turns the whole order around: resources without a value come first, later ones before earlier ones.
	Reverse bool
	// After is where the page begins: behind that position in the order asked for, whether or not a resource still stands
	// there. Nil is the beginning.
	After  *Position
	Offset int // matching resources to pass over, from After on
	Limit  int // most resources to return; 0 asks for the total only
	// Groups says that Record.Groups would be of use.
	Groups bool
}

// Position is a place in the order of a [Query].
type Position struct {
	// Key is the value to sort by, nil for resources without one and when SortBy is zero: text as made by filter.Fold, or by
	// filter.Exact where it is caseExact, a dateTime as [SortTime], a boolean as "0" or "1", a number as in JSON. Text of more than
	// [MaxSortKey] bytes is cut and ends with a digest.
	Key   *string
	Order int64 // as in Record
}

// SortTime is the layout of dateTimes, in UTC, in a [Position]: as text they sort by time.
const SortTime = "2006-01-02T15:04:05.000000000"

// MaxSortKey is the length in bytes from which on a text is cut in a [Position].
const MaxSortKey = 640

// Selection is the answer to a [Query].
type Selection struct {
	Records []*Record
	Total   int // all matches, wherever the page begins; not counted when Query.After is given
}

var (
	// ErrNotFound is returned for a resource that does not exist.
	ErrNotFound = errors.New("scimserver: no such resource")
	// ErrConflict is returned when a resource has another version than the caller has seen.
	ErrConflict = errors.New("scimserver: the resource has another version")
)

// UniqueError says that another resource has the value of a unique attribute.
type UniqueError struct {
	Attribute string // as in the schema; with its URN for extensions
}

func (e *UniqueError) Error() string {
	return fmt.Sprintf("scimserver: another resource has this %s", e.Attribute)
}

// UnknownMemberError says that resources which should join a group do not exist.
type UnknownMemberError struct {
	IDs []string
}

func (e *UnknownMemberError) Error() string {
	return "scimserver: no such resource to be a member: " + strings.Join(e.IDs, ", ")
}
