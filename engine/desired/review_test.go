package desired_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// between is a database whose connections call run before the query number at.
type between struct {
	driver driver.Driver
	dsn    string
	count  atomic.Int64
	at     int64
	run    func()
}

func (b *between) Connect(context.Context) (driver.Conn, error) {
	c, err := b.driver.Open(b.dsn)
	if err != nil {
		return nil, err
	}
	return &betweenConn{c.(betweenParts), b}, nil
}

func (b *between) Driver() driver.Driver { return b.driver }

type betweenParts interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type betweenConn struct {
	betweenParts
	b *between
}

func (c *betweenConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.betweenParts.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *betweenConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.b.count.Add(1) == c.b.at {
		c.b.run()
	}
	return c.betweenParts.QueryContext(ctx, query, args)
}

// TestDirectory_DeletedBetweenQueries deletes the app before the second query of each list. The engine must not get an empty list, because
// it would remove the members of the group on the target.
func TestDirectory_DeletedBetweenQueries(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		plain, err := sql.Open(p.Driver, p.DSN)
		require.NoError(t, err)
		b := &between{driver: plain.Driver(), dsn: p.DSN}
		require.NoError(t, plain.Close())
		conns := sql.OpenDB(b)
		t.Cleanup(func() { require.NoError(t, conns.Close()) })
		s, err := desired.Open(t.Context(), conns, desired.Options{Dialect: sqlstore.Dialect(p.Dialect.String())})
		require.NoError(t, err)
		other, err := desired.Open(t.Context(), p.Open(t), desired.Options{Dialect: sqlstore.Dialect(p.Dialect.String())})
		require.NoError(t, err)
		w := &world{Store: other, t: t, engine: &recorder{}}
		w.Attach(w.engine)
		for n, read := range []func() (int, error){
			func() (int, error) {
				ids, err := s.Members(t.Context(), "crm", "g", "", 10)
				return len(ids), err
			},
			func() (int, error) {
				in, err := s.IsMember(t.Context(), "crm", "g", []string{"u-1"})
				return len(in), err
			},
			func() (int, error) {
				ids, err := s.Principals(t.Context(), "crm", engine.User, "", 10)
				return len(ids), err
			},
		} {
			_, err = w.PutApp(t.Context(), app("crm", int64(2*n+1)))
			require.NoError(t, err)
			w.put(desired.Applied, user("u-1", 1, "ann"))
			w.put(desired.Applied, desired.Members{Group: "g", Version: 1, Users: []string{"u-1"}})
			deleted := false
			b.run = func() {
				_, err := w.DeleteApp(t.Context(), "crm", int64(2*n+2))
				deleted = assert.NoError(t, err) // database/sql holds locks
			}
			b.count.Store(0)
			b.at = 2
			found, err := read()
			b.at = 0
			require.True(t, deleted)
			require.True(t, found == 1 || errors.Is(err, engine.ErrUnknownApp), "list %d: %d, %v", n, found, err)
		}
	})
}

// TestSnapshot_FailedLineCounts uploads lines that fail. Their users and groups exist, and must not be missing.
func TestSnapshot_FailedLineCounts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Batch(t.Context(), "crm", users(6), desired.BatchOptions{})
		require.NoError(t, err)
		number, err := w.BeginSnapshot(t.Context(), "crm", engine.User)
		require.NoError(t, err)
		report, err := w.Batch(t.Context(), "crm", strings.NewReader(strings.Join([]string{
			`{"op":"putUser","id":"u-000000","version":2,"want":"active","resource":{"password":"x"}}`,
			`{"op":"putUser","id":"u-000001","version":0,"want":"active"}`,
			`{"op":"putUser","id":"u-000002","version":"2"}`,
			`{"op":"deleteUser","id":"u-000003"}`,
			`{"op":"putUser","id":"u-000004","version":1,"want":"keep"}`,
			`{"op":"putGroup","id":"u-000005","version":"2"}`,
			`{"op":"putUser","id":"never","version":"2"}`,
		}, "\n")), desired.BatchOptions{Snapshot: number})
		require.NoError(t, err)
		require.Equal(t, 7, report.Failed)
		snapshot, err := w.EndSnapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		ids, err := w.MissingIn(t.Context(), "crm", number, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"u-000005"}, ids)
		require.Equal(t, 1, snapshot.Missing)
	})
}

