package desired_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestReseal_ReplacesKey encrypts the secrets of several apps and of more users than one transaction has again.
func TestReseal_ReplacesKey(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		old, next, lost := []byte(strings.Repeat("o", 32)), []byte(strings.Repeat("n", 32)), []byte(strings.Repeat("l", 32))
		with := func(first []byte, others ...[]byte) *desired.Store {
			keys, err := desired.NewKeys(first, others...)
			require.NoError(t, err)
			s := open(t, db, func(o *desired.Options) { o.Seal = keys })
			s.Attach(&recorder{})
			return s
		}
		const users = 601
		apps := []string{"a", "b", "c"}
		s := with(old)
		for _, app := range apps {
			target := engine.Target{BaseURL: "https://x.example/scim", Auth: engine.Auth{Secret: "secret of " + app}}
			_, err := s.PutApp(t.Context(), desired.App{ID: app, Version: 1, Target: target})
			require.NoError(t, err)
		}
		put := func(s *desired.Store, app string, from, to int) {
			var changes []desired.Change
			for i := from; i < to; i++ {
				changes = append(changes, desired.User{
					ID: fmt.Sprintf("u-%04d", i), Version: 1, Want: engine.Active, Resource: resource(fmt.Sprintf("u-%04d", i), fmt.Sprint("user", i)),
					Password: fmt.Sprint("password ", i), PasswordVersion: "1",
				})
			}
			outcomes, err := s.Write(t.Context(), app, changes...)
			require.NoError(t, err)
			require.NoError(t, outcomes[0].Err)
		}
		put(s, "a", 0, users)
		put(s, "b", 0, 1)
		put(with(lost), "c", 0, 1)

		changed, unreadable, err := with(next, old).Reseal(t.Context())
		require.NoError(t, err)
		require.Equal(t, users+1+len(apps), changed)
		require.Equal(t, 1, unreadable)
		changed, _, err = with(next, old).Reseal(t.Context())
		require.NoError(t, err)
		require.Zero(t, changed, "a repetition changes nothing")

		s = with(next)
		for _, app := range apps {
			target, err := s.Target(t.Context(), app)
			require.NoError(t, err)
			require.Equal(t, "secret of "+app, target.Auth.Secret)
		}
		for _, i := range []int{0, 499, 500, users - 1} {
			u, err := s.User(t.Context(), "a", fmt.Sprintf("u-%04d", i))
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint("password ", i), u.Password)
		}
		_, _, err = open(t, db, func(o *desired.Options) { o.Seal = nil }).Reseal(t.Context())
		require.ErrorIs(t, err, desired.ErrNoSeal)
	})
}

// TestWithoutSecrets_Rejects checks every write that may contain a secret. In a snapshot, the user of a rejected line still exists.
func TestWithoutSecrets_Rejects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := desired.WithoutSecrets(t.Context())
		target := engine.Target{BaseURL: "https://x.example/scim"}
		_, err := w.PutApp(ctx, desired.App{ID: "hr", Version: 1, Target: target})
		require.NoError(t, err)
		for _, edit := range []func(*engine.Target){
			func(t *engine.Target) { t.Auth.Secret = "s" }, func(t *engine.Target) { t.TLS.Key = "k" },
		} {
			with := target
			edit(&with)
			_, err = w.PutApp(ctx, desired.App{ID: "hr", Version: 2, Target: with})
			require.ErrorIs(t, err, desired.ErrSecrets)
		}
		u := desired.User{ID: "u-1", Version: 1, Want: engine.Keep}
		_, err = w.PutUser(t.Context(), "crm", u)
		require.NoError(t, err)
		number, err := w.BeginSnapshot(t.Context(), "crm", engine.User)
		require.NoError(t, err)
		report, err := w.Batch(ctx, "crm", strings.NewReader(`{"op":"putUser","id":"u-1","version":2,"want":"keep","password":"p"}`),
			desired.BatchOptions{Snapshot: number})
		require.NoError(t, err)
		require.Equal(t, 1, report.Failed)
		require.True(t, errors.Is(report.FailedLines[0].Err, desired.ErrSecrets))
		snapshot, err := w.EndSnapshot(t.Context(), "crm", number)
		require.NoError(t, err)
		require.Zero(t, snapshot.Missing)
	})
}
