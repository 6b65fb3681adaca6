package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A series is the measurement of one row at one target.
type series struct {
	session *session
	send    request
	workers []*worker
	result  *Result
	latency []time.Duration // of successful requests
	elapsed time.Duration   // of all turns
	cpu     time.Duration   // of the process of the target, in all turns
	stopped bool
}

// measure measures a row at all targets.
func (r *run) measure(ctx context.Context, w row) Row {
	out := Row{ID: w.id, Title: w.title, Results: make([]Result, len(r.sessions))}
	all := make([]*series, len(r.sessions))
	for i, s := range r.sessions {
		out.Results[i].Target = letter(i)
		all[i] = prepared(ctx, s, w, &out.Results[i], r.options.Clients)
	}
	out.ratios = takeTurns(ctx, all, r.plan(w))
	for _, m := range all {
		m.finish()
	}
	if len(out.ratios) > 0 {
		out.Ratio, out.Pairs = median(out.ratios), len(out.ratios)
	}
	return out
}

// prepared returns the series of a row. If the target cannot be measured in this row, the series is already stopped.
func prepared(ctx context.Context, s *session, w row, result *Result, clients int) *series {
	m := &series{session: s, result: result}
	for n := range clients {
		m.workers = append(m.workers, newWorker(n))
	}
	err := ctx.Err()
	if err == nil {
		m.send, err = w.prepare(ctx, s, newWorker(0))
	}
	if err != nil {
		m.stop(ctx, err)
	}
	return m
}

// stop ends the measurement of the row with a reason.
func (m *series) stop(ctx context.Context, reason error) {
	m.stopped = true
	if m.result.NotMeasured != "" {
		return
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		reason = errors.New("the time limit of the run has passed")
	case ctx.Err() != nil:
		reason = errors.New("interrupted")
	}
	m.result.NotMeasured = reason.Error()
}

// A turn is a part of the load of a row: until a number of requests is sent, or for a duration if the number is 0.
type turn struct {
	requests int
	duration time.Duration
}

// plan returns the turns of a row.
func (r *run) plan(w row) []turn {
	var turns []turn
	if w.requests > 0 {
		// The number of turns is at least ten, so that there are several ratios.
		size := min(createTurn, max(w.requests/10, 1))
		for left := w.requests; left > 0; left -= size {
			turns = append(turns, turn{requests: min(left, size)})
		}
		return turns
	}
	n := max(int(r.options.Duration/turnTime), 1)
	return slices.Repeat([]turn{{duration: r.options.Duration / time.Duration(n)}}, n)
}

// takeTurns runs the turns at all targets, the first target first in every other turn. It returns the ratios of the throughput of the first
// target to that of the second, one per turn in which both had a successful response.
func takeTurns(ctx context.Context, all []*series, turns []turn) (ratios []float64) {
	for n, t := range turns {
		rates := make([]float64, len(all))
		for k := range all {
			i := (n + k) % len(all)
			if !all[i].stopped {
				rates[i] = all[i].turn(ctx, t)
			}
		}
		if len(rates) == 2 && rates[0] > 0 && rates[1] > 0 {
			ratios = append(ratios, rates[0]/rates[1])
		}
	}
	return ratios
}

// turn sends the requests of one turn from all workers and returns the number of successful ones per second.
func (m *series) turn(ctx context.Context, t turn) float64 {
	var left atomic.Int64
	left.Store(int64(t.requests))
	cpu, _ := m.cpuTime()
	start := time.Now()
	parts := make([]part, len(m.workers))
	var running sync.WaitGroup
	for i, w := range m.workers {
		running.Go(func() {
			for sent := 0; ctx.Err() == nil; sent++ { // with a duration, each worker sends at least one request
				if t.requests > 0 && left.Add(-1) < 0 || t.requests == 0 && sent > 0 && time.Since(start) >= t.duration {
					return
				}
				parts[i].add(ctx, m.send, w)
			}
		})
	}
	running.Wait()
	elapsed := time.Since(start)
	busy, _ := m.cpuTime()
	m.cpu += busy - cpu
	m.elapsed += elapsed
	done := 0
	var failed error
	for _, p := range parts {
		done += len(p.latency)
		m.latency = append(m.latency, p.latency...)
		m.result.Requests += len(p.latency) + p.errors
		m.result.Errors += p.errors
		if failed == nil {
			failed = p.failed
		}
	}
	if m.result.FirstError == "" && failed != nil {
		m.result.FirstError = failed.Error()
	}
	switch {
	case ctx.Err() != nil:
		m.stop(ctx, ctx.Err())
	case done == 0: // further turns would only measure errors
		m.stop(ctx, fmt.Errorf("no request of a turn succeeded: %w", failed))
	}
	return float64(done) / elapsed.Seconds()
}

// A part is the result of one worker in one turn.
type part struct {
	latency []time.Duration
	errors  int
	failed  error // the first error
}

// add sends a request and counts the success or the error. It does not count an error after the end of ctx.
func (p *part) add(ctx context.Context, send request, w *worker) {
	start := time.Now()
	err := send(ctx, w)
	switch {
	case err == nil:
		p.latency = append(p.latency, time.Since(start))
	case ctx.Err() == nil:
		p.errors++
		if p.failed == nil {
			p.failed = err
		}
	}
}

func (m *series) cpuTime() (time.Duration, error) {
	if m.session.pid == 0 {
		return 0, nil
	}
	return m.session.pid.cpu()
}

// finish computes the numbers of the result. If the series was stopped, the numbers are those of the turns that were completed before.
func (m *series) finish() {
	if m.stopped && len(m.latency) == 0 {
		return
	}
	if m.stopped {
		m.result.NotMeasured, m.result.Note = "", "stopped early: "+m.result.NotMeasured
	}
	slices.Sort(m.latency)
	m.result.PerSecond = float64(len(m.latency)) / m.elapsed.Seconds()
	m.result.P50, m.result.P99 = millis(percentile(m.latency, 50)), millis(percentile(m.latency, 99))
	if m.session.pid != 0 {
		m.result.CPU = millis(m.cpu) / float64(m.result.Requests)
	}
}

// percentile returns the smallest value that is not less than p percent of the values. The values are sorted.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

// median returns the middle of the values, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
