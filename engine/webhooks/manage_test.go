package webhooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestEndpoints_LimitedWithinTenant(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		create := func(app string) error {
			_, _, err := w.Create(t.Context(), webhooks.Endpoint{App: app, URL: "https://example.com/"},
				webhooks.CreateOptions{Within: "ämter:", MaxWithin: 2})
			return err
		}
		require.NoError(t, create("ämter2:crm"))
		require.NoError(t, create("ämter:crm"))
		require.NoError(t, create("ämter:erp"))
		require.Equal(t, &webhooks.LimitError{Limit: 2, Within: true}, create("ämter:hr"))
	})
}

// TestMessage_ShownApp requires the id of the app that Options.Shown returns, in messages of events and of missing events.
func TestMessage_ShownApp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		for range 3 {
			w.source.add("acme:crm", engine.User, "u-1", engine.UserUpdated)
		}
		w.source.trim("acme:crm", 1)
		_, _, err := w.Create(t.Context(), webhooks.Endpoint{Prefix: "acme:", URL: x.URL}, webhooks.CreateOptions{FromStart: true})
		require.NoError(t, err)
		w.received(x, 2)
		require.Equal(t, webhooks.Missed, x.requests()[0].Type)
		for _, r := range x.requests() {
			require.Equal(t, "crm", r.Data.App)
			require.NotContains(t, r.body, "acme")
		}
	}, func(o *webhooks.Options) {
		o.Shown = func(app string) string { return strings.TrimPrefix(app, "acme:") }
	})
}

// TestEnable_DeliversWaiting disables an endpoint by a response 410, whose message is delivered after Enable.
func TestEnable_DeliversWaiting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		status := make(chan int, 2)
		status <- http.StatusGone
		x := newReceiver(t, func(http.ResponseWriter, request) int { return <-status })
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.poll("the endpoint is disabled", func() bool { return w.get(id).Disabled })
		status <- http.StatusOK
		e, err := w.Enable(t.Context(), id)
		require.NoError(t, err)
		require.False(t, e.Disabled)
		require.Empty(t, e.Reason)
		w.received(x, 2)
		w.idle(id)
		_, err = w.Enable(t.Context(), "ep_none")
		require.ErrorIs(t, err, webhooks.ErrNotFound)
	})
}

func TestDiscard_DeadLetterOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusBadRequest })
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.source.user("u-2")
		w.poll("two dead letters", func() bool { return len(w.letters(id, true)) == 2 })
		letters := w.letters(id, true)
		require.ErrorIs(t, w.Discard(t.Context(), "ep_none", letters[0].ID), webhooks.ErrNotFound)
		require.NoError(t, w.Discard(t.Context(), id, letters[0].ID))
		require.ErrorIs(t, w.Discard(t.Context(), id, letters[0].ID), webhooks.ErrNotFound)
		require.Equal(t, letters[1:], w.letters(id, true))
	}, func(o *webhooks.Options) { o.Attempts = 1 })
}

// TestReseal_ReplacesKey encrypts again the secrets of more endpoints than one transaction contains.
func TestReseal_ReplacesKey(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		const endpoints = 501
		source := &events{apps: map[string][]engine.Event{}}
		with := func(keys ...string) *webhooks.Service {
			var all [][]byte
			for _, k := range keys {
				all = append(all, []byte(strings.Repeat(k, 32)))
			}
			seal, err := desired.NewKeys(all[0], all[1:]...)
			require.NoError(t, err)
			o := options(t, db)
			o.Source, o.Seal, o.MaxPerScope = source, seal, 2*endpoints
			return open(t, db, o)
		}
		create := func(s *webhooks.Service, n int) (id, secret string) {
			for range n {
				e, made, err := s.Create(t.Context(), webhooks.Endpoint{App: "crm", URL: "https://example.com/"}, webhooks.CreateOptions{})
				require.NoError(t, err)
				id, secret = e.ID, made
			}
			return id, secret
		}
		id, _ := create(with("o"), endpoints)
		create(with("l"), 1)
		s := with("n", "o")
		create(s, 1)
		changed, lost, err := s.Reseal(t.Context())
		require.NoError(t, err)
		require.Equal(t, endpoints, changed)
		require.Equal(t, 1, lost)
		changed, _, err = s.Reseal(t.Context())
		require.NoError(t, err)
		require.Zero(t, changed, "a repetition changes nothing")
		_, err = with("n").Rotate(t.Context(), id, "", 0) // reads the previous secrets
		require.NoError(t, err)
		unreadable, err := with("o").Unreadable(t.Context(), "")
		require.NoError(t, err)
		require.Contains(t, unreadable, id)
		_, err = with("o").Rotate(t.Context(), id, "", 0) // replaces the secrets
		require.NoError(t, err)
		left, err := with("o").Unreadable(t.Context(), "")
		require.NoError(t, err)
		require.NotContains(t, left, id)
	})
}
