package provision_test

import (
	"fmt"
	"testing"

	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// BenchmarkProvisionRoundTrip creates one user: mark, lookup, create, stored result. Commits wait for the disk.
func BenchmarkProvisionRoundTrip(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		w := newWorld(b, db, provision.Options{})
		w.fake.Unique = false // a check of uniqueness would scan all users
		n := 0
		for b.Loop() {
			n++
			id := fmt.Sprint("u-", n)
			w.set(id, user(id, id))
			w.wait()
		}
	}, sqldbtest.Durable)
}
