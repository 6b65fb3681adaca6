// Package jobstest tests implementations of jobs.Scheduler.
package jobstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
)

// Open returns a new scheduler with two workers for long jobs. All schedulers of a test share their jobs, as the processes of a program do
// one after another. Open does not start the scheduler.
type Open func() jobs.Scheduler

// Run runs the tests. create returns a function that opens schedulers without jobs.
func Run(t *testing.T, create func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"Insert", (*suite).insert},
		{"Unique", (*suite).unique},
		{"Advance", (*suite).advance},
		{"Retry", (*suite).retry},
		{"Fail", (*suite).fail},
		{"Snooze", (*suite).snooze},
		{"Timeout", (*suite).timeout},
		{"Periodic", (*suite).periodic},
		{"PeriodicError", (*suite).periodicError},
		{"Stop", (*suite).stop},
		{"StopCanceled", (*suite).stopCanceled},
		{"Long", (*suite).long},
		{"Register", (*suite).register},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(&suite{T: t, open: create(t)}) })
	}
}

const (
	deadline = 60 * time.Second // maximum duration of every wait
	pause    = 10 * time.Millisecond
	never    = 24 * time.Hour
)

type suite struct {
	*testing.T
	open Open

	mu   sync.Mutex
	runs []string
}

// start opens and starts a scheduler, which the test stops at its end.
func (s *suite) start(kinds ...jobs.Kind) jobs.Scheduler {
	s.Helper()
	scheduler := s.open()
	require.NoError(s, scheduler.Register(kinds...))
	require.NoError(s, scheduler.Start(s.Context()))
	s.Cleanup(func() { s.end(scheduler) })
	return scheduler
}

func (s *suite) end(scheduler jobs.Scheduler) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	require.NoError(s, scheduler.Stop(ctx))
}

// kind returns a kind that records each attempt as "name key attempt" before it calls fn.
func (s *suite) kind(name string, fn func(ctx context.Context, j jobs.Job) error) jobs.Kind {
	return jobs.Kind{Name: name, Backoff: pause, BackoffMax: pause, Work: func(ctx context.Context, j jobs.Job) error {
		s.mu.Lock()
		s.runs = append(s.runs, fmt.Sprintf("%s %s %d", j.Kind, j.Key, j.Attempt))
		s.mu.Unlock()
		return fn(ctx, j)
	}}
}

func done(context.Context, jobs.Job) error { return nil }

// ran returns the attempts so far.
func (s *suite) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs)
}

func (s *suite) poll(what string, ok func() bool) {
	s.Helper()
	limit := time.Now().Add(deadline)
	for !ok() {
		if time.Now().After(limit) {
			require.Fail(s, "timeout", "%s; attempts: %v", what, s.ran())
		}
		time.Sleep(pause)
	}
}

// settled waits until the scheduler has n jobs in a state, and returns these jobs.
func (s *suite) settled(scheduler jobs.Scheduler, state jobs.State, n int) (found []jobs.Info) {
	s.Helper()
	s.poll(fmt.Sprint(n, " jobs are ", state), func() bool {
		var err error
		found, err = scheduler.List(s.Context(), jobs.Query{State: state})
		require.NoError(s, err)
		return len(found) == n
	})
	return found
}

func (s *suite) put(scheduler jobs.Scheduler, kind, key string, after time.Duration) {
	s.Helper()
	require.NoError(s, scheduler.Insert(s.Context(), kind, key, after))
}

// insert checks that jobs run once, also those that were inserted before the start, and that the key is passed as it is.
func (s *suite) insert() {
	keys := []string{"a", "", "ä \" \\ {}"}
	before := s.open()
	require.NoError(s, before.Register(s.kind("test.plain", done)))
	s.put(before, "test.plain", keys[0], 0)
	s.end(before)
	scheduler := s.start(s.kind("test.plain", done))
	s.put(scheduler, "test.plain", keys[1], 0)
	s.put(scheduler, "test.plain", keys[2], pause)
	found := s.settled(scheduler, jobs.Finished, 3)
	var listed, want []string
	for _, i := range found {
		require.Empty(s, i.Error)
		require.Equal(s, 1, i.Attempt)
		require.WithinDuration(s, time.Now(), i.At, deadline)
		listed = append(listed, i.Key)
	}
	require.ElementsMatch(s, keys, listed)
	for _, key := range keys {
		want = append(want, "test.plain "+key+" 1")
	}
	require.ElementsMatch(s, want, s.ran())
	one, err := scheduler.List(s.Context(), jobs.Query{Kind: "test.plain", Limit: 1})
	require.NoError(s, err)
	require.Len(s, one, 1)
	other, err := scheduler.List(s.Context(), jobs.Query{Kind: "test.other"})
	require.NoError(s, err)
	require.Empty(s, other)
}

