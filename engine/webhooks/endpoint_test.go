package webhooks_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestEndpoint_Stored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := webhooks.Endpoint{
			App: "crm", URL: "https://hooks.example.com/crm?a=b", Types: []engine.EventType{engine.UserCreated}, Description: "CRM", Disabled: true,
		}
		e, secret, err := w.Create(t.Context(), in, webhooks.CreateOptions{})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(secret, "whsec_"))
		require.Equal(t, e, w.get(e.ID))
		require.False(t, e.Created.IsZero())
		in.ID, in.Version, in.Created, in.Changed = e.ID, 1, e.Created, e.Changed
		require.Equal(t, in, e)

		e.URL, e.Types, e.Description = "https://hooks.example.com/", nil, ""
		changed, err := w.Update(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, e.URL, changed.URL)
		require.Empty(t, changed.Types)
		require.EqualValues(t, 2, changed.Version)
		e.App = "erp"
		_, err = w.Update(t.Context(), e)
		require.Error(t, err, "the app cannot be changed")

		require.NoError(t, w.Delete(t.Context(), e.ID))
		_, err = w.Get(t.Context(), e.ID)
		require.ErrorIs(t, err, webhooks.ErrNotFound)
		require.ErrorIs(t, w.Delete(t.Context(), e.ID), webhooks.ErrNotFound)
		_, err = w.Update(t.Context(), e)
		require.ErrorIs(t, err, webhooks.ErrNotFound)
		_, err = w.Rotate(t.Context(), e.ID, "", 0)
		require.ErrorIs(t, err, webhooks.ErrNotFound)
		_, err = w.ReplayAll(t.Context(), e.ID)
		require.ErrorIs(t, err, webhooks.ErrNotFound)
	})
}

func TestEndpoint_InvalidRejected(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t), func(o *webhooks.Options) { o.AllowHTTP = false })
	for name, c := range map[string]struct {
		change func(e *webhooks.Endpoint, o *webhooks.CreateOptions)
		field  string
	}{
		"app and prefix":  {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.Prefix = "a:" }, "Prefix"},
		"long app":        {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.App = strings.Repeat("a", 257) }, "App"},
		"control":         {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.App = "a\x00" }, "App"},
		"no URL":          {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "" }, "URL"},
		"http":            {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "http://example.com" }, "URL"},
		"file":            {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "file:///etc/passwd" }, "URL"},
		"no host":         {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "https:///x" }, "URL"},
		"opaque":          {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "https:x" }, "URL"},
		"credentials":     {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "https://a:b@example.com" }, "URL"},
		"fragment":        {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "https://example.com#x" }, "URL"},
		"invalid URL":     {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL = "https://%zz" }, "URL"},
		"long URL":        {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.URL += strings.Repeat("a", 2048) }, "URL"},
		"type":            {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.Types = []engine.EventType{"user.renamed"} }, "Types"},
		"description":     {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.Description = strings.Repeat("a", 1025) }, "Description"},
		"secret":          {func(_ *webhooks.Endpoint, o *webhooks.CreateOptions) { o.Secret = "secret" }, "Secret"},
		"short secret":    {func(_ *webhooks.Endpoint, o *webhooks.CreateOptions) { o.Secret = "whsec_AAAA" }, "Secret"},
		"not base64":      {func(_ *webhooks.Endpoint, o *webhooks.CreateOptions) { o.Secret = "whsec_" + strings.Repeat("?", 40) }, "Secret"},
		"type of the gap": {func(e *webhooks.Endpoint, _ *webhooks.CreateOptions) { e.Types = []engine.EventType{webhooks.Missed} }, "Types"},
	} {
		e, o := webhooks.Endpoint{App: "crm", URL: "https://example.com/"}, webhooks.CreateOptions{}
		c.change(&e, &o)
		_, _, err := w.Create(t.Context(), e, o)
		input, ok := errors.AsType[*webhooks.InputError](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, c.field, input.Field, name)
		if len(o.Secret) > 10 {
			require.NotContains(t, err.Error(), o.Secret, name)
		}
	}
	all, err := w.List(t.Context(), webhooks.Query{})
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestEndpoints_Limited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		create := func(e webhooks.Endpoint) error {
			e.URL = "https://example.com/"
			_, _, err := w.Create(t.Context(), e, webhooks.CreateOptions{})
			return err
		}
		require.NoError(t, create(webhooks.Endpoint{App: "crm"}))
		require.NoError(t, create(webhooks.Endpoint{App: "crm"}))
		require.Equal(t, &webhooks.LimitError{Limit: 2, Scope: true}, create(webhooks.Endpoint{App: "crm"}))
		require.NoError(t, create(webhooks.Endpoint{Prefix: "crm"}))
		require.Equal(t, &webhooks.LimitError{Limit: 3}, create(webhooks.Endpoint{App: "erp"}))
	}, func(o *webhooks.Options) { o.MaxEndpoints, o.MaxPerScope = 3, 2 })
}

