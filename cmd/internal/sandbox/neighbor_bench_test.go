package sandbox_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// The load of BenchmarkNeighbor: its clients, the tenant that measures, and the time of one measurement.
const (
	neighborClients = 3
	neighborTenant  = "neighbor"
	neighborTime    = 4 * time.Second
)

// BenchmarkNeighbor measures how much a tenant with expensive requests delays another tenant of scimwright serve scim, which runs as a
// separate process. The other tenant sends a GET by id each millisecond, in turns with and without three clients of the first tenant, which
// are a third process. The first tenant has 24 users of 7 MB, as versions without a limit stored them, 200 of 1 MB, and 20,000 usual ones.
// quiet-p99-ms and p99-ms are the medians over all turns, and times is the median of their ratio.
func BenchmarkNeighbor(b *testing.B) {
	database := "sqlite:" + filepath.Join(b.TempDir(), "scim.db")
	fillNeighbors(b, database)
	file := filepath.Join(b.TempDir(), "tenants.yaml")
	require.NoError(b, os.WriteFile(file, []byte("tenants:\n  "+neighborTenant+":\n    tokens: ["+scimToken+"]\n"), 0o600))
	server := serveSCIMCommand(b, database, "--tenants", file)
	neighbor := strings.TrimSuffix(server.url, "/scim/v2") + tenants.Prefix(neighborTenant)
	for _, load := range []struct{ name, method, path, body string }{
		{name: "large-index", path: "/Users?count=1000"},
		{name: "large-cursor", path: "/Users?count=1000&cursor="},
		{name: "filter", path: "/Users?count=1000&filter=" + url.QueryEscape(`title eq "none"`)},
		{name: "filter-decoded", path: "/Users?count=1000&filter=" + url.QueryEscape(`userName sw "user0-" and not (name.familyName pr)`)},
		{name: "filter-large", path: "/Users?count=1000&filter=" + url.QueryEscape(`not (name.familyName pr)`)},
		{name: "pages", path: "/Users?count=1000&filter=" + url.QueryEscape(`userName sw "user0-0"`) + "&sortBy=userName"},
		{name: "members", path: "/Groups/" + server.neighborGroup(b)},
		{name: "patch", method: http.MethodPatch, path: "/Users/" + neighborID(0, 0), body: patchBody(
			strings.Repeat(`{"op":"add","path":"emails","value":[{"value":"a@example.com"}]},`, 999) + `{"op":"remove","path":"emails"}`)},
		{name: "bulk", method: http.MethodPost, path: "/Bulk", body: neighborBulk()},
	} {
		b.Run(load.name, func(b *testing.B) {
			var quiet, loaded, ratios []float64
			for b.Loop() {
				alone := server.p99(b, neighbor)
				stop := startLoad(b, cmp.Or(load.method, http.MethodGet), server.url+load.path, load.body)
				busy := server.p99(b, neighbor)
				stop()
				quiet, loaded, ratios = append(quiet, alone), append(loaded, busy), append(ratios, busy/alone)
			}
			b.ReportMetric(0, "ns/op") // the time of a measurement
			b.ReportMetric(median(quiet), "quiet-p99-ms")
			b.ReportMetric(median(loaded), "p99-ms")
			b.ReportMetric(median(ratios), "times")
		})
	}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// fillNeighbors stores the users of both tenants.
func fillNeighbors(b *testing.B, database string) {
	b.Helper()
	db, err := sqlopen.Open(b.Context(), database, sqlopen.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	create := func(tenant string, users, size int) {
		layout := scimstore.NewLayout(sandbox.TablesOf(tenant))
		docs, err := docstore.Open(b.Context(), db, time.Now, layout.Tables()...)
		require.NoError(b, err)
		store := scimstore.New(docs, layout)
		for first := 0; first < users; first += memoryBulk {
			var all []scimserver.NewRecord
			for i := first; i < min(users, first+memoryBulk); i++ {
				o, err := scim.DecodeResource([]byte(memoryUser(i)))
				require.NoError(b, err)
				name := fmt.Sprintf("user%d-%06d", size, i)
				o.Set("userName", name)
				if size > 0 {
					o.Set("nickName", strings.Repeat("x", size))
				}
				all = append(all, scimserver.NewRecord{Record: &scimserver.Record{Type: "User", ID: neighborID(size, i), Resource: o, Display: name}})
			}
			_, err := store.CreateAll(b.Context(), all)
			require.NoError(b, err)
		}
	}
	create(tenants.Default, 24, 7<<20)
	create(tenants.Default, 200, 1<<20)
	create(tenants.Default, 20_000, 0)
	create(neighborTenant, 1000, 0)
}

// neighborGroup creates a group of 10,000 users of the first tenant and returns its id.
func (c *scimChild) neighborGroup(b *testing.B) string {
	b.Helper()
	members := make([]string, 10_000)
	for i := range members {
		members[i] = `{"value":"` + neighborID(0, i) + `"}`
	}
	return textOf(c.must(b, http.MethodPost, "/Groups", http.StatusCreated,
		fmt.Sprintf(`{"schemas":[%q],"displayName":"large","members":[%s]}`, scim.GroupSchema, strings.Join(members, ","))), "id")
}

// neighborBulk is a bulk request that changes 1,000 users.
func neighborBulk() string {
	operations := make([]string, 1000)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"method":"PATCH","path":"/Users/%s","data":%s}`, neighborID(0, i),
			patchBody(`{"op":"replace","path":"nickName","value":"n"}`))
	}
	return fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.BulkRequestMessage, strings.Join(operations, ","))
}

func neighborID(size, i int) string { return fmt.Sprintf("id-%d-%d", size, i) }

// p99 sends a GET by id each millisecond and returns the 99th percentile of the durations in milliseconds.
func (c *scimChild) p99(b *testing.B, base string) float64 {
	b.Helper()
	get := func(i int) time.Duration {
		began := time.Now()
		require.NoError(b, discard(c.client, http.MethodGet, base+"/Users/"+neighborID(0, i%1000), "", http.StatusOK))
		return time.Since(began)
	}
	end := time.Now().Add(neighborTime)
	var took []time.Duration
	for i := 0; time.Now().Before(end); i++ {
		one := get(i)
		took = append(took, one)
		time.Sleep(time.Millisecond - one)
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100]) / 1e6
}

// discard sends a request and reads the response without storing it. If want is not 0, another status is an error.
func discard(client *http.Client, method, address, body string, want int) error {
	req, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+scimToken)
	req.Header.Set("Content-Type", scim.MediaType)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if want != 0 && resp.StatusCode != want {
		return fmt.Errorf("%s %s: %d", method, address, resp.StatusCode)
	}
	return nil
}

// startLoad sends requests from another process until stop is called.
func startLoad(b *testing.B, method, address, body string) (stop func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), loadVariable+"="+method+" "+address)
	cmd.Stdin, cmd.Stderr = strings.NewReader(body), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(b, cmd.Start())
	load := child{cmd: cmd}
	b.Cleanup(load.kill)
	return load.kill
}

// sendLoad is the process of startLoad. It sends requests with the body of its standard input until it is killed.
func sendLoad(request string) {
	method, address, _ := strings.Cut(request, " ")
	body, err := io.ReadAll(os.Stdin)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: neighborClients}}
	var clients errgroup.Group
	for range neighborClients {
		clients.Go(func() error {
			for err == nil {
				if err := discard(client, method, address, string(body), 0); err != nil {
					return err
				}
			}
			return err
		})
	}
	os.Stderr.WriteString(clients.Wait().Error() + "\n")
}