// unique checks that a kind has one unfinished job with a key, waiting or running.
func (s *suite) unique() {
	release := make(chan struct{})
	scheduler := s.start(
		s.kind("test.held", func(context.Context, jobs.Job) error { <-release; return nil }),
		s.kind("test.other", done),
	)
	s.put(scheduler, "test.held", "k", 0)
	s.settled(scheduler, jobs.Running, 1)
	s.put(scheduler, "test.held", "k", 0)
	s.put(scheduler, "test.other", "k", never)
	s.put(scheduler, "test.other", "k", 2*never)
	waiting := s.settled(scheduler, jobs.Waiting, 1)
	require.Equal(s, "test.other", waiting[0].Kind)
	require.WithinDuration(s, time.Now().Add(never), waiting[0].At, time.Hour, "a later time does not count")
	close(release)
	s.settled(scheduler, jobs.Finished, 1)
	s.put(scheduler, "test.held", "k", 0)
	s.settled(scheduler, jobs.Finished, 2)
	require.Equal(s, []string{"test.held k 1", "test.held k 1"}, s.ran())
}

// advance checks that a waiting job starts at the earliest time for which it was inserted.
func (s *suite) advance() {
	scheduler := s.start(s.kind("test.plain", done))
	s.put(scheduler, "test.plain", "k", 2*never)
	s.put(scheduler, "test.plain", "k", never)
	waiting := s.settled(scheduler, jobs.Waiting, 1)
	require.WithinDuration(s, time.Now().Add(never), waiting[0].At, time.Hour)
	require.Empty(s, s.ran())
	s.put(scheduler, "test.plain", "k", 0)
	s.settled(scheduler, jobs.Finished, 1)
	require.Equal(s, []string{"test.plain k 1"}, s.ran())
}

func (s *suite) retry() {
	scheduler := s.start(s.kind("test.failing", func(_ context.Context, j jobs.Job) error {
		switch j.Attempt {
		case 1:
			return errors.New("broken")
		case 2:
			panic("very broken")
		}
		return nil
	}))
	s.put(scheduler, "test.failing", "k", 0)
	found := s.settled(scheduler, jobs.Finished, 1)
	require.Equal(s, 3, found[0].Attempt)
	require.Contains(s, found[0].Error, "very broken")
	require.Equal(s, []string{"test.failing k 1", "test.failing k 2", "test.failing k 3"}, s.ran())
}

func (s *suite) fail() {
	often := s.kind("test.often", func(context.Context, jobs.Job) error { return errors.New("broken") })
	often.Attempts = 2
	scheduler := s.start(often, s.kind("test.once", func(context.Context, jobs.Job) error {
		return fmt.Errorf("wrapped: %w", jobs.Permanent(errors.New("impossible")))
	}))
	s.put(scheduler, "test.often", "k", 0)
	s.put(scheduler, "test.once", "k", 0)
	for _, i := range s.settled(scheduler, jobs.Failed, 2) {
		require.Contains(s, i.Error, map[string]string{"test.often": "broken", "test.once": "impossible"}[i.Kind])
	}
	require.ElementsMatch(s, []string{"test.often k 1", "test.often k 2", "test.once k 1"}, s.ran())
	s.put(scheduler, "test.once", "k", 0)
	s.settled(scheduler, jobs.Failed, 3)
}

func (s *suite) snooze() {
	var n int
	scheduler := s.start(s.kind("test.sleepy", func(context.Context, jobs.Job) error {
		if n++; n < 4 {
			return fmt.Errorf("wrapped: %w", jobs.Snooze(pause))
		}
		return nil
	}))
	s.put(scheduler, "test.sleepy", "k", 0)
	found := s.settled(scheduler, jobs.Finished, 1)
	require.Equal(s, 1, found[0].Attempt)
	require.Empty(s, found[0].Error)
	require.Equal(s, slices.Repeat([]string{"test.sleepy k 1"}, 4), s.ran())
}

func (s *suite) timeout() {
	slow := s.kind("test.slow", func(ctx context.Context, _ jobs.Job) error { <-ctx.Done(); return ctx.Err() })
	slow.Timeout, slow.Attempts = pause, 2
	scheduler := s.start(slow)
	s.put(scheduler, "test.slow", "k", 0)
	found := s.settled(scheduler, jobs.Failed, 1)
	require.Contains(s, found[0].Error, context.DeadlineExceeded.Error())
	require.Len(s, s.ran(), 2)
}

