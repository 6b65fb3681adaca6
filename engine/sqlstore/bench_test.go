package sqlstore_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

var million = flag.Bool("sqlstore.million", false, "mark 1,000,000 users instead of 50,000")

const (
	markChunk  = 1000   // principals in one call of Mark
	markCommit = 50_000 // principals in one transaction
)

// BenchmarkMarkEverybody marks new users of one app with Mark, then all of them again with MarkAll. Commits wait for the disk. peak-MB is
// the peak memory of the process: run the benchmark alone.
func BenchmarkMarkEverybody(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		store, err := enginestore.Open(b.Context(), db, sqlstore.Options{})
		require.NoError(b, err)
		app, users := 0, markCommit
		if *million {
			users = 1_000_000
		}
		var marking, again time.Duration
		for b.Loop() {
			app++
			name := fmt.Sprint("app-", app)
			start := time.Now()
			for from := 0; from < users; from += markCommit {
				require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
					for chunk := from; chunk < from+markCommit; chunk += markChunk {
						marks := make([]engine.Mark, markChunk)
						for i := range marks {
							marks[i] = engine.Mark{App: name, Kind: engine.User, ID: fmt.Sprintf("%08x-%07d", uint32(chunk+i)*2654435761, chunk+i)}
						}
						if err := store.Mark(b.Context(), tx.Execer(), start, marks); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			marking += time.Since(start)
			start = time.Now()
			require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
				n, err := store.MarkAll(b.Context(), tx.Execer(), start, engine.MarkAll{App: name})
				require.EqualValues(b, users, n)
				return err
			}))
			again += time.Since(start)
		}
		b.ReportMetric(marking.Seconds()/float64(b.N), "s/mark")
		b.ReportMetric(again.Seconds()/float64(b.N), "s/mark-all")
		b.ReportMetric(peak(), "peak-MB")
	}, sqldbtest.Durable)
}

// peak returns the peak memory of this process in MB (10^6 bytes), or 0 if it is unavailable.
func peak() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kib) * 1024 / 1e6
		}
	}
	return 0
}
