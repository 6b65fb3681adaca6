package daemon_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// wire forwards connections to a PostgreSQL server until it is cut.
type wire struct {
	listener net.Listener

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	done  sync.WaitGroup
}

// newWire returns a wire and the URL of the database through it.
func newWire(t *testing.T, databaseURL string) (w *wire, through string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	network, address := "tcp", u.Host
	if dir := u.Query().Get("host"); dir != "" {
		port := u.Query().Get("port")
		if port == "" {
			port = "5432"
		}
		network, address = "unix", filepath.Join(dir, ".s.PGSQL."+port)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w = &wire{listener: listener}
	w.done.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial(network, address)
			w.mu.Lock()
			if err != nil || w.cut {
				_ = from.Close()
				if to != nil {
					_ = to.Close()
				}
			} else {
				w.conns = append(w.conns, from, to)
				w.done.Go(func() { _, _ = io.Copy(from, to); _ = from.Close(); _ = to.Close() })
				w.done.Go(func() { _, _ = io.Copy(to, from); _ = from.Close(); _ = to.Close() })
			}
			w.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.set(true)
		w.done.Wait()
	})
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	return w, u.String()
}

// set cuts or repairs the wire.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.conns = nil
	}
}

// TestOutage_Unavailable cuts the connections to the database. All operations return 503 with Retry-After until it responds again, and the
// log has few lines.
func TestOutage_Unavailable(t *testing.T) {
	target, targetURL := newTarget(t)
	w, databaseURL := newWire(t, sqldbtest.PostgresURL(t))
	var log logged
	d, _ := start(t, daemon.Options{DB: databaseURL, Logger: log.logger(), Limits: daemon.Limits{Rate: 1e6}})
	c := callerOf(t, d)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, targetURL))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	w.set(true)
	before := strings.Count(log.String(), "\n")
	requests := 0
	for began := time.Now(); time.Since(began) < 3*time.Second || requests < 100; requests++ {
		for _, r := range [][3]string{
			{http.MethodGet, "/apps/crm", ""}, {http.MethodPut, "/apps/crm/users/u-1", userBody(2, "eve")}, {http.MethodGet, "/engine/apps", ""},
			{http.MethodGet, "/tokens", ""}, {http.MethodGet, "/audit", ""}, {http.MethodGet, "/webhooks", ""},
			{http.MethodPost, "/apps/crm/wait", ""},
			{http.MethodPost, "/apps/crm/batch", `{"op":"putUser","id":"u-1","version":3}`}, {http.MethodGet, "/unreadable", ""},
		} {
			media := "application/json"
			if strings.HasSuffix(r[1], "/batch") {
				media = "application/x-ndjson"
			}
			res, err := c.send(r[0], r[1], media, strings.NewReader(r[2]))
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, res.status, "%s %s: %s", r[0], r[1], res.body)
			require.NotEmpty(t, res.header.Get("Retry-After"))
			require.Contains(t, res.body, `"errorCode":"E0000503"`)
		}
	}
	root := &caller{t: t, url: d.Ready().BaseURL}
	root.do(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	root.do(http.StatusOK, http.MethodGet, "/livez", "")
	lines := strings.Count(log.String(), "\n") - before
	assert.Less(t, lines, 100, "lines of the log for %d requests", requests*9)
	t.Logf("%d requests, %d lines of the log", requests*9, lines)
	if t.Failed() {
		t.Log(log.String())
	}
	w.set(false)
	eventually(t, "the daemon works again", func() bool {
		res, err := c.send(http.MethodPut, "/apps/crm/users/u-1", "application/json", strings.NewReader(userBody(2, "eve")))
		return err == nil && res.status == http.StatusOK
	})
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	require.Equal(t, "eve", target.Users()[0].Text("userName"))
}
