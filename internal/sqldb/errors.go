package sqldb

import (
	"errors"
	"reflect"
	"strings"
)

var (
	// ErrUnique is what every violation of a unique constraint matches with errors.Is. See UniqueError for the details.
	ErrUnique = errors.New("unique constraint violated")
	// ErrClosed is returned by a DB after Close.
	ErrClosed = errors.New("database is closed")
)

// UniqueError is a violation of a unique constraint.
type UniqueError struct {
	// Constraint tells which one. PostgreSQL gives the name of the constraint or index; SQLite gives the columns as
	// "table.column", separated by ", ", and the name only for indexes on expressions. Empty when the driver does not tell.
	Constraint string
	err        error
}

// Error says which constraint was violated.
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

// IsUnique says whether err is, or wraps, a unique violation. It also knows the drivers' own errors, as they come out of
// Rows.Err and Row.Scan.
func IsUnique(err error) bool { return errors.Is(classify(err), ErrUnique) }

// SQLSTATE codes of PostgreSQL, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	stateUniqueViolation      = "23505"
	stateSerializationFailure = "40001"
	stateDeadlockDetected     = "40P01"
)

// SQLite's texts for a unique violation; the drivers pass sqlite3_errmsg through.
const (
	sqliteUniquePrefix = "UNIQUE constraint failed: "
	sqliteIndexPrefix  = "index '"
)

// classify turns a driver's unique violation into a *UniqueError and returns every other error as it is.
func classify(err error) error {
	if err == nil || errors.Is(err, ErrUnique) {
		return err
	}
	if state, cause := sqlState(err); state != "" {
		if state == stateUniqueViolation {
			return &UniqueError{Constraint: constraintName(cause), err: err}
		}
		return err
	}
	if _, columns, ok := strings.Cut(err.Error(), sqliteUniquePrefix); ok {
		if name, ok := strings.CutPrefix(columns, sqliteIndexPrefix); ok {
			columns = strings.TrimSuffix(name, "'")
		}
		return &UniqueError{Constraint: columns, err: err}
	}
	return err
}

// sqlState finds the error in err's chain that carries a SQLSTATE, as the errors of PostgreSQL drivers do.
func sqlState(err error) (string, error) {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState(), e
	}
	return "", nil
}

// constraintName reads the field that the PostgreSQL drivers keep the constraint's name in (pgx: ConstraintName, pq:
// Constraint). Reflection spares this package an import of either; the message is no source, the server translates it.
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

// retryable says whether PostgreSQL asks for the same transaction again.
func retryable(err error) bool {
	state, _ := sqlState(err)
	return state == stateSerializationFailure || state == stateDeadlockDetected
}
