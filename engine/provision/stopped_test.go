package provision_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/alltest"
)

// TestFleet_ResumesAfterMinute stops a process with default options for a minute. The others take over its lanes. Afterwards the process
// works as a new incarnation.
//
// Invariant 17
func TestFleet_ResumesAfterMinute(t *testing.T) {
	alltest.Only(t, "stops a process for 60 s")
	f := newBusyFleet(t)
	incarnation := func() engine.Process {
		all, err := f.kept.Processes(t.Context())
		require.NoError(t, err)
		var last engine.Process
		for _, p := range all {
			if p.Name == f.fleet.name(0) && p.Started.After(last.Started) {
				last = p
			}
		}
		return last
	}
	before, stopped := incarnation(), time.Now()
	require.NotEmpty(t, f.takeover(0, false, func() { f.fleet.signal(0, syscall.SIGSTOP) }))
	time.Sleep(time.Until(stopped.Add(time.Minute))) // the duration of the stop
	require.Equal(t, before.ID, incarnation().ID)
	f.fleet.signal(0, syscall.SIGCONT)
	resumed := time.Now()
	works := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, a := range f.last {
			if a.process == f.fleet.process(0) && a.at.After(resumed.Add(takeoverAnswer)) {
				return true
			}
		}
		return false
	}
	require.Eventually(t, works, 4*takeoverLimit, 20*time.Millisecond, "%s", &f.fleet.log)
	after := incarnation()
	require.NotEqual(t, before.ID, after.ID)
	require.True(t, after.Started.After(before.Until))
	_, violations := f.target.counts()
	require.Empty(t, violations)
}
