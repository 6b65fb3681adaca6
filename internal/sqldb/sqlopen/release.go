package sqlopen

import "github.com/scimwright/scimwright/internal/sqldb"

// ReleaseMemory calls ReleaseMemory of a database, and returns unused memory of the C library to the system.
func ReleaseMemory(db *sqldb.DB) error {
	err := db.ReleaseMemory()
	trim()
	return err
}
