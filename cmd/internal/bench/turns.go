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

// A lane is the measurement of one row at one target.
type lane struct {
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
	lanes := make([]*lane, len(r.sessions))
	for i, s := range r.sessions {
		out.Results[i].Target = letter(i)
		lanes[i] = prepared(ctx, s, w, &out.Results[i], r.options.Clients)
	}
	out.ratios = takeTurns(ctx, lanes, r.plan(w))
	for _, l := range lanes {
		l.finish()
	}
	if len(out.ratios) > 0 {
		out.Ratio, out.Pairs = median(out.ratios), len(out.ratios)
	}
	return out
}

// prepared returns the lane of a row. The lane is stopped if the target cannot be measured in this row.
func prepared(ctx context.Context, s *session, w row, result *Result, clients int) *lane {
	l := &lane{session: s, result: result}
	for n := range clients {
		l.workers = append(l.workers, newWorker(n))
	}
	err := ctx.Err()
	if err == nil {
		l.send, result.Note, err = w.prepare(ctx, s, newWorker(0))
	}
	if err != nil {
		l.stop(ctx, err)
	}
	return l
}

// stop ends the measurement of the lane with a reason.
func (l *lane) stop(ctx context.Context, reason error) {
	l.stopped = true
	if l.result.NotMeasured != "" {
		return
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		reason = errors.New("the time limit of the run has passed")
	case ctx.Err() != nil:
		reason = errors.New("interrupted")
	}
	l.result.NotMeasured = reason.Error()
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

// takeTurns runs the turns at all lanes, the first lane first in every other turn. It returns the ratios of the throughput of the first lane
// to that of the second, one per turn in which both had a successful response.
func takeTurns(ctx context.Context, lanes []*lane, turns []turn) (ratios []float64) {
	for n, t := range turns {
		rates := make([]float64, len(lanes))
		for k := range lanes {
			i := (n + k) % len(lanes)
			if !lanes[i].stopped {
				rates[i] = lanes[i].turn(ctx, t)
			}
		}
		if len(rates) == 2 && rates[0] > 0 && rates[1] > 0 {
			ratios = append(ratios, rates[0]/rates[1])
		}
	}
	return ratios
}

// turn sends the requests of one turn from all workers and returns the number of successful ones per second.
func (l *lane) turn(ctx context.Context, t turn) float64 {
	var left atomic.Int64
	left.Store(int64(t.requests))
	cpu, _ := l.cpuTime()
	start := time.Now()
	parts := make([]part, len(l.workers))
	var running sync.WaitGroup
	for i, w := range l.workers {
		running.Go(func() {
			for ctx.Err() == nil && (t.requests > 0 && left.Add(-1) >= 0 || t.requests == 0 && time.Since(start) < t.duration) {
				parts[i].add(ctx, l.send, w)
			}
		})
	}
	running.Wait()
	elapsed := time.Since(start)
	busy, _ := l.cpuTime()
	l.cpu += busy - cpu
	l.elapsed += elapsed
	done := 0
	var failed error
	for _, p := range parts {
		done += len(p.latency)
		l.latency = append(l.latency, p.latency...)
		l.result.Requests += len(p.latency) + p.errors
		l.result.Errors += p.errors
		if failed == nil {
			failed = p.failed
		}
	}
	if l.result.FirstError == "" && failed != nil {
		l.result.FirstError = failed.Error()
	}
	switch {
	case ctx.Err() != nil:
		l.stop(ctx, ctx.Err())
	case done == 0 && failed != nil: // further turns would measure the errors
		l.stop(ctx, fmt.Errorf("no request of a turn succeeded: %w", failed))
	}
	return float64(done) / elapsed.Seconds()
}

// A part is the result of one worker in one turn.
type part struct {
	latency []time.Duration
	errors  int
	failed  error // the first error
}

// add sends a request and counts it, unless ctx ended during the request.
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

func (l *lane) cpuTime() (time.Duration, error) {
	if l.session.pid == 0 {
		return 0, nil
	}
	return l.session.pid.cpu()
}

// finish computes the numbers of the result. They are of the completed turns if the lane has stopped.
func (l *lane) finish() {
	if l.stopped && len(l.latency) == 0 {
		return
	}
	if l.stopped {
		l.result.NotMeasured, l.result.Note = "", "stopped early: "+l.result.NotMeasured
	}
	slices.Sort(l.latency)
	l.result.PerSecond = float64(len(l.latency)) / l.elapsed.Seconds()
	l.result.P50, l.result.P99 = millis(percentile(l.latency, 50)), millis(percentile(l.latency, 99))
	if l.session.pid != 0 {
		l.result.CPU = millis(l.cpu) / float64(l.result.Requests)
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
