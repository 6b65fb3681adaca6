package sqldb

import (
	"errors"
	"reflect"
	"strings"
)

var (
	// ErrUnique matches every violation of a unique constraint with errors.Is. See UniqueError for the details.
	ErrUnique = errors.New("unique constraint violated")
	// ErrClosed is returned by a DB after Close.
	ErrClosed = errors.New("database is closed")
)

// UniqueError is a violation of a unique constraint.
type UniqueError struct {
	// Constraint identifies the constraint. On PostgreSQL it is the name of the constraint or index. On SQLite it is the columns as
	// "table.column", separated by ", ", or the name for indexes on expressions. It is empty if the driver does not report the constraint.
	Constraint string
	err        error
}

// Error returns a message with the constraint that was violated.
func (e *UniqueError) Error() string {
	if e.Constraint == "" {
		return ErrUnique.Error()
	}
	return ErrUnique.Error() + ": " + e.Constraint
}

// Is makes errors.Is(err, ErrUnique) true.
func (e *UniqueError) Is(target error) bool { return target == ErrUnique }

// Unwrap returns the driver's error.
func (e *UniqueError) Unwrap() error { return e.err }

// IsUnique reports whether err is, or wraps, a unique violation. It also recognizes the drivers' own errors, as Rows.Err and Row.Scan
// return them.
func IsUnique(err error) bool { return errors.Is(classify(err), ErrUnique) }

// SQLSTATE codes of PostgreSQL, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	stateUniqueViolation      = "23505"
	stateSerializationFailure = "40001"
	stateDeadlockDetected     = "40P01"
)

// SQLite's messages for a unique violation; the drivers pass sqlite3_errmsg through.
const (
	sqliteUniquePrefix = "UNIQUE constraint failed: "
	sqliteIndexPrefix  = "index '"
)

// classify converts a driver's unique violation to a *UniqueError, wraps the errors of ErrSessions, and returns every other error
// unchanged.
func classify(err error) error {
	if err == nil || errors.Is(err, ErrUnique) || errors.Is(err, ErrSessions) {
		return err
	}
	if state, cause := sqlState(err); state != "" {
		if state == stateUniqueViolation {
			return &UniqueError{Constraint: constraintName(cause), err: err}
		}
		return sessions(err)
	}
	if _, columns, ok := strings.Cut(err.Error(), sqliteUniquePrefix); ok {
		if name, ok := strings.CutPrefix(columns, sqliteIndexPrefix); ok {
			columns = strings.TrimSuffix(name, "'")
		}
		return &UniqueError{Constraint: columns, err: err}
	}
	return err
}

// sqlState returns the SQLSTATE in err's chain, which errors of PostgreSQL drivers carry, and the error that carries it.
func sqlState(err error) (string, error) {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState(), e
	}
	return "", nil
}

// constraintName reads the field in which the PostgreSQL drivers store the constraint's name (pgx: ConstraintName, pq: Constraint).
// Reflection avoids an import of either driver. The message is unsuitable, because the server translates it.
func constraintName(err error) string {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return ""
	}
	for _, name := range []string{"ConstraintName", "Constraint"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

// retryable reports whether PostgreSQL requests that the same transaction is repeated.
func retryable(err error) bool {
	state, _ := sqlState(err)
	return state == stateSerializationFailure || state == stateDeadlockDetected
}
