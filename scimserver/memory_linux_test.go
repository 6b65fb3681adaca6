package scimserver_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// resident returns a value of /proc/self/status in bytes.
func resident(t testing.TB, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			var kib int64
			_, err := fmt.Sscan(rest, &kib)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatalf("no %s in /proc/self/status", name)
	return 0
}

// TestMemory_LargeResources lists resources that earlier versions stored without a limit, with three clients. Each list of all of them
// would be 168 MB long.
func TestMemory_LargeResources(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector multiplies the memory of a process")
	}
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { testLargeResources(t, storeOn(t, db)) })
}

func testLargeResources(t *testing.T, store scimserver.Store) {
	const users, size, clients, most = 24, 7 << 20, 3, 64 << 20
	fill(t, store, users, size)
	h := serve(t, store)
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as in the command serve scim; TestMain sets another value
	debug.FreeOSMemory()
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("the maximum of the resident memory cannot be reset")
	}
	before := resident(t, "VmRSS")
	var all errgroup.Group
	for range clients {
		all.Go(func() error {
			if _, text, err := h.discard("/Users?count=100"); err != nil || !strings.Contains(text, string(scim.TooMany)) {
				return fmt.Errorf("list by startIndex: %.200s: %w", text, err)
			}
			seen, cursor := 0, ""
			for range users {
				n, text, err := h.discard("/Users?count=100&cursor=" + cursor)
				if err != nil {
					return err
				}
				seen += int(n / size)
				_, rest, ok := strings.Cut(text, `"nextCursor":"`)
				if cursor, _, _ = strings.Cut(rest, `"`); !ok {
					break
				}
			}
			if seen != users {
				return fmt.Errorf("%d of %d users", seen, users)
			}
			for i := range 4 {
				if n, _, err := h.discard("/Users/" + grownUser(i).ID); err != nil || n < size {
					return fmt.Errorf("%d bytes: %w", n, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	after := resident(t, "VmHWM")
	t.Logf("%d MiB more than the %d MiB before", (after-before)>>20, before>>20)
	require.LessOrEqual(t, after-before, int64(most))
}

// discard sends a GET and returns the length of the response and its last bytes, without storing it.
func (h *harness) discard(path string) (n int64, end string, err error) {
	req, err := http.NewRequest(http.MethodGet, h.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := h.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	tail := &tailWriter{}
	n, err = io.CopyBuffer(tail, resp.Body, make([]byte, 32<<10))
	return n, string(tail.last), err
}

// tailWriter stores the last bytes that are written.
type tailWriter struct{ last []byte }

func (w *tailWriter) Write(p []byte) (int, error) {
	const kept = 4 << 10
	w.last = append(w.last, p[max(0, len(p)-kept):]...)
	w.last = append(w.last[:0], w.last[max(0, len(w.last)-kept):]...)
	return len(p), nil
}