// periodic checks that a periodic job runs at the start, after its interval, and immediately after Insert.
func (s *suite) periodic() {
	often, rarely := s.kind("test.often", done), s.kind("test.rarely", done)
	often.Every, rarely.Every = time.Second, never
	scheduler := s.start(often, rarely)
	count := func(run string) (n int) {
		for _, r := range s.ran() {
			if r == run {
				n++
			}
		}
		return n
	}
	s.poll("the interval", func() bool { return count("test.often  1") >= 3 })
	s.poll("the start", func() bool { return count("test.rarely  1") == 1 })
	s.poll("the second run", func() bool {
		s.put(scheduler, "test.rarely", "", 0)
		return count("test.rarely  1") > 1
	})
}

// periodicError checks that a periodic job is retried after an error, and that its snooze replaces the interval.
func (s *suite) periodicError() {
	k := s.kind("test.periodic", func(_ context.Context, j jobs.Job) error {
		switch len(s.ran()) {
		case 1:
			return errors.New("broken")
		case 2:
			return jobs.Snooze(pause)
		}
		return nil
	})
	k.Every = never
	s.start(k)
	s.poll("three runs", func() bool { return len(s.ran()) == 3 })
	require.Equal(s, []string{"test.periodic  1", "test.periodic  2", "test.periodic  2"}, s.ran())
}

// stop checks that Stop lets handlers end, and that the next scheduler continues their jobs.
func (s *suite) stop() {
	started := make(chan struct{})
	work := func(ctx context.Context, j jobs.Job) error {
		if len(s.ran()) > 1 {
			return nil
		}
		close(started)
		require.False(s, j.Stops())
		<-j.Stopping
		require.True(s, j.Stops())
		require.NoError(s, ctx.Err())
		return jobs.Snooze(0)
	}
	first := s.start(s.kind("test.stopped", work))
	s.put(first, "test.stopped", "k", 0)
	<-started
	s.end(first)
	s.end(first)
	require.Error(s, first.Start(s.Context()))
	s.put(first, "test.stopped", "other", 0)
	require.Len(s, s.ran(), 1)
	second := s.start(s.kind("test.stopped", work))
	s.settled(second, jobs.Finished, 2)
	require.ElementsMatch(s, []string{"test.stopped k 1", "test.stopped k 1", "test.stopped other 1"}, s.ran())
	s.end(s.open())
}

// stopCanceled checks that the end of the context of Stop cancels the handlers, and that the next scheduler continues their jobs.
func (s *suite) stopCanceled() {
	started := make(chan struct{})
	work := func(ctx context.Context, _ jobs.Job) error {
		if len(s.ran()) > 1 {
			return nil
		}
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}
	first := s.start(s.kind("test.stopped", work))
	s.put(first, "test.stopped", "k", 0)
	<-started
	ended, end := context.WithCancel(s.Context())
	end()
	require.ErrorIs(s, first.Stop(ended), context.Canceled)
	second := s.start(s.kind("test.stopped", work))
	s.settled(second, jobs.Finished, 1)
}

// long checks that long jobs do not delay others, and that the number of running ones is limited.
func (s *suite) long() {
	release := make(chan struct{})
	held := s.kind("test.long", func(context.Context, jobs.Job) error { <-release; return nil })
	held.Long = true
	scheduler := s.start(held, s.kind("test.short", done))
	for i := range 4 {
		s.put(scheduler, "test.long", fmt.Sprint(i), 0)
	}
	s.settled(scheduler, jobs.Running, 2)
	s.put(scheduler, "test.short", "k", 0)
	s.settled(scheduler, jobs.Finished, 1)
	running, err := scheduler.List(s.Context(), jobs.Query{State: jobs.Running})
	require.NoError(s, err)
	require.Len(s, running, 2)
	close(release)
	s.settled(scheduler, jobs.Finished, 5)
}

func (s *suite) register() {
	scheduler := s.open()
	require.ErrorIs(s, scheduler.Insert(s.Context(), "test.unknown", "", 0), jobs.ErrUnknownKind)
	for _, k := range []jobs.Kind{
		{Work: done}, {Name: "test.nothing"}, {Name: "Test", Work: done}, {Name: "test.negative", Work: done, Attempts: -1},
		{Name: "test.negative", Work: done, Every: -1},
	} {
		require.Error(s, scheduler.Register(k), "%+v", k)
	}
	require.NoError(s, scheduler.Register(s.kind("test.plain", done)))
	require.ErrorContains(s, scheduler.Register(s.kind("test.plain", done)), "already registered")
	require.NoError(s, scheduler.Start(s.Context()))
	require.NoError(s, scheduler.Start(s.Context()))
	s.Cleanup(func() { s.end(scheduler) })
	require.ErrorContains(s, scheduler.Register(s.kind("test.late", done)), "was started")
}
