package metrics

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scimwright/scimwright/engine"
)

// lagTime is the timeout of the store query of one collection.
const lagTime = 5 * time.Second

// Lags returns the lags of all apps. provision.Apps implements it.
type Lags interface {
	Lags(ctx context.Context) ([]engine.Lag, error)
}

// Fleet lists the engines that share a store. provision.Engine implements it.
type Fleet interface {
	Processes(ctx context.Context) ([]engine.Process, error)
}

// Metrics counts events of an engine. It may be used by several goroutines.
type Metrics struct {
	// Now is the clock for lags. Set it before use. Default: time.Now.
	Now func() time.Time

	lags  atomic.Pointer[Lags]
	fleet atomic.Pointer[Fleet]

	sequences, requests, retries, overdue *prometheus.CounterVec
	duration                              *prometheus.HistogramVec
	takeovers, lanesTaken                 prometheus.Counter
}

var (
	_ engine.Observer         = (*Metrics)(nil)
	_ engine.OverdueObserver  = (*Metrics)(nil)
	_ engine.TakeoverObserver = (*Metrics)(nil)
	_ prometheus.Collector    = (*Metrics)(nil)
)

// buckets are the bounds of the duration histogram, in seconds.
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// The gauges.
var (
	lagSeconds  = gauge("scim_engine_lag_seconds", "Age of the oldest pending change, 0 if there is none.")
	due         = gauge("scim_engine_due", "Pending principals, including those in a backoff.")
	retrying    = gauge("scim_engine_retrying", "Pending principals in a backoff.")
	failed      = gauge("scim_engine_failed", "Principals that the target rejects.")
	held        = gauge("scim_engine_held", "Principals that wait for a decision.")
	hold        = gauge("scim_engine_hold", "1 if the lane has a hold of this kind, otherwise 0.", "kind")
	lastSuccess = gauge("scim_engine_last_success_timestamp_seconds", "Time of the last successful sequence.")

	// The metrics of Fleet.
	processes = prometheus.NewDesc("scim_engine_processes", "Processes that share the store, by state.", []string{"state"}, nil)
	lanes     = ofProcess("scim_engine_process_lanes", "Leased lanes.")
	running   = ofProcess("scim_engine_process_running_lanes", "Mean number of running lanes between the last two heartbeats.")
	inFlight  = ofProcess("scim_engine_process_in_flight", "Principals that were being processed at the last heartbeat.")
	heartbeat = ofProcess("scim_engine_process_heartbeat_age_seconds", "Time since the last heartbeat.")
	rechecks  = ofProcess("scim_engine_process_rechecks_total",
		"Principals that the process has requeued because they were in flight when their process died.")

	gauges = []*prometheus.Desc{lagSeconds, due, retrying, failed, held, hold, lastSuccess, processes, lanes, running, inFlight, heartbeat,
		rechecks}
	states = []engine.ProcessState{engine.ProcessAlive, engine.ProcessDead, engine.ProcessTaken, engine.ProcessLeft}
	holds  = []engine.HoldKind{engine.HoldPause, engine.HoldBreaker, engine.HoldQuarantine}
)

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"app"}, labels...), nil)
}

func ofProcess(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"process"}, nil)
}

// New returns metrics with all counters at zero. Without Follow there are no gauges.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"app"}, labels...))
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	return &Metrics{
		takeovers:  single("scim_engine_takeovers_total", "Dead processes whose lanes this process has taken over."),
		lanesTaken: single("scim_engine_lanes_taken_total", "Lanes that this process has taken over from dead processes."),

		Now:       time.Now,
		sequences: counter("scim_engine_sequences_total", "Finished sequences.", "operation", "outcome"),
		requests:  counter("scim_engine_requests_total", "Requests of sequences.", "method", "status"),
		retries:   counter("scim_engine_retries_total", "Sequences that failed and are retried after a backoff."),
		overdue:   counter("scim_engine_overdue_total", "Deactivations that were not confirmed within Options.DeactivateWithin."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "scim_engine_sequence_duration_seconds", Buckets: buckets,
			Help: "Duration of a sequence, from the query of the directory to the stored result.",
		}, []string{"app"}),
	}
}

// Follow adds the gauges. Each collection reads their values from l.
func (m *Metrics) Follow(l Lags) { m.lags.Store(&l) }

// FollowFleet adds the metrics of the processes that share the store. Each collection reads their values from f.
func (m *Metrics) FollowFleet(f Fleet) { m.fleet.Store(&f) }

