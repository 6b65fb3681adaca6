package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// largePages is an organization whose users have profiles of almost the maximum size.
type largePages struct {
	*child
	api   *sandbox.APIClient
	users []string // ids, in the order of a list
	group string   // with all of the users
}

// largeUsers is the number of users. Their profiles fill at least ten pages of a list.
const largeUsers = 24

// largeProfile is the size of a profile in bytes, almost that of the largest request body.
const largeProfile = 1_040_000

// newLargePages creates the users of a process that stores its data as the arguments say.
func newLargePages(t *testing.T, args ...string) *largePages {
	t.Helper()
	args = append([]string{"sandbox", "--listen", "127.0.0.1:0", "--empty", "--no-rate-limits"}, args...)
	c := startCommand(t, args...)
	p := &largePages{child: c, api: c.api()}
	do(t, p.api, http.MethodPost, "/api/v1/meta/schemas/user/default", `{"definitions":{"custom":{"id":"#custom","type":"object","properties":{
		"long":{"title":"Long","type":"string"},"many":{"title":"Many","type":"array","items":{"type":"string"}}}}}}`, nil)
	var group struct{ ID string }
	do(t, p.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"large"}}`, &group)
	p.group = group.ID
	long := `"long":"` + strings.Repeat("x", largeProfile) + `"`
	many := `"many":[` + strings.Repeat(`"`+strings.Repeat("x", largeProfile/10_000-3)+`",`, 9_999) + `"x"]`
	for i := range largeUsers {
		var user struct{ ID string }
		do(t, p.api, http.MethodPost, "/api/v1/users?activate=false", fmt.Sprintf(
			`{"profile":{"login":"large%[1]d@example.com","email":"large%[1]d@example.com","firstName":"L","lastName":"P",%s}}`,
			i, []string{long, many}[i%2]), &user)
		do(t, p.api, http.MethodPut, "/api/v1/groups/"+p.group+"/users/"+user.ID, "", nil)
		p.users = append(p.users, user.ID)
	}
	c.kill() // the measured memory must not include that of the requests above
	p.child = startCommand(t, args...)
	p.api = p.child.api()
	var clients errgroup.Group // fill the caches of the database, and leave a heap as after requests for single users
	for range 3 {
		clients.Go(func() error {
			for _, id := range p.users {
				if err := p.api.Do(t.Context(), http.MethodGet, "/api/v1/users/"+id, nil, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, clients.Wait())
	return p
}

// walk reads all pages of a list and returns the ids of the users. It does not decode the profiles.
func (p *largePages) walk(ctx context.Context, path string) (ids []string, pages int, err error) {
	for next := p.api.BaseURL + path; next != ""; pages++ {
		res, err := p.get(ctx, next)
		if err != nil {
			return nil, 0, err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case err != nil:
			return nil, 0, err
		case res.StatusCode != http.StatusOK || !json.Valid(body):
			return nil, 0, fmt.Errorf("%s: status %d: %.200s", next, res.StatusCode, body)
		}
		for part := range bytes.SplitSeq(body, []byte(`"href":"`+p.api.BaseURL+`/api/v1/users/`)) {
			if id, rest, ok := bytes.Cut(part, []byte(`"`)); ok && bytes.HasPrefix(rest, []byte(`}`)) && slices.Contains(p.users, string(id)) {
				ids = append(ids, string(id))
			}
		}
		next = ""
		for _, link := range res.Header.Values("Link") {
			if m := nextLink.FindStringSubmatch(link); m != nil {
				next = m[1]
			}
		}
	}
	return ids, pages, nil
}

func (p *largePages) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "SSWS "+p.api.Token)
	return http.DefaultClient.Do(req)
}

// TestLargePages_MemoryBounded has three clients read lists of the largest users, and requires that all pages together have each user once.
func TestLargePages_MemoryBounded(t *testing.T) {
	for name, args := range map[string]func(t *testing.T) []string{
		"sqlite": func(t *testing.T) []string { return []string{"--data", t.TempDir()} },
		"postgres": func(t *testing.T) []string {
			return []string{"--db", sqldbtest.PostgresURL(t), "--secret-key-file", filepath.Join(t.TempDir(), "secret.key")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newLargePages(t, args(t)...)
			p.forgetPeak(t)
			before := p.peakMB(t)
			for _, path := range []string{
				"/api/v1/users?limit=200",
				"/api/v1/groups/" + p.group + "/users?limit=1000",
				"/api/v1/users?limit=200&search=" + url.QueryEscape(`profile.lastName eq "P"`),
				"/api/v1/users?limit=200&sortBy=profile.login&search=" + url.QueryEscape(`profile.lastName eq "P"`),
			} {
				var clients errgroup.Group
				for range 3 {
					clients.Go(func() error {
						ids, pages, err := p.walk(t.Context(), path)
						slices.Sort(ids)
						if want := slices.Sorted(slices.Values(p.users)); err == nil && (pages < 10 || !slices.Equal(want, ids)) {
							err = fmt.Errorf("%s: %d users on %d pages", path, len(ids), pages)
						}
						return err
					})
				}
				require.NoError(t, clients.Wait())
				t.Logf("%s: %.0f MB before, %.0f MB peak", path, before, p.peakMB(t))
			}
			if !raceDetector { // the race detector itself uses memory
				require.Less(t, p.peakMB(t)-before, 64*1.048576)
			}
		})
	}
}

// TestLargePages_ClientLeaves requires that searches over all users stop when their clients have disconnected.
func TestLargePages_ClientLeaves(t *testing.T) {
	p := newLargePages(t, "--data", t.TempDir())
	path := p.api.BaseURL + "/api/v1/users?sortBy=profile.login&search=" + url.QueryEscape(`profile.title eq "x" or profile.many eq "2"`)
	search := func(ctx context.Context) {
		var clients errgroup.Group
		for range 8 {
			clients.Go(func() error {
				res, err := p.get(ctx, path)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				return err
			})
		}
		err := clients.Wait()
		require.Equal(t, ctx.Err() == nil, err == nil)
	}
	begin := p.cpu(t)
	search(t.Context())
	whole := p.cpu(t) - begin
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	search(ctx)
	time.Sleep(100 * time.Millisecond)
	begin = p.cpu(t)
	time.Sleep(300 * time.Millisecond)
	t.Logf("%v for whole searches, %v after the clients have left", whole, p.cpu(t)-begin)
	require.Less(t, p.cpu(t)-begin, whole/5)
}

// cpu returns the processor time of the process; see proc(5) on stat.
func (c *child) cpu(t testing.TB) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		t.Skip("the processor time of another process is unavailable on this system: ", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] { // utime and stime, in units of 10 ms
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
