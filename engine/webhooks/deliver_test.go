package webhooks_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/webhooks"
)

func TestDelivery_SignedMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		w.source.user("before") // not delivered: it precedes the endpoint
		id, secret := w.endpoint(x)
		w.source.user("u-1")
		w.received(x, 1)
		got := x.requests()[0]
		require.NoError(t, webhooks.Verify(got.headers, []byte(got.body), time.Now(), secret))
		require.Error(t, webhooks.Verify(got.headers, []byte(got.body+" "), time.Now(), secret))
		require.Equal(t, engine.UserUpdated, got.Type)
		require.Equal(t, webhooks.Data{App: "crm", Seq: 2, Kind: engine.User, ID: "u-1"}, got.Data)
		require.True(t, strings.HasPrefix(got.id, "evt_"), got.id)
		w.idle(id)
		require.False(t, w.get(id).Delivered.IsZero())
	})
}

// Each event is delivered, and the events of each user in their order, although every second request fails.
func TestDelivery_OrderPerPrincipal(t *testing.T) {
	const rounds = 40
	each(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var accepted []request
		x := newReceiver(t, func(_ http.ResponseWriter, r request) int {
			if rand.IntN(2) == 0 {
				return http.StatusInternalServerError
			}
			mu.Lock()
			defer mu.Unlock()
			accepted = append(accepted, r)
			return http.StatusOK
		})
		id, _ := w.endpoint(x)
		want := map[string][]int64{}
		for range rounds {
			for u := range users {
				user := fmt.Sprint("u-", u)
				want[user] = append(want[user], w.source.user(user))
			}
		}
		w.idle(id)
		require.Equal(t, want, firsts(accepted))
		require.Len(t, accepted, users*rounds, "no event is delivered twice without a crash")
	}, func(o *webhooks.Options) { o.Attempts = 1000 })
}

// A message that the endpoint always rejects delays only the later messages of its user.
func TestDelivery_RejectedMessageDelaysUserOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var reject atomic.Bool
		reject.Store(true)
		x := newReceiver(t, func(_ http.ResponseWriter, r request) int {
			if r.Data.ID == "bad" && reject.Load() {
				return http.StatusBadRequest
			}
			return http.StatusOK
		})
		id, _ := w.endpoint(x)
		first := w.source.user("bad")
		w.poll("some retries", func() bool { l := w.letters(id, false); return len(l) == 1 && l[0].Attempts > 12 })
		require.Equal(t, 1, w.get(id).Failures, "the retries of one message do not count as failures of the endpoint")
		second := w.source.user("bad")
		good := w.source.user("good")
		w.poll("the other user", func() bool { return slices.Contains(x.seqs(), good) })
		require.NotContains(t, x.seqs(), second)
		require.True(t, w.get(id).HeldUntil.IsZero(), "the endpoint works")
		l := w.letters(id, false)[0]
		require.Equal(t, http.StatusBadRequest, l.Status)
		require.Equal(t, first, l.Seq)
		reject.Store(false)
		w.idle(id)
		require.Equal(t, []int64{first, second}, firsts(x.requests())["bad"])
	}, func(o *webhooks.Options) { o.Attempts = 1_000_000; o.RetryMax = time.Millisecond })
}

// After HoldAfter failures an endpoint gets one request per delay, and everything when it works again.
func TestDelivery_BrokenEndpointHeld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusServiceUnavailable })
		id, _ := w.endpoint(x)
		for i := range 50 {
			w.source.user(fmt.Sprint("u-", i))
		}
		w.poll("the hold", func() bool { return !w.get(id).HeldUntil.IsZero() })
		e := w.get(id)
		require.GreaterOrEqual(t, e.Failures, 5)
		require.False(t, e.FailingSince.IsZero())
		require.Equal(t, "the endpoint responded 503", e.LastError)
		sent := len(x.requests())
		require.LessOrEqual(t, sent, 5+8, "HoldAfter and the requests in flight")
		require.LessOrEqual(t, e.Parked, 5+8, "the other events wait in the source")
		x.responds(nil)
		w.clock.advance(2 * time.Hour)
		w.Wake("crm")
		w.idle(id)
		require.Len(t, firsts(x.requests()), 50)
		e = w.get(id)
		require.Zero(t, e.Failures)
		require.True(t, e.HeldUntil.IsZero())
	}, func(o *webhooks.Options) { o.RetryInitial, o.RetryMax = time.Hour, time.Hour })
}