func TestList_PagesWithinTenant(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want := map[string]bool{}
		for _, e := range []webhooks.Endpoint{
			{App: "ämter:crm"}, {App: "ämter:erp"}, {Prefix: "ämter:"}, {App: "ämter2:crm"}, {Prefix: ""}, {App: "other:crm"},
		} {
			e.URL, e.Disabled = "https://example.com/", true
			e, _, err := w.Create(t.Context(), e, webhooks.CreateOptions{})
			require.NoError(t, err)
			if strings.HasPrefix(e.App+e.Prefix, "ämter:") {
				want[e.ID] = true
			}
		}
		after, got := "", map[string]bool{}
		for {
			page, err := w.List(t.Context(), webhooks.Query{Within: "ämter:", After: after, Limit: 2})
			require.NoError(t, err)
			for _, e := range page {
				got[e.ID], after = true, e.ID
			}
			if len(page) < 2 {
				break
			}
		}
		require.Equal(t, want, got)
	})
}

func TestLetters_Pages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusBadRequest })
		id, _ := w.endpoint(x)
		for i := range 7 {
			w.source.user(fmt.Sprint("u-", i))
		}
		w.idle(id)
		var seqs []int64
		q := webhooks.LetterQuery{Endpoint: id, Dead: true, Limit: 3}
		for {
			page, err := w.Letters(t.Context(), q)
			require.NoError(t, err)
			for _, l := range page {
				seqs = append(seqs, l.Seq)
				q.After = &l
			}
			if len(page) < 3 {
				break
			}
		}
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7}, seqs)
		x.responds(nil)
		n, err := w.ReplayAll(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, 7, n)
		w.received(x, 14)
		w.idle(id)
		require.Empty(t, w.letters(id, true))
	}, func(o *webhooks.Options) { o.Attempts = 1; o.HoldAfter = 100 })
}

// During the overlap, both secrets sign; afterwards only the new one.
func TestRotate_BothSecretsSign(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		id, first := w.endpoint(x)
		second, err := w.Rotate(t.Context(), id, "", time.Hour)
		require.NoError(t, err)
		require.NotEqual(t, first, second)
		// signed waits for a message that exactly these secrets have signed: a round that is running has read the previous secrets.
		signed := func(yes, no []string) {
			t.Helper()
			w.poll("a message with the signatures", func() bool {
				n := len(x.requests()) + 1
				w.source.user("u-1")
				w.received(x, n)
				r := x.requests()[n-1]
				verified := func(secret string) bool {
					return webhooks.Verify(r.headers, []byte(r.body), w.clock.now(), secret) == nil
				}
				return !slices.ContainsFunc(no, verified) && !slices.ContainsFunc(yes, func(s string) bool { return !verified(s) })
			})
		}
		signed([]string{first, second}, nil)
		w.clock.advance(time.Hour)
		signed([]string{second}, []string{first})
		third, err := w.Rotate(t.Context(), id, "", 0)
		require.NoError(t, err)
		signed([]string{third}, []string{second})

		given := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
		fourth, err := w.Rotate(t.Context(), id, given, time.Hour)
		require.NoError(t, err)
		require.Equal(t, given, fourth)
		_, err = w.Rotate(t.Context(), id, "", -1)
		require.Error(t, err)
		_, err = w.Rotate(t.Context(), id, "whsec_", 0)
		require.Error(t, err)
	})
}

