package docstore

import (
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/internal/sqldb"
)

var (
	// ErrNotFound says that there is no document with this id.
	ErrNotFound error = notFound{}
	// ErrConflict says that the document has another revision than the caller expects.
	ErrConflict = errors.New("revision conflict")
	// ErrBadCursor says that a cursor was not made by this query. What the client sent is at fault.
	ErrBadCursor error = badCursor{}
	// ErrBadID says that an id to insert is empty, longer than MaxIDLength, not valid UTF-8, or contains a NUL byte.
	ErrBadID = errors.New("invalid document id")
	// ErrUnique is what *UniqueError matches with errors.Is. It is sqldb.ErrUnique.
	ErrUnique = sqldb.ErrUnique
)

// Errors describe themselves by a method, so that the HTTP layer maps them without an import of this package.
type (
	notFound  struct{}
	badCursor struct{}
)

func (notFound) Error() string   { return "not found" }
func (notFound) NotFound()       {}
func (badCursor) Error() string  { return "cursor does not belong to this query" }
func (badCursor) InvalidCursor() {}

// UniqueError says that another document of the collection has the same value in a unique index.
type UniqueError struct {
	Collection string
	Index      string // the index's name; "id" when the id is taken
	err        error
}

// UniqueIndex returns the name of the index.
func (e *UniqueError) UniqueIndex() string { return e.Index }

// Error names the collection and the index, and no value.
func (e *UniqueError) Error() string {
	return fmt.Sprintf("%s: another document has the same %s", e.Collection, e.Index)
}

// Is makes errors.Is(err, ErrUnique) true.
func (e *UniqueError) Is(target error) bool { return target == ErrUnique }

// Unwrap returns the database's error.
func (e *UniqueError) Unwrap() error { return e.err }
