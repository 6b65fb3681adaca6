package sandbox_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/mgmtapi/mgmtapitest"
)

// assignedMembers is the number of users in the group that BenchmarkAssignLargeGroup assigns.
const assignedMembers = 10_000

// BenchmarkAssignLargeGroup assigns a group of 10,000 users to an application with provisioning. It measures the time from the request to
// the response (at most 1s) and until the engine has a row for every member (at most 10s). Concurrently, the engine starts to create the
// first users on a SCIM server with a separate database.
func BenchmarkAssignLargeGroup(b *testing.B) {
	databaseURL := "sqlite:" + filepath.Join(b.TempDir(), "sandbox.db")
	first, err := sandbox.Start(b.Context(), sandbox.Options{Listen: "127.0.0.1:0", DB: databaseURL, Empty: true})
	require.NoError(b, err)
	require.NoError(b, first.Close(context.WithoutCancel(b.Context())))
	everyone := fillEveryone(b, databaseURL, assignedMembers-1) // the administrator is also a member

	_, api := startSandbox(b, sandbox.Options{DB: databaseURL, Empty: true})
	base, token := newSCIMServer(b)
	var answered, seen float64
	for b.Loop() {
		b.StopTimer()
		app := newApp(b, api, base, token)
		b.StartTimer()
		started := time.Now()
		do(b, api, http.MethodPut, "/api/v1/apps/"+app+"/groups/"+everyone, "{}", nil)
		answered = max(answered, time.Since(started).Seconds())
		for rows := 0; rows < assignedMembers; {
			var at struct{ Counts map[string]int }
			do(b, api, http.MethodGet, "/sandbox/v1/engine/apps/"+app, "", &at)
			rows = 0
			for _, n := range at.Counts {
				rows += n
			}
			require.Less(b, time.Since(started), patience, "the engine has %d rows", rows)
		}
		seen = max(seen, time.Since(started).Seconds())
		b.StopTimer()
		do(b, api, http.MethodPost, "/api/v1/apps/"+app+"/lifecycle/deactivate", "", nil)
		do(b, api, http.MethodDelete, "/api/v1/apps/"+app, "", nil)
		b.StartTimer()
	}
	b.ReportMetric(0, "ns/op") // not meaningful here
	b.ReportMetric(answered, "s/answer")
	b.ReportMetric(seen, "s/seen")
}

// fillEveryone adds active users to the database of a sandbox that is not running, and returns their group.
func fillEveryone(b *testing.B, databaseURL string, n int) (group string) {
	b.Helper()
	db, err := sqlopen.Open(b.Context(), databaseURL, sqlopen.Options{})
	require.NoError(b, err)
	defer db.Close()
	return mgmtapitest.Open(b, sandbox.ManagementOptions(db)).AddUsers(n)
}
