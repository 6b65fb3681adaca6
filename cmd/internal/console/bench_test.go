package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// The size of the measured installation.
const (
	benchApps   = 1000
	benchPeople = 100 // per app
	benchLarge  = "app-0500"
	benchInside = 20_000 // users of benchLarge
)

// manyApps has the apps of the measured installation.
type manyApps struct{ fake }

func (*manyApps) Apps(context.Context) (all []control.App, err error) {
	for i := range benchApps {
		id := fmt.Sprintf("app-%04d", i)
		all = append(all, control.App{ID: id, Label: "App " + id})
	}
	return all, nil
}

func (*manyApps) App(_ context.Context, id string) (control.App, error) {
	return control.App{ID: id, Label: "App " + id}, nil
}

func (*manyApps) Names(context.Context, string, []engine.Principal) (map[engine.Principal]string, error) {
	return map[engine.Principal]string{}, nil
}

func (*manyApps) Assigned(context.Context, string, engine.Principal) (bool, error) { return true, nil }

// manyHost is the host of the measured installation.
type manyHost struct {
	fake

	names manyApps
}

func (h *manyHost) Apps(ctx context.Context, _ string) ([]control.App, error) {
	return h.names.Apps(ctx)
}

func (h *manyHost) Names(ctx context.Context, app string, all []engine.Principal) (map[engine.Principal]string, error) {
	return h.names.Names(ctx, app, all)
}

// BenchmarkPages measures pages with 1,000 apps and 120,000 users: the time, and the processor time (cpu-ms/op).
func BenchmarkPages(b *testing.B) {
	db := sqldbtest.SQLite(b)
	store, err := enginestore.Open(b.Context(), db, sqlstore.Options{})
	require.NoError(b, err)
	directory := &enginetest.Directory{}
	e, err := provision.New(provision.Options{Store: store, Directory: directory})
	require.NoError(b, err)
	fill(b, db)
	host := &manyHost{}
	behind := func(next http.Handler) http.Handler { return next }
	operate, err := control.New(control.Options{
		Engine: e, Directory: directory, Names: &host.names, Authorize: behind,
		Update: func(context.Context, func(tx engine.Execer) error) error { return nil },
	})
	require.NoError(b, err)
	sessions, err := session.Open(b.Context(), db, nil)
	require.NoError(b, err)
	c, err := console.New(console.Options{Host: host, Reads: console.ReadsOf(e), API: operate, Sessions: sessions})
	require.NoError(b, err)
	cookie, err := sessions.Create(b.Context(), "127.0.0.1", admin, false)
	require.NoError(b, err)
	large := "/apps/" + benchLarge
	for name, path := range map[string]string{
		"overview": "/", "overview-uncached": "/", "search": "/?q=0999", "app": large, "people": large + "/people",
		"failed": large + "/people?status=failed",
		"tasks":  large + "/tasks", "requests": "/requests", "filtered": "/requests?status=5xx",
	} {
		b.Run(name, func(b *testing.B) {
			cpu := processor()
			for b.Loop() {
				if name == "overview-uncached" {
					c.ForgetCaches()
				}
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = "127.0.0.1"
				r.AddCookie(&http.Cookie{Name: "scimwright", Value: cookie})
				w := httptest.NewRecorder()
				c.ServeHTTP(w, r)
				if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "API token") {
					b.Fatal(w.Code, w.Body.String())
				}
			}
			b.ReportMetric(float64(processor()-cpu)/float64(b.N)/float64(time.Millisecond), "cpu-ms/op")
		})
	}
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill stores the states of all apps, and exchanges.
func fill(b *testing.B, db *sqldb.DB) {
	b.Helper()
	exec := func(tx *sqldb.Tx, text string, args ...any) {
		_, err := tx.Exec(b.Context(), text, args...)
		require.NoError(b, err)
	}
	require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
		exec(tx, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO scimwright_app_lane (app_id, epoch, owner, lease_until, kicks, hold, hold_until, hold_reason, hold_streak)
			SELECT printf('app-%04d', i), 0, '', 0, 0, '', 0, '', 0 FROM n`, benchApps-1)
		exec(tx, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			INSERT INTO scimwright_sync_state (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at,
				attempts, remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at, dirty_since)
			SELECT CASE WHEN i < ? THEN ? ELSE printf('app-%04d', i % ?) END, 'user', printf('user-%06d', i), 1, 1, 0,
				CASE i % 50 WHEN 0 THEN 'failed' WHEN 1 THEN 'retrying' ELSE 'clean' END, 'active', 1, 0,
				CASE i % 50 WHEN 1 THEN 1 END, 0, printf('r-%06d', i), printf('user-%06d@example.com', i), 'created', 'create', 201, '', 1764000000000,
				CASE i % 50 WHEN 1 THEN 1764000000000 ELSE 0 END FROM n`, benchApps*benchPeople+benchInside-1, benchInside, benchLarge, benchApps)
		exec(tx, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
			INSERT INTO scimwright_sync_attempt (app_id, kind, principal_id, gen, run_id, at, method, url, request_header, request_body, http,
				response_header, response_body, ms, error)
			SELECT printf('app-%04d', i % ?), 'user', printf('user-%06d', i), 1, 'r', 1764000000000, 'POST', 'https://t.example/Users', '{}',
				'{"userName":"x"}', 201, '{}', '{"id":"1","userName":"x"}', 5, '' FROM n`, benchApps)
		return nil
	}))
}
