package session_test

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// each runs a test on each kind of database, with a clock that the test moves.
func each(t *testing.T, fn func(t *testing.T, db *sqldb.DB, s *session.Store, move func(time.Duration))) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		var moved atomic.Int64
		start := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		s, err := session.Open(t.Context(), db, func() time.Time { return start.Add(time.Duration(moved.Load())) })
		require.NoError(t, err)
		fn(t, db, s, func(d time.Duration) { moved.Add(int64(d)) })
	})
}

// The database has neither the cookie nor the credential in a readable form.
func TestSession_StoredWithoutSecrets(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB, s *session.Store, _ func(time.Duration)) {
		cookie, err := s.Create(t.Context(), "localhost", "the-secret-credential", true)
		require.NoError(t, err)
		found, err := s.Get(t.Context(), "localhost", cookie)
		require.NoError(t, err)
		require.Equal(t, "the-secret-credential", found.Credential)
		require.True(t, found.Granted)
		require.NotEmpty(t, found.CSRF)
		require.NotEqual(t, cookie, found.CSRF)

		var digest, credential string
		row := db.Reader().QueryRow(t.Context(), `SELECT digest, credential FROM scimwright_console_session`)
		require.NoError(t, row.Scan(&digest, &credential))
		for _, stored := range []string{digest, credential} {
			require.NotContains(t, stored, cookie)
			require.NotContains(t, stored, "the-secret-credential")
		}
	})
}

func TestSession_OtherCookieOrHost(t *testing.T) {
	each(t, func(t *testing.T, _ *sqldb.DB, s *session.Store, _ func(time.Duration)) {
		cookie, err := s.Create(t.Context(), "localhost", "c", false)
		require.NoError(t, err)
		for _, other := range [][2]string{{"id.example.com", cookie}, {"localhost", cookie + "x"}, {"localhost", ""}, {"localhost", "'"}} {
			_, err = s.Get(t.Context(), other[0], other[1])
			require.ErrorIs(t, err, session.ErrNone)
		}
		require.NoError(t, s.Delete(t.Context(), cookie))
		_, err = s.Get(t.Context(), "localhost", cookie)
		require.ErrorIs(t, err, session.ErrNone)
	})
}

func TestSession_Expires(t *testing.T) {
	each(t, func(t *testing.T, _ *sqldb.DB, s *session.Store, move func(time.Duration)) {
		idle, err := s.Create(t.Context(), "localhost", "c", false)
		require.NoError(t, err)
		used, err := s.Create(t.Context(), "localhost", "c", false)
		require.NoError(t, err)
		for passed := time.Duration(0); passed < session.Lifetime-time.Hour; passed += time.Hour {
			_, err = s.Get(t.Context(), "localhost", used)
			require.NoError(t, err, "after %s", passed)
			move(time.Hour)
		}
		_, err = s.Get(t.Context(), "localhost", idle)
		require.ErrorIs(t, err, session.ErrNone, "not used for longer than Idle")
		_, err = s.Get(t.Context(), "localhost", used)
		require.NoError(t, err)
		move(time.Hour)
		_, err = s.Get(t.Context(), "localhost", used)
		require.ErrorIs(t, err, session.ErrNone, "older than Lifetime")
	})
}

// The number of sessions is bounded; the session that was not used for the longest time ends.
func TestSession_NumberIsBounded(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB, s *session.Store, move func(time.Duration)) {
		first, err := s.Create(t.Context(), "localhost", "c", false)
		require.NoError(t, err)
		last := ""
		for range session.Max {
			move(time.Second)
			last, err = s.Create(t.Context(), "localhost", "c", false)
			require.NoError(t, err)
		}
		var n int
		require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT COUNT(*) FROM scimwright_console_session`).Scan(&n))
		require.Equal(t, session.Max, n)
		_, err = s.Get(t.Context(), "localhost", first)
		require.ErrorIs(t, err, session.ErrNone)
		_, err = s.Get(t.Context(), "localhost", last)
		require.NoError(t, err)
	})
}

func TestCode_ValidOnce(t *testing.T) {
	each(t, func(t *testing.T, _ *sqldb.DB, s *session.Store, move func(time.Duration)) {
		code, err := s.NewCode(t.Context())
		require.NoError(t, err)
		require.False(t, strings.ContainsAny(code, "+/= "))
		var valid atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				ok, err := s.UseCode(t.Context(), code)
				if err != nil {
					t.Error(err)
				}
				if ok {
					valid.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, valid.Load())

		late, err := s.NewCode(t.Context())
		require.NoError(t, err)
		move(session.CodeLifetime)
		ok, err := s.UseCode(t.Context(), late)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// Two processes that share a database share sessions and codes.
func TestSession_Shared(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB, s *session.Store, _ func(time.Duration)) {
		now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		other, err := session.Open(t.Context(), db, func() time.Time { return now })
		require.NoError(t, err)
		cookie, err := s.Create(t.Context(), "localhost", "c", false)
		require.NoError(t, err)
		found, err := other.Get(t.Context(), "localhost", cookie)
		require.NoError(t, err)
		require.Equal(t, "c", found.Credential)
		code, err := other.NewCode(t.Context())
		require.NoError(t, err)
		ok, err := s.UseCode(t.Context(), code)
		require.NoError(t, err)
		require.True(t, ok)
	})
}
