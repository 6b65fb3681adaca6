//go:build !cgo || lint

package sqlopen

import (
	"errors"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// OpenState returns an error: without cgo, the driver has no SQLite.
func OpenState(string) (rowcache.Source, error) {
	return nil, errors.New("sqlopen: the program was built without cgo")
}

const (
	bufferingVFS = "scimwright-wal"
	yieldingVFS  = "scimwright-read"
)

func registerVFS() error { return errors.New("sqlopen: the program was built without cgo") }