func TestDelivery_RetryAfterRespected(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(rw http.ResponseWriter, _ request) int {
			rw.Header().Set("Retry-After", "3600")
			return http.StatusTooManyRequests
		})
		id, _ := w.endpoint(x)
		before := w.clock.now()
		w.source.user("u-1")
		w.poll("the hold", func() bool { return !w.get(id).HeldUntil.IsZero() })
		require.WithinRange(t, w.get(id).HeldUntil, before.Add(time.Hour-time.Millisecond), w.clock.now().Add(time.Hour))
		w.source.user("u-2")
		w.Wake("crm")
		w.clock.advance(59 * time.Minute)
		w.Wake("crm")
		require.Len(t, x.requests(), 1)
		x.responds(nil)
		w.clock.advance(time.Minute)
		w.Wake("crm")
		w.idle(id)
		require.Equal(t, []int64{1, 1, 2}, slices.Sorted(slices.Values(x.seqs())))
	})
}

func TestDeadLetter_ListedAndReplayed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(_ http.ResponseWriter, r request) int {
			if r.Data.Seq == 1 {
				return http.StatusTeapot
			}
			return http.StatusOK
		})
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.source.user("u-1")
		w.poll("a dead letter", func() bool { return len(w.letters(id, true)) == 1 })
		w.idle(id)
		require.Equal(t, []int64{1, 1, 1, 2}, x.seqs(), "the later event follows the last attempt")
		dead := w.letters(id, true)[0]
		require.Equal(t, 3, dead.Attempts)
		require.Equal(t, x.requests()[0].id, dead.ID)
		require.Equal(t, x.requests()[0].body, dead.Body)
		require.Equal(t, 1, w.get(id).Dead)

		require.ErrorIs(t, w.Replay(t.Context(), id, "evt_unknown"), webhooks.ErrNotFound)
		require.ErrorIs(t, w.Replay(t.Context(), "ep_unknown", dead.ID), webhooks.ErrNotFound)
		x.responds(nil)
		require.NoError(t, w.Replay(t.Context(), id, dead.ID))
		w.received(x, 5)
		w.idle(id)
		require.Equal(t, dead.ID, x.requests()[4].id)
		require.Empty(t, w.letters(id, true))
		n, err := w.ReplayAll(t.Context(), id)
		require.NoError(t, err)
		require.Zero(t, n)
	}, func(o *webhooks.Options) { o.Attempts = 3 })
}

func TestDeadLetters_Bounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusBadRequest })
		id, _ := w.endpoint(x)
		for i := range 8 {
			w.source.user(fmt.Sprint("u-", i))
		}
		w.idle(id)
		e := w.get(id)
		require.Equal(t, 3, e.Dead)
		require.Equal(t, 5, e.Dropped)
		require.Len(t, w.letters(id, true), 3)
	}, func(o *webhooks.Options) { o.Attempts = 1; o.MaxDead = 3; o.HoldAfter = 100 })
}

// With too many messages that wait for a retry, further events wait in the source.
func TestParked_Bounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusBadRequest })
		id, _ := w.endpoint(x)
		for i := range 30 {
			w.source.user(fmt.Sprint("u-", i))
		}
		w.poll("the bound", func() bool { return w.get(id).Parked == 10 })
		w.Wake("crm")
		require.Equal(t, 10, w.get(id).Parked)
		x.responds(nil)
		w.clock.advance(2 * time.Hour)
		w.Wake("crm")
		w.idle(id)
		require.Len(t, firsts(x.requests()), 30)
	}, func(o *webhooks.Options) {
		o.RetryInitial, o.RetryMax, o.HoldAfter, o.MaxParked = time.Hour, time.Hour, 1000, 10
	})
}