func TestSecrets_Encrypted(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db)
		x := newReceiver(t, nil)
		id, first := w.endpoint(x)
		second, err := w.Rotate(t.Context(), id, "", time.Hour)
		require.NoError(t, err)
		conn := db.Writer()
		if db.Dialect() == sqldb.SQLite {
			conn = db.Readers()
		}
		all := strings.Join(sqldbtest.Fingerprint(t, conn, db.Dialect(), "scimwright_webhook_endpoint"), "\n")
		require.Contains(t, all, x.URL)
		for _, secret := range []string{first, second} {
			require.NotContains(t, all, secret)
			require.NotContains(t, all, strings.TrimPrefix(secret, "whsec_"))
		}
	})
}

func TestOpen_OptionsChecked(t *testing.T) {
	db := sqldbtest.SQLite(t)
	for name, change := range map[string]func(*webhooks.Options){
		"source":   func(o *webhooks.Options) { o.Source = nil },
		"seal":     func(o *webhooks.Options) { o.Seal = nil },
		"negative": func(o *webhooks.Options) { o.Attempts = -1 },
		"dialect":  func(o *webhooks.Options) { o.Dialect = "mysql" },
	} {
		o := options(t, db)
		o.Source = &events{}
		change(&o)
		_, err := webhooks.Open(t.Context(), db.Readers(), o)
		require.Error(t, err, name)
	}
}

func TestService_StopsTwice(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	require.NoError(t, w.Start(t.Context()))
	require.NoError(t, w.Stop(t.Context()))
	require.NoError(t, w.Stop(context.Background()))
	require.Error(t, w.Start(t.Context()))
	w.Wake("crm")
}

// A stopped Service releases its endpoints, so that another one delivers immediately although the lease has not ended.
func TestService_StopReleasesEndpoints(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, func(o *webhooks.Options) { o.Lease = 24 * time.Hour })
		x := newReceiver(t, nil)
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.idle(id)
		require.NoError(t, w.Stop(t.Context()))
		w.source.user("u-1")

		o := options(t, db)
		o.Source = w.source
		next := open(t, db, o)
		require.NoError(t, next.Start(t.Context()))
		w.idle(id)
		require.Equal(t, []int64{1, 2}, x.seqs())
	})
}

// Of two processes, one delivers to an endpoint at a time: no event is delivered twice.
func TestService_ProcessesShareEndpoints(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newWorld(t, db, func(o *webhooks.Options) { o.Lease = 24 * time.Hour })
		o := options(t, db)
		o.Source, o.Lease = w.source, 24*time.Hour
		other := open(t, db, o)
		require.NoError(t, other.Start(t.Context()))
		x := newReceiver(t, nil)
		id, _ := w.endpoint(x)
		for i := range 50 {
			w.source.user(fmt.Sprint("u-", i%5))
			other.Wake("crm")
		}
		w.idle(id)
		require.Len(t, x.requests(), 50)
	})
}

// TestTypes_Complete checks that Types lists every constant of the type engine.EventType.
func TestTypes_Complete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../events.go", nil, 0)
	require.NoError(t, err)
	var want []engine.EventType
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok && s.Type != nil && fmt.Sprint(s.Type) == "EventType" {
			text, ok := s.Values[0].(*ast.BasicLit)
			require.True(t, ok)
			want = append(want, engine.EventType(strings.Trim(text.Value, `"`)))
		}
		return true
	})
	require.ElementsMatch(t, want, webhooks.Types())
}
