package desired_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// everything is a target with a value in each field.
func everything() engine.Target {
	return engine.Target{
		BaseURL: "https://example.com/scim/v2",
		Auth: engine.Auth{Scheme: engine.ClientCredentials, Secret: "s3cr3t", OAuth: engine.OAuth{
			TokenURL: "https://example.com/token", ClientID: "c", Scope: "a b", InBody: true,
		}},
		TLS:   engine.TLS{CA: "ca", Certificate: "cert", Key: "key-4711", MinVersion: "1.3"},
		Style: engine.Wizard, Fallback: engine.FallbackNone,
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true, SyncPasswords: true,
		UserNameAttribute: "nickName", OnMissing: engine.Fail, OnExisting: engine.LinkAsk, OnRecycled: engine.LinkNever, HoldNames: "-",
		Concurrency: 2, Timeout: 3 * time.Second, MemberBatch: 4, Rate: 5.5, Burst: 6,
		Guard:        engine.Guard{Limit: 7, Percent: 8.5, Window: time.Hour},
		AsyncTimeout: time.Minute, MaxPending: 9,
		Maintenance: []engine.Window{
			{Days: []time.Weekday{time.Sunday, time.Friday}, From: "22:00", To: "04:00", Zone: "Europe/Berlin"},
			{Begin: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Until: time.Date(2030, 1, 3, 3, 4, 5, 0, time.UTC)},
		},
		Paused: true,
	}
}

func TestPutApp_EveryField(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want := everything()
		a := desired.App{ID: "full", Version: 1, Target: want, Mapping: mapped(1, "example.com").Mapping}
		_, err := w.PutApp(t.Context(), a)
		require.NoError(t, err)
		got, err := w.Target(t.Context(), "full")
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got))
		shown, err := w.App(t.Context(), "full")
		require.NoError(t, err)
		require.Empty(t, shown.Target.Auth.Secret)
		require.Empty(t, shown.Target.TLS.Key)
		require.True(t, shown.HasCredentials)
		require.Equal(t, a.Mapping, shown.Mapping)
		changed, err := w.PutApp(t.Context(), a)
		require.NoError(t, err)
		require.False(t, changed)
		a.Target.Auth.Secret = "other"
		_, err = w.PutApp(t.Context(), a)
		require.Equal(t, &desired.ContentError{Version: 1}, err, "the same version with another secret")
		a.Version = 2
		_, err = w.PutApp(t.Context(), a)
		require.NoError(t, err)
		got, err = w.Target(t.Context(), "full")
		require.NoError(t, err)
		require.Equal(t, "other", got.Auth.Secret)
	})
}

// TestSecrets_EncryptedAtRest checks that no column contains a secret, and that a Store without a key neither stores nor returns one.
func TestSecrets_EncryptedAtRest(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		_, err := w.PutApp(t.Context(), desired.App{ID: "full", Version: 1, Target: everything()})
		require.NoError(t, err)
		u := user("u-1", 1, "ann")
		u.Password, u.PasswordVersion = "pass-4711", "1"
		w.put(desired.Applied, u)
		w.put(desired.Unchanged, u)
		w.engine.taken()
		u.Password = "other"
		require.Error(t, w.reject(u))
		for _, query := range []string{
			`SELECT doc || secrets FROM scimwright_desired_app`, `SELECT doc || password FROM scimwright_desired_principal`,
		} {
			rows, err := db.Reader().Query(t.Context(), query)
			require.NoError(t, err)
			for rows.Next() {
				var text string
				require.NoError(t, rows.Scan(&text))
				for _, secret := range []string{"s3cr3t", "4711", "other"} {
					require.NotContains(t, text, secret)
				}
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
		}
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, "pass-4711", state.Password)
		shown, err := w.StoredUser(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Empty(t, shown.Password)
		require.True(t, shown.HasPassword)

		bare := open(t, db, func(o *desired.Options) { o.Seal = nil })
		bare.Attach(w.engine)
		_, err = bare.PutApp(t.Context(), desired.App{ID: "full", Version: 2, Target: everything()})
		require.ErrorIs(t, err, desired.ErrNoSeal)
		_, err = bare.Target(t.Context(), "full")
		require.ErrorIs(t, err, desired.ErrNoSeal)
		u.Version = 2
		out, err := bare.Write(t.Context(), "crm", u, user("u-2", 1, "bob"))
		require.NoError(t, err)
		require.ErrorIs(t, out[0].Err, desired.ErrNoSeal)
		require.NoError(t, out[1].Err)
	})
}

