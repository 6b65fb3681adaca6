package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
)

// testConcurrency increments one counter from many goroutines with optimistic revisions: no increment may be lost.
func testConcurrency(t *testing.T, open Opener) {
	f := newFixture(t, open)
	f.insert("counter", person{Login: "counter", Age: new(0)})
	const callers, each = 8, 10
	var conflicts atomic.Int32
	var group errgroup.Group
	var first sync.WaitGroup // all callers read the same revision before the first of them changes it
	first.Add(callers)
	for range callers {
		group.Go(func() error {
			meet := sync.OnceFunc(func() { first.Done(); first.Wait() })
			for done := 0; done < each; {
				doc, err := f.people.Get(f.ctx(), f.store.Reader(), "counter")
				meet()
				if err != nil {
					return err
				}
				doc.Value.Age = new(*doc.Value.Age + 1)
				err = f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
					_, err := f.people.Update(f.ctx(), tx, doc.ID, doc.Rev, doc.Value)
					return err
				})
				switch {
				case err == nil:
					done++
				case errors.Is(err, docstore.ErrConflict):
					conflicts.Add(1)
				default:
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	doc, err := f.people.Get(f.ctx(), f.store.Reader(), "counter")
	require.NoError(t, err)
	require.Equal(t, callers*each, *doc.Value.Age)
	require.Equal(t, int64(callers*each+1), doc.Rev)
	require.Positive(t, conflicts.Load(), "no revision conflict occurred")
}

// testSkew runs two transactions that each check whether a group is empty and join it if so. They run at the same time, and neither writes
// to a row that the other writes to. Only one may find the group empty.
func testSkew(t *testing.T, open Opener) {
	f := newFixture(t, open)
	for round := range 20 {
		group := fmt.Sprintf("group%d", round)
		var calls errgroup.Group
		for caller := range 2 {
			calls.Go(func() error {
				return f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
					n, err := f.people.Count(f.ctx(), tx, docstore.Eq("groups", group))
					if err != nil || n > 0 {
						return err
					}
					id := fmt.Sprintf("%s-%d", group, caller)
					_, err = f.people.Insert(f.ctx(), tx, id, person{Login: id, Groups: []string{group}})
					return err
				})
			})
		}
		require.NoError(t, calls.Wait())
		n, err := f.people.Count(f.ctx(), f.store.Reader(), docstore.Eq("groups", group))
		require.NoError(t, err)
		require.Equal(t, 1, n, "round %d", round)
	}
}

// emit emits events with the keys in one transaction.
func (f *fixture) emit(keys ...string) {
	f.Helper()
	f.update(func(tx *docstore.Tx) error { return f.emitIn(tx, keys...) })
}

func (f *fixture) emitIn(tx *docstore.Tx, keys ...string) error {
	for _, key := range keys {
		if err := f.store.Emit(f.ctx(), tx, docstore.Event{Topic: "t", Key: key, Data: json.RawMessage(`{"k":1}`)}); err != nil {
			return err
		}
	}
	return nil
}

// drain relays all events and returns their keys.
func (f *fixture) drain(batch int) []string {
	f.Helper()
	keys := []string{}
	for {
		var got []string
		n, err := f.store.Relay(f.ctx(), batch, func(_ *docstore.Tx, events []docstore.Event) error {
			got = nil
			for _, e := range events {
				got = append(got, e.Key)
			}
			return nil
		})
		require.NoError(f, err)
		require.Len(f, got, n)
		require.LessOrEqual(f, n, batch)
		if n == 0 {
			return keys
		}
		keys = append(keys, got...)
	}
}

func testOutbox(t *testing.T, open Opener) {
	t.Run("events are relayed in order, once, with their data", func(t *testing.T) {
		f := newFixture(t, open)
		f.emit("a")
		f.emit("b", "c")
		var got []docstore.Event
		n, err := f.store.Relay(f.ctx(), 2, func(_ *docstore.Tx, events []docstore.Event) error {
			got = events
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Less(t, got[0].Seq, got[1].Seq)
		at := time.Date(2026, 1, 2, 3, 4, 6, 678_000_000, time.UTC)
		f.equal(docstore.Event{Seq: got[0].Seq, Topic: "t", Key: "a", Data: json.RawMessage(`{"k":1}`), At: at}, got[0], "event")
		require.Equal(t, []string{"c"}, f.drain(10))
		require.Empty(t, f.drain(10))
	})
	t.Run("an event stays until the relay has committed", func(t *testing.T) {
		f := newFixture(t, open)
		waiting := func() int {
			n, err := f.store.Waiting(f.ctx())
			require.NoError(t, err)
			return n
		}
		require.Zero(t, waiting())
		f.emit("a", "b")
		require.Equal(t, 2, waiting())
		_, err := f.store.Relay(f.ctx(), 1, func(*docstore.Tx, []docstore.Event) error {
			require.Equal(t, 2, waiting())
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, waiting())
	})
	t.Run("an event commits and rolls back with its transaction", func(t *testing.T) {
		f := newFixture(t, open)
		require.Error(t, f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
			require.NoError(t, f.emitIn(tx, "lost"))
			return errors.New("no")
		}))
		f.emit("kept")
		require.Equal(t, []string{"kept"}, f.drain(10))
	})
	t.Run("a failing handler keeps the events and rolls back its own writes", func(t *testing.T) {
		f := newFixture(t, open)
		f.emit("a", "b")
		errMine := errors.New("mine")
		for _, fail := range []func() error{func() error { return errMine }, func() error { panic("mine") }} {
			n, err := f.store.Relay(f.ctx(), 10, func(tx *docstore.Tx, events []docstore.Event) error {
				require.Len(t, events, 2)
				_, err := f.people.Insert(f.ctx(), tx, "1", person{Login: "ann"})
				require.NoError(t, err)
				return fail()
			})
			require.ErrorContains(t, err, "mine")
			require.Zero(t, n)
			_, err = f.people.Get(f.ctx(), f.store.Reader(), "1")
			require.ErrorIs(t, err, docstore.ErrNotFound)
		}
		require.Equal(t, []string{"a", "b"}, f.drain(10))
	})
	t.Run("a handler may write and emit in the same transaction", func(t *testing.T) {
		f := newFixture(t, open)
		f.emit("a")
		_, err := f.store.Relay(f.ctx(), 10, func(tx *docstore.Tx, _ []docstore.Event) error {
			if _, err := f.people.Insert(f.ctx(), tx, "1", person{Login: "ann"}); err != nil {
				return err
			}
			return f.emitIn(tx, "b")
		})
		require.NoError(t, err)
		_, err = f.people.Get(f.ctx(), f.store.Reader(), "1")
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, f.drain(10))
	})
	t.Run("listeners are called once after each commit that emitted", func(t *testing.T) {
		f := newFixture(t, open)
		calls := 0
		f.store.OnEmit(func() {
			calls++
			require.NotEmpty(t, f.drain(10), "the events are stored when the listener is called")
		})
		f.emit("a", "b", "c")
		require.Equal(t, 1, calls)
		f.insert("1", person{Login: "ann"})
		require.Error(t, f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
			return errors.Join(f.emitIn(tx, "lost"), errors.New("no"))
		}))
		require.Equal(t, 1, calls)
	})
	t.Run("two relays and many emitters neither lose, repeat nor reorder events", func(t *testing.T) {
		f := newFixture(t, open)
		other, err := docstore.Open(t.Context(), f.store.DB(), nil, f.people)
		require.NoError(t, err)
		const emitters, each = 4, 25
		var emitting, relaying errgroup.Group
		var done, inside atomic.Bool
		for e := range emitters {
			emitting.Go(func() error {
				for i := range each {
					err := f.store.Update(f.ctx(), func(tx *docstore.Tx) error { return f.emitIn(tx, fmt.Sprintf("%d-%03d", e, i)) })
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		var mu sync.Mutex
		var got []string
		for _, store := range []*docstore.Store{f.store, other} {
			relaying.Go(func() error {
				for {
					last := done.Load()
					n, err := store.Relay(f.ctx(), 3, func(tx *docstore.Tx, events []docstore.Event) error {
						if !inside.CompareAndSwap(false, true) {
							return errors.New("two relays at the same time")
						}
						defer inside.Store(false)
						mu.Lock()
						defer mu.Unlock()
						for _, e := range events {
							got = append(got, e.Key)
						}
						return nil
					})
					if err != nil || n == 0 && last {
						return err
					}
				}
			})
		}
		require.NoError(t, emitting.Wait())
		done.Store(true)
		require.NoError(t, relaying.Wait())
		require.Len(t, got, emitters*each)
		for e := range emitters { // each emitter's own events are in order
			prefix := fmt.Sprintf("%d-", e)
			mine := slices.DeleteFunc(slices.Clone(got), func(key string) bool { return key[:2] != prefix })
			require.Len(t, mine, each)
			require.True(t, slices.IsSorted(mine), "%v", mine)
		}
	})
}
