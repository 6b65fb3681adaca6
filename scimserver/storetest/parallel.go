package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver"
)

// parallel runs fn n times concurrently and returns the errors.
func parallel(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func parallelCreates(t *testing.T, s scimserver.Store) {
	made := 0
	for _, err := range parallel(16, func(i int) error {
		rec := User("ann")
		rec.ID = fmt.Sprintf("id %d", i)
		_, err := s.Create(t.Context(), rec, nil)
		return err
	}) {
		if err == nil {
			made++
			continue
		}
		requireUnique(t, err)
	}
	require.Equal(t, 1, made)
	require.Len(t, scanned(t, s, users, nil), 1)
}

func parallelReplaces(t *testing.T, s scimserver.Store) {
	g, ids := team(t, s, "team", "a", "b", "c", "d", "e", "f", "g", "h")
	g, err := s.Replace(t.Context(), g, scimserver.MemberChange{Remove: ids})
	require.NoError(t, err)
	won := []string{}
	for i, err := range parallel(len(ids), func(i int) error {
		_, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: ids[i : i+1]})
		return err
	}) {
		if err == nil {
			won = append(won, ids[i])
			continue
		}
		require.ErrorIs(t, err, scimserver.ErrConflict)
	}
	require.Len(t, won, 1)
	equal(t, won, memberIDs(t, s, g.ID))
}

func addWhileDeleted(t *testing.T, s scimserver.Store) {
	for i := range 8 {
		ann := create(t, s, User(fmt.Sprintf("ann %d", i)))
		g := create(t, s, Group(fmt.Sprintf("team %d", i)))
		errs := parallel(2, func(i int) error {
			if i == 0 {
				return s.Delete(t.Context(), users, ann.ID, 0)
			}
			_, err := s.Replace(t.Context(), g, scimserver.MemberChange{Add: []string{ann.ID}})
			return err
		})
		require.NoError(t, errs[0])
		if errs[1] != nil {
			requireUnknown(t, errs[1], ann.ID)
		}
		require.Empty(t, memberIDs(t, s, g.ID))
	}
}