// TestSecrets_LostKey checks that new credentials replace those that cannot be decrypted.
func TestSecrets_LostKey(t *testing.T) {
	db := sqldbtest.SQLite(t)
	w := newWorld(t, db)
	a := app("crm", 2)
	a.Target.Auth.Secret = "s3cr3t"
	_, err := w.PutApp(t.Context(), a)
	require.NoError(t, err)
	other, err := desired.NewKey([]byte(strings.Repeat("o", 32)))
	require.NoError(t, err)
	lost := open(t, db, func(o *desired.Options) { o.Seal = other })
	lost.Attach(w.engine)
	_, err = lost.Target(t.Context(), "crm")
	require.ErrorContains(t, err, "cannot be opened")
	a.Version = 3
	_, err = lost.PutApp(t.Context(), a)
	require.NoError(t, err)
	got, err := lost.Target(t.Context(), "crm")
	require.NoError(t, err)
	require.Equal(t, "s3cr3t", got.Auth.Secret)
}

func TestPutApp_Marks(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put(desired.Applied, user("u-1", 1, "ann"))
		w.put(desired.Applied, group("g-1", 1, "Sales"))
		w.engine.taken()
		a := app("crm", 1)
		put := func(change func(*desired.App)) {
			t.Helper()
			a.Version++
			change(&a)
			_, err := w.PutApp(t.Context(), a)
			require.NoError(t, err)
		}
		put(func(*desired.App) {})
		require.Empty(t, w.engine.taken())
		put(func(a *desired.App) { a.Target.Paused = true })
		require.Equal(t, []engine.Mark{{App: "crm", Kind: engine.User, ID: "u-1", Retry: true}}, w.engine.taken(), "the lane reads the target")
		put(func(a *desired.App) { a.Target.Auth.Secret = "new" })
		require.Len(t, w.engine.taken(), 1, "new credentials end a quarantine")
		require.Empty(t, w.engine.all)
		put(func(a *desired.App) { a.Mapping = mapped(1, "example.com").Mapping })
		require.Equal(t, []engine.MarkAll{{App: "crm", Retry: true}}, w.engine.all)
		put(func(a *desired.App) { a.Target.BaseURL = "https://other.example.com" })
		require.Equal(t, engine.MarkAll{App: "crm", Retry: true, AllMembers: true}, w.engine.all[1])
	})
}

func TestDeleteApp_RemovesEverything(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put(desired.Applied, user("u-1", 1, "ann"))
		w.put(desired.Applied, desired.Members{Group: "g", Version: 1, Users: []string{"u-1"}})
		_, err := w.DeleteApp(t.Context(), "crm", 1)
		require.Equal(t, &desired.ContentError{Version: 1}, err)
		for _, changed := range []bool{true, false} {
			did, err := w.DeleteApp(t.Context(), "crm", 3)
			require.NoError(t, err)
			require.Equal(t, changed, did)
		}
		require.Equal(t, []string{"crm"}, w.engine.gone)
		_, err = w.PutApp(t.Context(), app("crm", 2))
		require.Equal(t, &desired.StaleError{Current: 3}, err, "a late creation has no effect")
		_, err = w.PutApp(t.Context(), app("crm", 3))
		require.Equal(t, &desired.ContentError{Version: 3}, err)

		// No query returns Absent for an app that is deleted: the engine would deactivate its accounts.
		_, err = w.Target(t.Context(), "crm")
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.User(t.Context(), "crm", "u-1")
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.Group(t.Context(), "crm", "g")
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.Members(t.Context(), "crm", "g", "", 10)
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.IsMember(t.Context(), "crm", "g", []string{"u-1"})
		require.ErrorIs(t, err, engine.ErrUnknownApp)
		_, err = w.PutUser(t.Context(), "crm", user("u-1", 9, "ann"))
		require.ErrorIs(t, err, engine.ErrUnknownApp)

		_, err = w.PutApp(t.Context(), app("crm", 4))
		require.NoError(t, err)
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Absent, state.Want)
		require.Empty(t, w.users("g"))
		apps, err := w.Apps(t.Context(), "", 10)
		require.NoError(t, err)
		require.Len(t, apps, 1)

		_, err = w.DeleteApp(t.Context(), "never", 5)
		require.NoError(t, err)
		_, err = w.PutApp(t.Context(), app("never", 4))
		require.Equal(t, &desired.StaleError{Current: 5}, err)
	})
}

