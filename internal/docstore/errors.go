package docstore

import (
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/internal/sqldb"
)

var (
	// ErrNotFound means that no document has this id.
	ErrNotFound error = notFound{}
	// ErrConflict means that the document has another revision than the caller expects.
	ErrConflict = errors.New("revision conflict")
	// ErrBadCursor means that a cursor was not created by this query: the client sent a wrong cursor.
	ErrBadCursor error = badCursor{}
	// ErrBadID means that an id to insert is empty, longer than MaxIDLength, not valid UTF-8, or contains a NUL byte.
	ErrBadID = errors.New("invalid document id")
	// ErrUnique matches *UniqueError with errors.Is. It is sqldb.ErrUnique.
	ErrUnique = sqldb.ErrUnique
)

// These errors describe themselves by a method, so that the HTTP layer can map them without an import of this package.
type (
	notFound  struct{}
	badCursor struct{}
)

func (notFound) Error() string   { return "not found" }
func (notFound) NotFound()       {}
func (badCursor) Error() string  { return "cursor does not belong to this query" }
func (badCursor) InvalidCursor() {}

// UniqueError means that another document of the collection has the same value in a unique index.
type UniqueError struct {
	Collection string
	Index      string // name of the index; "id" if the id is taken
	err        error
}

// UniqueIndex returns the name of the index.
func (e *UniqueError) UniqueIndex() string { return e.Index }

// Error returns a message with the collection and the index, but no value.
func (e *UniqueError) Error() string {
	return fmt.Sprintf("%s: another document has the same %s", e.Collection, e.Index)
}

// Is makes errors.Is(err, ErrUnique) true.
func (e *UniqueError) Is(target error) bool { return target == ErrUnique }

// Unwrap returns the database's error.
func (e *UniqueError) Unwrap() error { return e.err }
