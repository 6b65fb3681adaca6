package sandbox_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/scim"
)

var largeImport = flag.Bool("sandbox.import", false, "import 100,000 accounts too, which takes some minutes")

// BenchmarkImport imports accounts into scimwright sandbox, which runs as a separate process, until each account is a user. A target on
// loopback generates the pages. The metrics are the peak resident memory (in millions of bytes) before and during the import, as counted by
// the system, the memory per account, and the time.
func BenchmarkImport(b *testing.B) {
	sizes := []int{10_000}
	if *largeImport {
		sizes = append(sizes, 100_000)
	}
	for _, accounts := range sizes {
		b.Run(strconv.Itoa(accounts), func(b *testing.B) {
			for b.Loop() {
				benchmarkImport(b, accounts)
			}
			b.ReportMetric(0, "ns/op") // not meaningful here
		})
	}
}

func benchmarkImport(b *testing.B, accounts int) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { listGenerated(w, r, accounts) }))
	defer target.Close()
	c := startCommand(b, "sandbox", "--listen", "127.0.0.1:0", "--data", b.TempDir(), "--empty", "--no-rate-limits")
	defer c.kill()
	api := c.api()
	app := newApp(b, api, target.URL, scimToken)
	do(b, api, http.MethodPut, "/api/v1/apps/"+app+"/features/INBOUND_PROVISIONING", inboundOn, nil)
	before := c.peakMB(b)
	c.forgetPeak(b)
	start := time.Now()
	var begun struct{ JobID string }
	do(b, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/import", `{"type":"USERS"}`, &begun)
	var out client.Import
	for tick := time.NewTicker(time.Second); out.Status != "done"; <-tick.C {
		do(b, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/import/"+begun.JobID, "", &out)
		require.NotEqual(b, engine.ImportFailed, out.Status, out)
	}
	require.Equal(b, accounts, out.UsersCreated, out)
	peak := c.peakMB(b)
	b.ReportMetric(before, "before-MB")
	b.ReportMetric(peak, "peak-MB")
	b.ReportMetric((peak-before)*1e6/float64(accounts), "B/account")
	b.ReportMetric(time.Since(start).Seconds(), "s/import")
}

// listGenerated responds with a page of generated accounts.
func listGenerated(w http.ResponseWriter, r *http.Request, accounts int) {
	begin, _ := strconv.Atoi(r.FormValue("startIndex"))
	count, _ := strconv.Atoi(r.FormValue("count"))
	var resources []string
	for i := max(begin, 1); i <= accounts && len(resources) < count; i++ {
		name := fmt.Sprintf("import%07d@chain.example", i)
		resources = append(resources, fmt.Sprintf(`{"id":"r%07d",`, i)+strings.TrimPrefix(person(name, "Import", strconv.Itoa(i), name), "{"))
	}
	w.Header().Set("Content-Type", "application/scim+json")
	fmt.Fprintf(w, `{"schemas":[%q],"totalResults":%d,"startIndex":%d,"itemsPerPage":%d,"Resources":[%s]}`,
		scim.ListResponseMessage, accounts, max(begin, 1), len(resources), strings.Join(resources, ","))
}
