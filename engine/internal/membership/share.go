package membership

import (
	"math"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/store"
)

// share is the part of the running lanes that this process keeps, according to the heartbeats of all processes. A process with more lanes
// hands lanes over. Its basis is the mean number of running lanes: if lanes run for a short time only, the number at one time depends on
// chance. Package lane limits the claims of a process, by the numbers of lanes at the time of the claim.
type share struct {
	mu     sync.Mutex
	alive  int
	least  float64   // the mean of the other process with the fewest lanes
	settle time.Time // lanes were handed over: before this time no more are
	beats  []beat    // the last ones, at most shareBeats
}

// beat is a heartbeat.
type beat struct {
	reading
	total float64 // lanes of all processes
}

// reading is the load at a time.
type reading struct {
	at   time.Time
	load lane.Load
}

// mean returns the mean number of running lanes between two readings.
func (r reading) mean(to reading) float64 {
	if since := to.at.Sub(r.at); since > 0 {
		return float64(to.load.Total-r.load.Total) / float64(since)
	}
	return float64(to.load.Running)
}

const (
	// shareBeats is the number of heartbeats whose lanes determine the share: their mean for the lanes that a process is to have, and their
	// maximum for the lanes that it keeps, because apps often have work at the same times.
	shareBeats = 4
	// tolerance is the part of the share by which a process may exceed it, and another process may be below it, before lanes are handed over.
	// If it is less than a lane, one lane is the tolerance.
	tolerance = 0.1
	// uncertain is the number of lanes by which a share may be inaccurate although all lanes run without a break: the means of two processes
	// are those of different times.
	uncertain = 0.1
)

// sent returns the mean number of running lanes since the last heartbeat.
func (s *share) sent(now reading) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since(1, now)
}

// since returns the mean number of running lanes since n heartbeats ago.
func (s *share) since(n int, now reading) float64 {
	if len(s.beats) == 0 {
		return float64(now.load.Running)
	}
	return s.beats[max(len(s.beats)-n, 0)].mean(now)
}

// update stores the numbers of a successful heartbeat.
func (s *share) update(f store.Fleet, now reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive, s.least = f.Alive, f.Least
	if s.beats = append(s.beats, beat{now, f.Others + s.since(1, now)}); len(s.beats) > shareBeats {
		s.beats = s.beats[1:]
	}
}

// part returns the mean and the maximum share of each process in the last heartbeats.
func (s *share) part() (mean, most float64) {
	for _, b := range s.beats {
		mean += b.total / float64(len(s.beats)*s.alive)
		most = max(most, b.total/float64(s.alive))
	}
	return mean, most
}

// estimate returns the number of processes and of all running lanes at the last heartbeat of this process.
func (s *share) estimate() (processes int, lanes float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.beats) > 0 {
		lanes = s.beats[len(s.beats)-1].total
	}
	return max(s.alive, 1), lanes
}

// surplus returns the number of lanes to hand over. After that it returns 0 until pause has passed, because the numbers of the processes
// are those of their last heartbeats.
func (s *share) surplus(now reading, pause time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive <= 1 || now.at.Before(s.settle) {
		return 0
	}
	part, peak := s.part()
	most := max(int(math.Ceil(peak-uncertain)), lane.ShareMinimum)
	// If lanes run only for a short time, the number of running lanes may be high by chance. The mean is then lower, and limits the surplus.
	running := min(now.load.Running, int(math.Round(min(s.since(1, now), s.since(shareBeats, now)))))
	allowed := max(part*tolerance, 1)
	if running <= most || float64(running) <= part+allowed+uncertain && s.least >= part-allowed+uncertain {
		return 0
	}
	s.settle = now.at.Add(pause)
	return running - most
}