func TestEndpoint_GoneDisables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusGone })
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.poll("disabled", func() bool { return w.get(id).Disabled })
		require.Equal(t, "the endpoint responded 410", w.get(id).Reason)
		w.source.user("u-2")
		sent := len(x.requests())

		x.responds(nil)
		e := w.get(id)
		e.Disabled = false
		e, err := w.Update(t.Context(), e)
		require.NoError(t, err)
		require.Empty(t, e.Reason)
		w.idle(id)
		require.Equal(t, map[string][]int64{"u-1": {1}, "u-2": {2}}, firsts(x.requests()[sent:]))
	})
}

func TestEndpoint_LongFailureDisables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, func(http.ResponseWriter, request) int { return http.StatusBadGateway })
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.poll("a failure", func() bool { return !w.get(id).FailingSince.IsZero() })
		require.False(t, w.get(id).Disabled)
		w.clock.advance(5*24*time.Hour + time.Minute)
		w.source.user("u-2")
		w.poll("disabled", func() bool { return w.get(id).Disabled })
		require.Contains(t, w.get(id).Reason, "no message could be delivered since")
	}, func(o *webhooks.Options) { o.HoldAfter, o.RetryInitial, o.RetryMax = 1, time.Hour, time.Hour })
}

// An endpoint that does not respond does not delay the messages of another one, of the same events.
func TestEndpoint_HangingDelaysNoOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		hanging := newReceiver(t, func(http.ResponseWriter, request) int { <-release; return http.StatusOK })
		quick := newReceiver(t, nil)
		slow, _ := w.endpoint(hanging)
		id, _ := w.endpoint(quick)
		w.source.user("u-0")
		w.received(hanging, 1)
		for i := range 60 {
			w.source.user(fmt.Sprint("u-", i))
		}
		w.idle(id)
		require.Len(t, quick.requests(), 61)
		require.LessOrEqual(t, len(hanging.requests()), 8, "Concurrency")
		close(release)
		w.idle(slow)
		require.Len(t, hanging.requests(), 61)
	})
}

func TestDelivery_ConcurrencyBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var now, most atomic.Int64
		all, once := make(chan struct{}), sync.Once{}
		x := newReceiver(t, func(http.ResponseWriter, request) int {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if n == 3 {
				once.Do(func() { close(all) })
			}
			select {
			case <-all:
			case <-time.After(patience):
			}
			return http.StatusOK
		})
		id, _ := w.endpoint(x, func(e *webhooks.Endpoint) { e.Disabled = true })
		for i := range 20 {
			w.source.user(fmt.Sprint("u-", i))
		}
		e := w.get(id)
		e.Disabled = false
		_, err := w.Update(t.Context(), e)
		require.NoError(t, err)
		w.idle(id)
		require.EqualValues(t, 3, most.Load())
	}, func(o *webhooks.Options) { o.Concurrency = 3 })
}

// If the source has removed events before they were delivered, the endpoint receives their numbers.
func TestMissed_Reported(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		id, _ := w.endpoint(x, func(e *webhooks.Endpoint) { e.Types = []engine.EventType{engine.UserCreated} })
		w.source.add("crm", engine.User, "u-1", engine.UserCreated)
		w.idle(id)
		e := w.get(id)
		e.Disabled = true
		e, err := w.Update(t.Context(), e)
		require.NoError(t, err)
		for range 10 {
			w.source.add("crm", engine.User, "u-1", engine.UserCreated)
		}
		w.source.trim("crm", 4) // of the events 1 to 11
		e.Disabled = false
		_, err = w.Update(t.Context(), e)
		require.NoError(t, err)
		w.idle(id)
		require.Equal(t, []int64{1, 7, 8, 9, 10, 11}, x.seqs())
		missed := x.requests()[1]
		require.Equal(t, webhooks.Missed, missed.Type)
		require.Equal(t, webhooks.Data{App: "crm", Seq: 7, From: 2, To: 7}, missed.Data)
	})
}