func TestMapping_DerivedAtRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		require.ErrorContains(t, w.reject(desired.User{ID: "u-1", Version: 1, Want: engine.Active, Profile: map[string]any{"login": "ann"}}),
			"no mapping rules")
		_, err := w.PutApp(t.Context(), mapped(2, "example.com"))
		require.NoError(t, err)
		ann := desired.User{ID: "u-1", Version: 1, Want: engine.Active, Profile: map[string]any{"login": "ann", "age": 7}}
		w.put(desired.Applied, ann)
		w.put(desired.Unchanged, ann)
		state, err := w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, "ann@example.com", state.UserName)
		require.Equal(t, "ann", state.Resource.ExternalID())
		require.Equal(t, "en", state.OnCreate.Text("locale"))
		explained, err := w.Explain(t.Context(), "crm", engine.User, "u-1")
		require.NoError(t, err)
		require.Equal(t, "userName", explained.Values[0].Path)
		require.Equal(t, "ann@example.com", explained.Values[0].Value)

		_, err = w.PutApp(t.Context(), mapped(3, "example.org"))
		require.NoError(t, err)
		state, err = w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, "ann@example.org", state.UserName)

		// A rule that fails makes the state of an active user unavailable; a deactivation does not need the resource.
		_, err = w.PutApp(t.Context(), app("crm", 4))
		require.NoError(t, err)
		_, err = w.User(t.Context(), "crm", "u-1")
		require.ErrorContains(t, err, "no mapping rules")
		w.put(desired.Applied, desired.User{ID: "u-1", Version: 2, Want: engine.Inactive})
		state, err = w.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Inactive, state.Want)
	})
}

func TestMatch_KeysFollowMapping(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.PutApp(t.Context(), mapped(2, "example.com"))
		require.NoError(t, err)
		for _, id := range []string{"ann", "bob"} {
			w.put(desired.Applied, desired.User{ID: "u-" + id, Version: 1, Want: engine.Active, Profile: map[string]any{"login": id}})
		}
		find := func(o engine.RemoteObject) (ids []string) {
			t.Helper()
			out, err := w.Match(t.Context(), "crm", engine.User, []engine.RemoteObject{o})
			require.NoError(t, err)
			require.Len(t, out, 1)
			for _, c := range out[0] {
				ids = append(ids, c.ID)
			}
			return ids
		}
		require.Equal(t, []string{"u-ann"}, find(engine.RemoteObject{UserName: "ANN@example.com"}))
		require.Equal(t, []string{"u-ann"}, find(engine.RemoteObject{UserName: "ann@other.example"}), "the same part before the @")
		require.Equal(t, []string{"u-bob"}, find(engine.RemoteObject{ExternalID: "bob"}))
		require.Empty(t, find(engine.RemoteObject{UserName: "an"}))
		changed := mapped(3, "example.org")
		changed.Mapping.Rules[0].Expression = `"x-" + user.login`
		_, err = w.PutApp(t.Context(), changed)
		require.NoError(t, err)
		require.Equal(t, []string{"u-ann"}, find(engine.RemoteObject{UserName: "x-ann"}), "after a change of the mapping")
		require.Empty(t, find(engine.RemoteObject{UserName: "ann@example.com"}))
	})
}