// TestBatch_ErrorsBounded writes lines whose errors contain a long name or value of the line.
func TestBatch_ErrorsBounded(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	a := mapped(2, "example.com")
	a.Mapping.Attributes["staff"] = mapping.Any
	a.Mapping.Rules = append(a.Mapping.Rules,
		mapping.Rule{Target: `emails[type eq "work"].primary`, Expression: "user.staff"})
	_, err := w.PutApp(t.Context(), a)
	require.NoError(t, err)
	long := strings.Repeat("\u00fc", 50_000)
	for _, line := range []string{
		`{"op":"putUser","id":"u","version":1,"want":"active","resource":{"` + long + `":"\u0000"}}`,
		`{"op":"putUser","id":"u","version":1,"want":"active","profile":{"login":"u","staff":"` + long + `"}}`,
	} {
		report, err := w.Batch(t.Context(), "crm", strings.NewReader(line), desired.BatchOptions{})
		require.NoError(t, err)
		require.Equal(t, 1, report.Failed)
		text := report.FailedLines[0].Err.Error()
		require.Less(t, len(text), 4*desired.MaxText)
		require.Contains(t, text, "\u00fc\u00fc")
		_, err = w.PutUser(t.Context(), "crm", user("u", 1, "ann"))
		require.NoError(t, err)
	}
}

// TestPutApp_SameContent writes a higher version with the stored content, as in the table of versions in docs/reference/desired.md.
func TestPutApp_SameContent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for version, want := range []bool{false, false, true} {
			a := app("crm", int64(version+2))
			a.Target.Paused = want
			changed, err := w.PutApp(t.Context(), a)
			require.NoError(t, err)
			require.Equal(t, want, changed)
		}
		got, err := w.App(t.Context(), "crm")
		require.NoError(t, err)
		require.Equal(t, int64(4), got.Version)
	})
}

// TestSecrets_LostKeyRemoved removes credentials that cannot be decrypted: the engine reads the target again.
func TestSecrets_LostKeyRemoved(t *testing.T) {
	db := sqldbtest.SQLite(t)
	w := newWorld(t, db)
	a := app("crm", 2)
	a.Target.Auth.Secret = "s3cr3t"
	_, err := w.PutApp(t.Context(), a)
	require.NoError(t, err)
	w.put(desired.Applied, user("u-1", 1, "ann"))
	w.engine.taken()
	lost := open(t, db, func(o *desired.Options) { o.Seal = nil })
	lost.Attach(w.engine)
	changed, err := lost.PutApp(t.Context(), app("crm", 3))
	require.NoError(t, err)
	require.True(t, changed)
	require.Len(t, w.engine.taken(), 1)
}

// TestPutApp_SecretsElsewhere writes secrets to members that are returned, and values that the engine does not accept.
func TestPutApp_SecretsElsewhere(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	bundle := "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n" +
		"-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n"
	for member, change := range map[string]func(*engine.Target){
		"target.tls.certificate":     func(t *engine.Target) { t.TLS.Certificate = bundle },
		"target.tls.ca":              func(t *engine.Target) { t.TLS.CA = bundle },
		"target.auth.oauth.tokenUrl": func(t *engine.Target) { t.Auth.OAuth.TokenURL = "https://id:s3cr3t@example.com/token" },
		"target.tls.minVersion":      func(t *engine.Target) { t.TLS.MinVersion = "1.4" },
		"target.maintenance[0].days": func(t *engine.Target) {
			t.Maintenance = []engine.Window{{From: "22:00", To: "23:00", Days: []time.Weekday{7}}}
		},
	} {
		a := app("bad", 1)
		change(&a.Target)
		_, err := w.PutApp(t.Context(), a)
		input, ok := errors.AsType[*desired.InputError](err)
		require.True(t, ok, "%s: %v", member, err)
		require.Equal(t, member, input.Member)
		require.NotContains(t, fmt.Sprint(err), "s3cr3t")
	}
}