// Takeover implements engine.TakeoverObserver.
func (m *Metrics) Takeover(_ context.Context, t engine.Takeover) {
	m.takeovers.Inc()
	m.lanesTaken.Add(float64(len(t.Apps)))
}

// Result implements engine.Observer.
func (m *Metrics) Result(_ context.Context, r engine.Result) {
	m.sequences.WithLabelValues(r.App, string(r.Operation), string(r.Outcome)).Inc()
	m.duration.WithLabelValues(r.App).Observe(r.Duration.Seconds())
	if r.Status == engine.StatusRetrying {
		m.retries.WithLabelValues(r.App).Inc()
	}
	for _, s := range r.Steps {
		m.requests.WithLabelValues(r.App, s.Method, class(s.Status)).Inc()
	}
}

// Overdue implements engine.OverdueObserver.
func (m *Metrics) Overdue(_ context.Context, o engine.Overdue) {
	m.overdue.WithLabelValues(o.App).Inc()
}

// class returns the class of an HTTP status, and "none" for a number below 200 or above 599, which a target may send too.
func class(status int) string {
	if status < http.StatusOK || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// Forget removes the counters of a deleted app, so that the number of time series stays limited.
func (m *Metrics) Forget(app string) {
	gone := prometheus.Labels{"app": app}
	for _, c := range []*prometheus.CounterVec{m.sequences, m.requests, m.retries, m.overdue} {
		c.DeletePartialMatch(gone)
	}
	m.duration.DeletePartialMatch(gone)
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.sequences, m.requests, m.retries, m.overdue, m.duration}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(out)
	}
	m.takeovers.Describe(out)
	m.lanesTaken.Describe(out)
	for _, g := range gauges {
		out <- g
	}
}

// Collect implements prometheus.Collector. If the store returns an error, the gauges are reported as invalid. The registry's handler
// decides whether it still returns the counters.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lagTime)
	defer cancel()
	m.collectFleet(ctx, out)
	source := m.lags.Load()
	if source == nil {
		return
	}
	lags, err := (*source).Lags(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(lagSeconds, err)
		return
	}
	now := m.Now()
	for _, l := range lags {
		set := func(g *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(g, prometheus.GaugeValue, value, append([]string{l.App}, labels...)...)
		}
		waits := 0.0
		if !l.Oldest.IsZero() {
			waits = max(now.Sub(l.Oldest).Seconds(), 0)
		}
		set(lagSeconds, waits)
		set(due, float64(l.Due))
		set(retrying, float64(l.Retrying))
		set(failed, float64(l.Failed))
		set(held, float64(l.Held))
		for _, kind := range holds {
			value := 0.0
			if l.Hold.Kind == kind {
				value = 1
			}
			set(hold, value, string(kind))
		}
		if !l.LastSuccess.IsZero() {
			set(lastSuccess, float64(l.LastSuccess.UnixMilli())/1000)
		}
	}
}

// collectFleet reports the processes. Of several incarnations with one name it reports the last one; scim_engine_processes counts all.
func (m *Metrics) collectFleet(ctx context.Context, out chan<- prometheus.Metric) {
	source := m.fleet.Load()
	if source == nil {
		return
	}
	m.takeovers.Collect(out)
	m.lanesTaken.Collect(out)
	all, err := (*source).Processes(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(processes, err)
		return
	}
	count, last := map[engine.ProcessState]int{}, map[string]engine.Process{}
	for _, p := range all {
		count[p.State]++
		if before, ok := last[p.Name]; !ok || !p.Started.Before(before.Started) {
			last[p.Name] = p
		}
	}
	for _, s := range states {
		out <- prometheus.MustNewConstMetric(processes, prometheus.GaugeValue, float64(count[s]), string(s))
	}
	for name, p := range last {
		set := func(d *prometheus.Desc, kind prometheus.ValueType, value float64) {
			out <- prometheus.MustNewConstMetric(d, kind, value, name)
		}
		set(lanes, prometheus.GaugeValue, float64(p.Lanes))
		set(running, prometheus.GaugeValue, p.Running)
		set(inFlight, prometheus.GaugeValue, float64(p.InFlight))
		if !p.Until.IsZero() {
			set(heartbeat, prometheus.GaugeValue, max(p.Now.Sub(p.Seen), 0).Seconds())
		}
		set(rechecks, prometheus.CounterValue, float64(p.Rechecks))
	}
}
