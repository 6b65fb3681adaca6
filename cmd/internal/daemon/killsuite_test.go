package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/internal/alltest"
)

// immortal is a daemon in a child process that is started again on the same address when it has ended.
type immortal struct {
	t       testing.TB
	mu      sync.Mutex // of orders, for loop
	orders  killable
	ready   daemon.Ready
	starts  atomic.Int32
	ended   atomic.Bool
	stopped chan struct{}
	current atomic.Pointer[os.Process]
}

func newImmortal(t testing.TB, databaseURL string) *immortal {
	t.Helper()
	im := &immortal{t: t, orders: killable{DB: databaseURL, Listen: "127.0.0.1:0", Ready: filepath.Join(t.TempDir(), "ready.json")},
		stopped: make(chan struct{})}
	first := make(chan error, 1)
	go im.loop(first)
	t.Cleanup(func() {
		im.ended.Store(true)
		_ = im.current.Load().Kill()
		<-im.stopped
	})
	require.NoError(t, <-first)
	eventually(t, "the daemon is ready", func() bool {
		data, err := os.ReadFile(im.orders.Ready)
		return err == nil && json.Unmarshal(data, &im.ready) == nil
	})
	im.mu.Lock()
	defer im.mu.Unlock()
	im.orders.Listen = strings.TrimPrefix(im.ready.BaseURL, "http://")
	return im
}

// loop starts the child until the end of the test. It may end by itself only at its point.
func (im *immortal) loop(first chan<- error) {
	defer close(im.stopped)
	for !im.ended.Load() {
		im.mu.Lock()
		text, err := json.Marshal(im.orders)
		im.mu.Unlock()
		if err != nil {
			im.t.Error(err)
			return
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killableVariable+"="+string(text))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		err = cmd.Start()
		if err == nil {
			im.current.Store(cmd.Process)
		}
		if im.starts.Add(1) == 1 {
			first <- err
		}
		if err != nil {
			im.t.Error(err)
			return
		}
		err = cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !im.ended.Load() && (!ok || status.Signal() != syscall.SIGKILL) {
			im.t.Errorf("the daemon has ended by itself: %v", err)
			return
		}
	}
}

// arm sets the point at which the daemon ends.
func (im *immortal) arm(at string) {
	im.t.Helper()
	eventually(im.t, "the daemon responds", func() bool {
		res, err := http.Post(im.ready.BaseURL+pointsPath+"?at="+url.QueryEscape(at), "", nil)
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})
}

// passed returns the names of the points that were passed since arm.
func (im *immortal) passed() (names []string) {
	im.t.Helper()
	res, err := http.Get(im.ready.BaseURL + pointsPath)
	require.NoError(im.t, err)
	defer res.Body.Close()
	require.NoError(im.t, json.NewDecoder(res.Body).Decode(&names))
	return names
}

// pythonClient is the client in testdata/client.py.
type pythonClient struct {
	in  io.Writer
	out *bufio.Reader
}

func startPython(t testing.TB, engineURL string) *pythonClient {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		alltest.Lacks(t, "python3")
	}
	example, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "idp-python"))
	require.NoError(t, err)
	cmd := exec.Command(python, filepath.Join("testdata", "client.py"))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+example, "PYTHONDONTWRITEBYTECODE=1", "ENGINE_URL="+engineURL, "ENGINE_TOKEN="+adminToken,
		"APPS=crm", "CRM_URL=", "CRM_TOKEN=")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &pythonClient{in, bufio.NewReader(out)}
}

// seenEvent is an event as the client has read it.
type seenEvent struct {
	Seq                         int64
	Type, Kind, ID              string
	Operation, Status, RemoteID string
}

// play provisions an app, and returns the events that the client has read on the way.
func (c *pythonClient) play(t testing.TB, app, target string) (events []seenEvent) {
	t.Helper()
	_, err := fmt.Fprintln(c.in, app, target)
	require.NoError(t, err)
	line := make(chan string, 1)
	go func() {
		text, err := c.out.ReadString('\n')
		if err != nil {
			text = "error: " + err.Error()
		}
		line <- text
	}()
	select {
	case text := <-line:
		require.NoError(t, json.Unmarshal([]byte(text), &events), text)
	case <-time.After(patience):
		t.Fatal("the client has not ended")
	}
	return events
}

// steps are the events of each user and group that a complete list contains in this order; further ones may be between them. After a
// kill, an account that was created before may be found by a lookup, and linked.
var steps = map[string][][]string{
	"ann":   {{"user.created", "user.linked"}, {"user.updated"}},
	"bob":   {{"user.created", "user.linked"}, {"user.updated"}},
	"eve":   {{"user.created", "user.linked"}, {"user.deactivated"}},
	"sales": {{"group.created", "group.linked"}, {"group.updated"}, {"group.updated"}},
	"temp":  {{"group.created", "group.linked"}, {"group.deleted"}},
}

// wrongEvents describes what is missing in a list of events.
func wrongEvents(events []seenEvent) (wrong []string) {
	at := map[string]int{} // number of the steps that were found
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return []string{fmt.Sprintf("event %d has the number %d", i+1, e.Seq)}
		}
		if n := at[e.ID]; n < len(steps[e.ID]) && slices.Contains(steps[e.ID][n], e.Type) {
			at[e.ID]++
		}
	}
	for id, all := range steps {
		if at[id] < len(all) {
			wrong = append(wrong, fmt.Sprintf("%s: no %v", id, all[at[id]]))
		}
	}
	return wrong
}

