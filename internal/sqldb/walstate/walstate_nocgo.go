//go:build !cgo

package walstate

import (
	"errors"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// Open returns an error: without cgo, the driver has no SQLite.
func Open(string) (rowcache.Source, error) {
	return nil, errors.New("walstate: the program was built without cgo")
}
