package sandbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// The SCIM server is killed while many clients write. After a restart all acknowledged writes are present. Unacknowledged writes are
// complete or absent.
func TestKilledServer_LosesNoAcknowledgedWrite(t *testing.T) {
	databases := map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "scim.db") },
		"postgres": func(t *testing.T) string { return sqldbtest.PostgresURL(t, sqldbtest.Durable) },
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			first := serveSCIMCommand(t, url)
			status, body := first.ask(t.Context(), http.MethodPost, "/Groups", `{"schemas":["`+scim.GroupSchema+`"],"displayName":"All"}`)
			require.Equal(t, http.StatusCreated, status, body)
			group := textOf(body, "id")

			const writers, enough = 8, 400
			acknowledged, logs := atomic.Int64{}, make([][]written, writers)
			reached, once := make(chan struct{}), sync.Once{}
			var working sync.WaitGroup
			for i := range writers {
				working.Go(func() {
					for n := 0; ; n++ {
						w, err := first.write(t.Context(), group, fmt.Sprintf("writer%d-%d", i, n), func() {
							if acknowledged.Add(1) == enough {
								once.Do(func() { close(reached) })
							}
						})
						logs[i] = append(logs[i], w)
						if err != nil {
							return // the server was killed
						}
					}
				})
			}
			stopped := make(chan struct{})
			go func() { working.Wait(); close(stopped) }()
			select {
			case <-reached:
			case <-stopped:
			}
			first.kill()
			<-stopped
			require.GreaterOrEqual(t, acknowledged.Load(), int64(enough), "the clients were writing when the server was killed")

			second := serveSCIMCommand(t, url)
			status, body = second.ask(t.Context(), http.MethodGet, "/Groups/"+group, "")
			require.Equal(t, http.StatusOK, status)
			users := 0
			for _, log := range logs {
				for i, w := range log {
					second.verify(t, w, body, i == len(log)-1)
					users++
				}
			}
			t.Logf("%d acknowledged writes to %d users survived", acknowledged.Load(), users)
		})
	}
}

// written is the acknowledged state of one user.
type written struct {
	name, id string
	title    int  // the last acknowledged title
	member   bool // the membership was acknowledged
	deleted  bool
}

// titles is the number of changes of each user.
const titles = 3

// write creates a user, adds it to the group, changes it several times, and deletes every fifth user. It returns the error of the first
// request without a complete response.
func (c *scimChild) write(ctx context.Context, group, name string, acknowledged func()) (written, error) {
	w := written{name: name}
	step := func(method, path, body string, want int) (string, error) {
		status, answer := c.ask(ctx, method, path, body)
		if status != want {
			return "", fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		}
		acknowledged()
		return answer, nil
	}
	answer, err := step(http.MethodPost, "/Users",
		fmt.Sprintf(`{"schemas":[%q],"userName":%q,"title":"0","nickName":"0"}`, scim.UserSchema, name), http.StatusCreated)
	if err != nil {
		return w, err
	}
	w.id = textOf(answer, "id")
	if _, err := step(http.MethodPatch, "/Groups/"+group, patchBody(`{"op":"add","path":"members","value":[{"value":"`+w.id+`"}]}`),
		http.StatusNoContent); err != nil {
		return w, err
	}
	w.member = true
	for n := 1; n <= titles; n++ {
		operations := fmt.Sprintf(`{"op":"replace","path":"title","value":"%d"},{"op":"replace","path":"nickName","value":"%d"}`, n, n)
		if _, err := step(http.MethodPatch, "/Users/"+w.id, patchBody(operations), http.StatusOK); err != nil {
			return w, err
		}
		w.title = n
	}
	if strings.HasSuffix(name, "4") || strings.HasSuffix(name, "9") {
		if _, err := step(http.MethodDelete, "/Users/"+w.id, "", http.StatusNoContent); err != nil {
			return w, err
		}
		w.deleted = true
	}
	return w, nil
}

// verify compares the state on the server with the acknowledged state. The last write of a client may be unacknowledged.
func (c *scimChild) verify(t *testing.T, w written, group string, last bool) {
	t.Helper()
	if w.id == "" {
		return // never acknowledged
	}
	status, body := c.ask(t.Context(), http.MethodGet, "/Users/"+w.id, "")
	if w.deleted || last && w.title == titles && status == http.StatusNotFound {
		require.Equal(t, http.StatusNotFound, status, "%s was deleted", w.name)
		require.NotContains(t, group, w.id, "a deleted user is not a member")
		return
	}
	require.Equal(t, http.StatusOK, status, "%s: %s", w.name, body)
	require.Equal(t, w.name, textOf(body, "userName"))
	require.Equal(t, textOf(body, "title"), textOf(body, "nickName"), "a PATCH is applied completely or not at all")
	title, err := strconv.Atoi(textOf(body, "title"))
	require.NoError(t, err)
	if last {
		require.Contains(t, []int{w.title, w.title + 1}, title, w.name)
	} else {
		require.Equal(t, w.title, title, w.name)
	}
	if w.member {
		require.Contains(t, group, w.id, "%s joined", w.name)
	}
}

func patchBody(operations string) string {
	return fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage, operations)
}

func textOf(body, name string) string {
	var o map[string]any
	if json.Unmarshal([]byte(body), &o) != nil {
		return ""
	}
	text, _ := o[name].(string)
	return text
}

// scimChild is scimwright serve scim in a separate process.
type scimChild struct {
	child
	url    string
	client *http.Client
}

// serveSCIMCommand starts the SCIM server on a free port and waits until it prints its address.
func serveSCIMCommand(t testing.TB, database string, args ...string) *scimChild {
	t.Helper()
	cmd := exec.Command(os.Args[0],
		append([]string{"serve", "scim", "--listen", "127.0.0.1:0", "--db", database, "--token", scimToken}, args...)...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &scimChild{child: child{cmd: cmd}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(func() { c.kill(); c.client.CloseIdleConnections() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	for _, word := range strings.Fields(line) {
		if strings.HasPrefix(word, "http") {
			c.url = word
		}
	}
	require.NotEmpty(t, c.url, line)
	return c
}

// ask sends a request. The status is 0 without a complete response.
func (c *scimChild) ask(ctx context.Context, method, path, body string) (status int, answer string) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+scimToken)
	req.Header.Set("Content-Type", scim.MediaType)
	res, err := c.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(data)
}
