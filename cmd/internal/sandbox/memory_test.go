package sandbox_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/scim"
)

var million = flag.Bool("sandbox.million", false, "measure the memory with 1,000,000 users instead of 100,000")

const (
	memoryClients = 16
	memoryBulk    = 1000    // users per bulk request
	memoryGroup   = 100_000 // members of the large group
)

// BenchmarkMemory measures the memory of scimwright serve scim, which runs as a separate process. The metrics are the peak resident memory
// (in millions of bytes), as counted by the system: while the server was filled, while memoryClients concurrent clients sent 20 requests of
// one kind each, and while a few clients read a whole group of 100,000 members.
func BenchmarkMemory(b *testing.B) {
	users := memoryGroup
	if *million {
		users = 1_000_000
	}
	server := serveSCIMCommand(b, "sqlite:"+filepath.Join(b.TempDir(), "scim.db"))
	ids := server.fill(b, users)
	fill := server.peakMB(b)
	members := make([]string, memoryGroup)
	for i := range members {
		members[i] = `{"value":"` + ids[i*users/memoryGroup] + `"}`
	}
	group := textOf(server.must(b, http.MethodPost, "/Groups", http.StatusCreated,
		fmt.Sprintf(`{"schemas":[%q],"displayName":"large","members":[%s]}`, scim.GroupSchema, strings.Join(members, ","))), "id")
	of := func(i int) string { return ids[i*7919%users] }
	scan := "/Users?count=1000&filter=" + url.QueryEscape(`title eq "Title 7"`)
	kinds := []struct {
		name    string
		clients int
		call    func(i int) (method, path, body string, status int)
	}{
		{"get", memoryClients, func(i int) (string, string, string, int) {
			return http.MethodGet, "/Users/" + of(i), "", http.StatusOK
		}},
		{"create", memoryClients, func(i int) (string, string, string, int) {
			return http.MethodPost, "/Users", memoryUser(users + i), http.StatusCreated
		}},
		{"patch", memoryClients, func(i int) (string, string, string, int) {
			return http.MethodPatch, "/Users/" + of(i), patchBody(`{"op":"replace","path":"nickName","value":"n"}`), http.StatusOK
		}},
		{"page", memoryClients, func(int) (string, string, string, int) {
			return http.MethodGet, "/Users?count=1000&sortBy=userName", "", http.StatusOK
		}},
		{"scan", 2, func(int) (string, string, string, int) { return http.MethodGet, scan, "", http.StatusOK }},
		{"scan-sorted", 2, func(int) (string, string, string, int) {
			return http.MethodGet, "/Users?count=1000&sortBy=title", "", http.StatusOK
		}},
		{"members", 2, func(int) (string, string, string, int) { return http.MethodGet, "/Groups/" + group, "", http.StatusOK }},
	}
	peaks := make([]float64, len(kinds))
	sent := 0
	for b.Loop() {
		for i, kind := range kinds {
			server.forgetPeak(b)
			requests := 20 * kind.clients
			if kind.clients < memoryClients {
				requests = kind.clients // these take long
			}
			server.atOnce(b, kind.clients, requests, func(n int) {
				method, path, body, status := kind.call(sent + n)
				server.must(b, method, path, status, body)
			})
			sent += requests
			peaks[i] = max(peaks[i], server.peakMB(b))
		}
	}
	b.ReportMetric(0, "ns/op") // not meaningful here
	b.ReportMetric(fill, "fill-MB")
	for i, kind := range kinds {
		b.ReportMetric(peaks[i], kind.name+"-MB")
	}
}

func memoryUser(i int) string {
	return fmt.Sprintf(`{"schemas":[%q],"userName":"user%07d","externalId":"e-%[2]d","name":{"givenName":"Given","familyName":"Family"},
		"title":"Title %d","emails":[{"value":"user%[2]d@example.com","type":"work","primary":true}],"active":true}`, scim.UserSchema, i, i%1000)
}

// createdAt finds the ids in the response to a bulk request.
var createdAt = regexp.MustCompile(`"location":"[^"]*/Users/([^"]+)"`)

// fill creates users and returns their ids.
func (c *scimChild) fill(b *testing.B, users int) []string {
	b.Helper()
	ids := make([]string, users)
	c.atOnce(b, memoryClients, users/memoryBulk, func(job int) {
		operations := make([]string, memoryBulk)
		for i := range operations {
			operations[i] = fmt.Sprintf(`{"method":"POST","path":"/Users","bulkId":"%d","data":%s}`, i, memoryUser(job*memoryBulk+i))
		}
		answer := c.must(b, http.MethodPost, "/Bulk", http.StatusOK,
			fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.BulkRequestMessage, strings.Join(operations, ",")))
		for i, found := range createdAt.FindAllStringSubmatch(answer, -1) {
			ids[job*memoryBulk+i] = found[1]
		}
	})
	require.NotContains(b, ids, "")
	return ids
}

// atOnce calls send once for each n from 0 to requests-1, in as many goroutines as clients.
func (c *scimChild) atOnce(b *testing.B, clients, requests int, send func(n int)) {
	b.Helper()
	var next atomic.Int64
	var work errgroup.Group
	for range clients {
		work.Go(func() error {
			for n := int(next.Add(1)) - 1; n < requests; n = int(next.Add(1)) - 1 {
				send(n)
			}
			return nil
		})
	}
	_ = work.Wait()
}

// must sends a request that must succeed.
func (c *scimChild) must(b *testing.B, method, path string, want int, body string) string {
	b.Helper()
	status, answer := c.ask(context.Background(), method, path, body)
	if status != want {
		b.Errorf("%s %s: %d %.300s", method, path, status, answer)
	}
	return answer
}

// peakMB returns the peak memory of the process since the last call of forgetPeak.
func (c *child) peakMB(b testing.TB) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		b.Skip("the memory of another process is unavailable on this system: ", err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(b, found)
	kB, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(b, err)
	return kB * 1024 / 1e6
}

// forgetPeak resets the peak; see proc(5) on clear_refs.
func (c *child) forgetPeak(b testing.TB) {
	b.Helper()
	require.NoError(b, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.cmd.Process.Pid), []byte("5"), 0))
}
