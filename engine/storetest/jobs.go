package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/jobs"
)

func testJobs(t *testing.T, s *suite) {
	kept, err := s.can.jobs.Jobs()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	ctx, kind, other := t.Context(), "kind "+s.app, "other "+s.app
	claim := func(limit int) (keys []string, claimed []jobs.Claimed, next time.Time) {
		t.Helper()
		claimed, next, err := kept.ClaimJobs(ctx, []string{kind, other}, s.now, limit)
		require.NoError(t, err)
		slices.SortFunc(claimed, func(a, b jobs.Claimed) int { return strings.Compare(a.Key, b.Key) })
		for _, c := range claimed {
			keys = append(keys, c.Kind[:5]+c.Key)
		}
		return keys, claimed, next
	}
	insert := func(kind, key string, after time.Duration) {
		t.Helper()
		require.NoError(t, kept.InsertJob(ctx, kind, key, s.now.Add(after)))
	}
	_, _, next := claim(9)
	require.Zero(t, next)
	insert(kind, "late", time.Hour)
	insert(kind, "b", -time.Second)
	insert(kind, "b", time.Second) // a later time does not count
	insert(kind, "a", -time.Minute)
	insert(other, "b", -time.Hour)
	insert("third "+s.app, "b", -time.Hour)
	keys, _, _ := claim(1)
	require.Equal(t, []string{"otherb"}, keys)
	keys, claimed, next := claim(9)
	require.Equal(t, []string{"kind a", "kind b"}, keys)
	require.Equal(t, s.now.Add(time.Hour), next)
	keys, _, _ = claim(9)
	require.Empty(t, keys)

	insert(kind, "a", 0) // is running
	first, second := claimed[0], claimed[1]
	require.Equal(t, 1, first.Attempt)
	require.NoError(t, kept.EndJob(ctx, first, jobs.Result{State: jobs.Waiting, At: s.now.Add(time.Second), Error: "broken\x00"}))
	require.NoError(t, kept.EndJob(ctx, second, jobs.Result{State: jobs.Waiting, At: s.now.Add(time.Second), Free: true}))
	insert(kind, "late", time.Millisecond)
	s.now = s.now.Add(time.Second)
	_, claimed, _ = claim(9)
	attempts := map[string]int{}
	for _, c := range claimed {
		attempts[c.Key] = c.Attempt
	}
	require.Equal(t, map[string]int{"a": 2, "b": 1, "late": 1}, attempts)
	require.NoError(t, kept.EndJob(ctx, first, jobs.Result{State: jobs.Finished, At: s.now}), "the result of an earlier attempt is "+
		"ignored: another attempt runs")
	for _, c := range claimed {
		if c.Key == "a" {
			require.NoError(t, kept.EndJob(ctx, c, jobs.Result{State: jobs.Failed, At: s.now, Error: "why"}))
		} else {
			require.NoError(t, kept.EndJob(ctx, c, jobs.Result{State: jobs.Finished, At: s.now}))
		}
	}
	listed, err := kept.ListJobs(ctx, jobs.Query{Kind: kind, Limit: 5})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]jobs.Info{
		{Kind: kind, Key: "a", State: jobs.Failed, Attempt: 2, At: s.now, Error: "why"},
		{Kind: kind, Key: "b", State: jobs.Finished, Attempt: 1, At: s.now},
		{Kind: kind, Key: "late", State: jobs.Finished, Attempt: 1, At: s.now},
	}, listed))

	require.NoError(t, kept.RecoverJobs(ctx, s.now))
	keys, claimed, _ = claim(9)
	require.Equal(t, []string{"otherb"}, keys, "was running")
	require.Equal(t, 2, claimed[0].Attempt)
	s.now = s.now.Add(48 * time.Hour)
	require.NoError(t, kept.EndJob(ctx, claimed[0], jobs.Result{State: jobs.Finished, At: s.now}))
	listed, err = kept.ListJobs(ctx, jobs.Query{Kind: kind})
	require.NoError(t, err)
	require.Empty(t, listed, "old results are removed")
	insert(kind, "a", 0)
	listed, err = kept.ListJobs(ctx, jobs.Query{Kind: kind, State: jobs.Waiting})
	require.NoError(t, err)
	require.Len(t, listed, 1)
}
