package membership

import (
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/store"
)

// share is the part of the running lanes that this process is to run, by the heartbeats of all processes.
type share struct {
	mu     sync.Mutex
	alive  int
	lanes  int       // running lanes of all processes at the last heartbeat
	settle time.Time // no lanes are handed over before this time
}

// shareMinimum is the number of lanes that a process may run whatever its share: with a few lanes, a claim by another process takes longer
// than the work.
const shareMinimum = 2

// tolerance is the part of the share by which a process may exceed it before it hands lanes over.
const tolerance = 5

func (s *share) update(f store.Fleet, own int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive, s.lanes = f.Alive, f.Others+own
}

// most returns the share of each process, negative if there is only one process.
func (s *share) most() int {
	if s.alive <= 1 {
		return -1
	}
	return max((s.lanes+s.alive-1)/s.alive, shareMinimum)
}

// above reports whether the process runs more lanes than its share.
func (s *share) above(running int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most()
	return most >= 0 && running > most
}

// surplus returns the number of lanes to hand over. After that it returns 0 until pause has passed, because the numbers of the other
// processes are those of their last heartbeats.
func (s *share) surplus(running int, now time.Time, pause time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most()
	if most < 0 || running <= most+most/tolerance || now.Before(s.settle) {
		return 0
	}
	s.settle = now.Add(pause)
	return running - most
}
