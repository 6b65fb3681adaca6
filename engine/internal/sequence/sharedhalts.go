package sequence

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// haltsAge is the maximum age of the halts that a request is checked against, counted from the begin of their read.
const haltsAge = 5 * time.Millisecond

// SharedHalts reads the halts of an app for its running sequences, which share reads. A read that begins ahead of a request costs the
// request no time.
type SharedHalts struct {
	read    func() ([]engine.Halt, error)
	mu      sync.Mutex
	last    *haltRead // the latest read that has ended
	next    *haltRead // the latest read in progress, nil if there is none
	queued  int       // number of requests that wait for their turn
	ended   bool      // Wait was called
	running sync.WaitGroup
}

type haltRead struct {
	begun time.Time
	done  chan struct{} // closed at the end of the read
	halts []engine.Halt
	err   error
}

// NewSharedHalts returns the halts that read returns. All reads end when ctx ends.
func NewSharedHalts(ctx context.Context, read func(context.Context) ([]engine.Halt, error)) *SharedHalts {
	return &SharedHalts{read: func() ([]engine.Halt, error) {
		call, cancel := context.WithTimeout(ctx, StoreTimeout)
		defer cancel()
		return read(call)
	}}
}

// Current implements Halts. It reads the halts if no read of the last 5 ms has succeeded.
func (h *SharedHalts) Current(ctx context.Context, since time.Time) ([]engine.Halt, error) {
	h.mu.Lock()
	r := h.last
	if !r.serves(since) || r.err != nil {
		if r = h.next; !r.serves(since) {
			r = h.begin()
		}
	}
	h.mu.Unlock()
	select {
	case <-r.done:
		return r.halts, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Ahead implements Halts.
func (h *SharedHalts) Ahead() {
	// The caller processes the response next. If it went on at once, another processor would have to wake up to begin the read.
	defer runtime.Gosched()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.begin()
	}
}

// AheadOfOthers implements Halts.
func (h *SharedHalts) AheadOfOthers() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended && h.queued > 0 && h.next == nil {
		h.begin()
	}
}

// Queue implements Halts.
func (h *SharedHalts) Queue() (leave func()) {
	h.change(1)
	return func() { h.change(-1) }
}

func (h *SharedHalts) change(queued int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queued += queued
}

// Wait waits for the end of all reads. After it, Current must not be called. Ahead and AheadOfOthers begin no read: a response that comes
// too late may still call them.
func (h *SharedHalts) Wait() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.running.Wait()
}

// serves reports whether a read began late enough for a request. A nil read did not.
func (r *haltRead) serves(since time.Time) bool {
	return r != nil && time.Since(r.begun) <= haltsAge && !r.begun.Before(since)
}

// begin starts a read. The caller holds the lock.
func (h *SharedHalts) begin() *haltRead {
	r := &haltRead{begun: time.Now(), done: make(chan struct{})}
	h.next = r
	h.running.Go(func() {
		r.halts, r.err = h.read()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.last == nil || h.last.begun.Before(r.begun) {
			h.last = r
		}
		if h.next == r {
			h.next = nil
		}
		close(r.done)
	})
	return r
}