// An app that was removed and created again has new events with the same numbers.
func TestDelivery_AppRemovedAndCreatedAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		id, _ := w.endpoint(x)
		for range 3 {
			w.source.user("u-1")
		}
		w.idle(id)
		e := w.get(id)
		e.Disabled = true
		e, err := w.Update(t.Context(), e)
		require.NoError(t, err)
		w.source.forget("crm") // later events are a second later
		for range 4 {
			w.source.user("u-2")
		}
		e.Disabled = false
		_, err = w.Update(t.Context(), e)
		require.NoError(t, err)
		w.idle(id)
		require.Equal(t, map[string][]int64{"u-1": {1, 2, 3}, "u-2": {1, 2, 3, 4}}, firsts(x.requests()))
	})
}

func TestEndpoint_TypesAndPrefix(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		created, acme := newReceiver(t, nil), newReceiver(t, nil)
		one, _ := w.endpoint(created, func(e *webhooks.Endpoint) { e.Types = []engine.EventType{engine.UserCreated, engine.AppBreaker} })
		all, _ := w.endpoint(acme, func(e *webhooks.Endpoint) { e.App, e.Prefix = "", "acme:" })
		w.source.add("crm", engine.User, "u-1", engine.UserCreated)
		w.source.add("crm", engine.User, "u-1", engine.UserUpdated)
		w.source.add("crm", "", "", engine.AppBreaker)
		w.source.add("acme:crm", engine.User, "u-2", engine.UserCreated)
		w.source.add("acme:erp", engine.Group, "g-1", engine.GroupCreated)
		w.source.add("acme-2:crm", engine.User, "u-3", engine.UserCreated)
		w.received(created, 2)
		w.received(acme, 2)
		w.poll("nothing more", func() bool { return w.get(one).Parked+w.get(all).Parked == 0 })
		require.Equal(t, []int64{1, 3}, slices.Sorted(slices.Values(created.seqs())))
		var apps []string
		for _, r := range acme.requests() {
			apps = append(apps, r.Data.App)
		}
		require.ElementsMatch(t, []string{"acme:crm", "acme:erp"}, apps)
	})
}

func TestDelivery_RedirectNotFollowed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		inside := newReceiver(t, nil)
		x := newReceiver(t, func(rw http.ResponseWriter, _ request) int {
			rw.Header().Set("Location", inside.URL)
			return http.StatusTemporaryRedirect
		})
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.poll("a dead letter", func() bool { return len(w.letters(id, true)) == 1 })
		require.Equal(t, "the endpoint responded 307: redirects are not followed", w.letters(id, true)[0].Error)
		require.Empty(t, inside.requests())
	}, func(o *webhooks.Options) { o.Attempts = 2 })
}

func TestDelivery_PrivateAddressRejected(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		x := newReceiver(t, nil)
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.poll("a dead letter", func() bool { return len(w.letters(id, true)) == 1 })
		require.Contains(t, w.letters(id, true)[0].Error, "connections to it are not allowed")
		require.Empty(t, x.requests())
	}, func(o *webhooks.Options) { o.Attempts = 1; o.Egress = engine.Egress{Range: engine.EgressPublic} })
}

// A response that never ends is read in part only.
func TestDelivery_LongResponse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ended := make(chan struct{})
		x := newReceiver(t, func(rw http.ResponseWriter, _ request) int {
			defer close(ended)
			rw.WriteHeader(http.StatusOK)
			chunk := []byte(strings.Repeat("x", 32<<10))
			for range 1 << 20 { // 32 GiB
				if _, err := rw.Write(chunk); err != nil {
					return 0
				}
			}
			return 0
		})
		id, _ := w.endpoint(x)
		w.source.user("u-1")
		w.idle(id)
		<-ended
	})
}