func TestMatch_AddressesAndGroups(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		u := user("u-1", 1, "ann")
		u.Resource.Set("emails", []any{
			map[string]any{"value": "Second@example.com"}, map[string]any{"value": "first@example.com", "primary": true},
		})
		w.put(desired.Applied, u)
		w.put(desired.Applied, group("g-1", 1, "Sales"))
		w.put(desired.Applied, user("u-2", 1, strings.Repeat("long", 1000)))
		match := func(kind engine.Kind, o engine.RemoteObject) []engine.Candidate {
			t.Helper()
			out, err := w.Match(t.Context(), "crm", kind, []engine.RemoteObject{o})
			require.NoError(t, err)
			return out[0]
		}
		for _, email := range []string{"first@example.com", "second@example.com"} {
			found := match(engine.User, engine.RemoteObject{Email: email})
			require.Len(t, found, 1, email)
			require.Equal(t, []string{"first@example.com", "Second@example.com"}, found[0].Emails)
		}
		require.Equal(t, "g-1", match(engine.Group, engine.RemoteObject{UserName: "sales"})[0].ID)
		u.Version, u.Resource = 2, resource("u-1", "ann")
		w.put(desired.Applied, u)
		require.Empty(t, match(engine.User, engine.RemoteObject{Email: "second@example.com"}))
		require.Len(t, match(engine.User, engine.RemoteObject{UserName: "ann"}), 1)
		w.put(desired.Applied, desired.User{ID: "u-1", Version: 3, Want: engine.Absent, Resource: u.Resource})
		require.Empty(t, match(engine.User, engine.RemoteObject{UserName: "ann"}), "a deleted user is not a candidate")
	})
}

func TestPutApp_Invalid(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	for name, c := range map[string]struct {
		change func(*desired.App)
		member string
	}{
		"id":        {func(a *desired.App) { a.ID = "a/b" }, "app"},
		"dots":      {func(a *desired.App) { a.ID = ".." }, "app"},
		"long id":   {func(a *desired.App) { a.ID = strings.Repeat("a", desired.MaxAppID+1) }, "app"},
		"version":   {func(a *desired.App) { a.Version = 0 }, "version"},
		"high":      {func(a *desired.App) { a.Version = desired.MaxVersion + 1 }, "version"},
		"URL":       {func(a *desired.App) { a.Target.BaseURL = "ftp://example.com" }, "target.baseUrl"},
		"URL user":  {func(a *desired.App) { a.Target.BaseURL = "https://u:p@example.com" }, "target.baseUrl"},
		"style":     {func(a *desired.App) { a.Target.Style = "x" }, "target.style"},
		"scheme":    {func(a *desired.App) { a.Target.Auth.Scheme = "x" }, "target.auth.scheme"},
		"names":     {func(a *desired.App) { a.Target.HoldNames = "(" }, "target.holdNames"},
		"attribute": {func(a *desired.App) { a.Target.UserNameAttribute = "a b" }, "target.userNameAttribute"},
		"negative":  {func(a *desired.App) { a.Target.Rate = -1 }, "target"},
		"rule": {func(a *desired.App) {
			a.Mapping.Rules = []mapping.Rule{{Target: "userName", Expression: "user.nosuch"}}
		}, "mapping"},
		"secret": {func(a *desired.App) { a.Target.Auth.Secret = strings.Repeat("s", 1<<20) }, "target.auth.secret"},
		"header": {func(a *desired.App) { a.Target.Auth.Header = "a\nb" }, "target.auth.header"},
	} {
		a := app("bad", 1)
		c.change(&a)
		_, err := w.PutApp(t.Context(), a)
		var input *desired.InputError
		require.ErrorAs(t, err, &input, name)
		require.Equal(t, c.member, input.Member, name)
	}
	_, err := w.App(t.Context(), "bad")
	require.ErrorIs(t, err, engine.ErrUnknownApp)
}