// wrongMessages describes how the messages about an app differ from its events: each event arrives at least once with the same id and
// content, and for the first time after all earlier events of the same user or group.
func wrongMessages(app string, messages []delivered, events []seenEvent) (wrong []string) {
	want := map[int64]seenEvent{}
	for _, e := range events {
		want[e.Seq] = e
	}
	ids, last := map[int64]string{}, map[string]int64{}
	for _, m := range messages {
		if m.Data.App != app {
			continue
		}
		got := seenEvent{m.Data.Seq, string(m.Type), string(m.Data.Kind), m.Data.ID, string(m.Data.Operation),
			string(m.Data.Status), m.Data.RemoteID}
		if e := want[got.Seq]; e != got {
			wrong = append(wrong, fmt.Sprintf("message %+v instead of %+v", got, e))
		}
		id, again := ids[got.Seq]
		switch who := got.Kind + " " + got.ID; {
		case again && id != m.id:
			wrong = append(wrong, fmt.Sprintf("message %d has the ids %s and %s", got.Seq, id, m.id))
		case !again && got.Seq < last[who]:
			wrong = append(wrong, fmt.Sprintf("message %d of %s after %d", got.Seq, who, last[who]))
		case !again:
			ids[got.Seq], last[who] = m.id, got.Seq
		}
	}
	for seq := range want {
		if ids[seq] == "" {
			wrong = append(wrong, fmt.Sprintf("no message %d", seq))
		}
	}
	return wrong
}

// wrongEnd describes how a target differs from the desired state at the end.
func wrongEnd(target *enginetest.Target) (wrong []string) {
	users, _ := accounts(target)
	if want := []string{"ann C true", "bob B true", "eve A false"}; !slices.Equal(users, want) {
		wrong = append(wrong, fmt.Sprintf("users %q instead of %q", users, want))
	}
	names := map[string]string{}
	for _, u := range target.Users() {
		names[u.Text("id")] = u.Text("userName")
	}
	var groups []string
	for _, g := range target.Groups() {
		var members []string
		list, _ := g.Get("members")
		text, _ := json.Marshal(list)
		var all []struct{ Value string }
		_ = json.Unmarshal(text, &all)
		for _, m := range all {
			members = append(members, names[m.Value])
		}
		slices.Sort(members)
		groups = append(groups, fmt.Sprint(g.Text("displayName"), " ", members))
	}
	if want := []string{"Vertrieb [ann bob]"}; !slices.Equal(groups, want) {
		wrong = append(wrong, fmt.Sprintf("groups %q instead of %q", groups, want))
	}
	return wrong
}

// someKills is the number of kills of a short run.
const someKills = 6

// TestKilledDaemon_AtEveryPoint provisions apps by a client in Python while the daemon is killed at a point: around each transaction of the
// engine, each request to the target, each message of the webhook, and each write of the client. The daemon is started again, and the
// client repeats what was not acknowledged. In the end, each target has the desired state, the client has read all events in order, and the
// endpoint of the webhook has received each of them.
func TestKilledDaemon_AtEveryPoint(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		im := newImmortal(t, databaseURL)
		python := startPython(t, im.ready.EngineURL)
		c := &caller{t: t, url: im.ready.EngineURL, token: adminToken}
		box := newInbox(t)
		box.url += "/webhook" // a part of the names of the points around its requests
		var endpoint hook
		c.do(http.StatusCreated, http.MethodPost, "/webhooks", fmt.Sprintf(`{"url":%q}`, box.url), &endpoint)
		box.set(false, endpoint.Secret)
		begun, repeated := time.Now(), 0
		round := func(app, at string) {
			t.Helper()
			target, targetURL := newTarget(t)
			im.arm(at)
			seen := python.play(t, app, targetURL)
			require.Empty(t, wrongEnd(target), "killed %s; requests: %s", at, strings.Join(target.Requests(), "\n"))
			require.Empty(t, wrongEvents(seen), "killed %s; events: %+v", at, seen)
			var all []seenEvent
			eventually(t, "the daemon responds", func() bool {
				r, err := c.send(http.MethodGet, "/apps/"+app+"/events?limit=1000", "", nil)
				return err == nil && r.status == http.StatusOK && json.Unmarshal([]byte(r.body), &all) == nil
			})
			require.Equal(t, all, seen, "the cursor has missed no event")
			eventually(t, fmt.Sprintf("all %d messages about %s arrive, killed %s", len(all), app, at), func() bool {
				return box.distinct(app) >= len(all)
			})
			messages := box.messages(app)
			require.Empty(t, wrongMessages(app, messages, all), "killed %s; messages: %+v", at, messages)
			repeated += len(messages) - len(all)
		}
		round("whole", "")
		points := im.passed()
		require.NotEmpty(t, points)
		tested := points
		if !alltest.All() {
			tested = nil
			for i := range someKills {
				tested = append(tested, points[i*len(points)/someKills])
			}
		}
		kills := 0
		for i, at := range tested {
			before := im.starts.Load()
			round(fmt.Sprint("app-", i), at)
			kills += int(im.starts.Load() - before)
		}
		require.Positive(t, kills)
		t.Logf("%d points, %d kills, %d messages arrived again, in %s", len(points), kills, repeated, time.Since(begun).Round(time.Second))
	})
}
