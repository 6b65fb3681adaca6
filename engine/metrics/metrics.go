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

// lagTime bounds the questions to the store for one collection.
const lagTime = 5 * time.Second

// Lags tells how far targets are behind. provision.Apps is one.
type Lags interface {
	Lags(ctx context.Context) ([]engine.Lag, error)
}

// Metrics counts. It may be used by several goroutines.
type Metrics struct {
	// Now is the clock for lags; set before use. Defaults to time.Now.
	Now func() time.Time

	lags atomic.Pointer[Lags]

	sequences, requests, retries, overdue *prometheus.CounterVec
	duration                              *prometheus.HistogramVec
}

var (
	_ engine.Observer        = (*Metrics)(nil)
	_ engine.OverdueObserver = (*Metrics)(nil)
	_ prometheus.Collector   = (*Metrics)(nil)
)

// buckets are the bounds of the duration histogram, in seconds.
var buckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// The gauges.
var (
	lagSeconds  = gauge("scim_engine_lag_seconds", "Since when the first principal of those that are due waits.")
	due         = gauge("scim_engine_due", "Principals that are due.")
	retrying    = gauge("scim_engine_retrying", "Principals that are tried again after a back-off.")
	failed      = gauge("scim_engine_failed", "Principals that the target refuses.")
	held        = gauge("scim_engine_held", "Principals that wait for a decision.")
	hold        = gauge("scim_engine_hold", "1 for the hold that the lane is in.", "kind")
	lastSuccess = gauge("scim_engine_last_success_timestamp_seconds", "When a sequence has last succeeded.")

	gauges = []*prometheus.Desc{lagSeconds, due, retrying, failed, held, hold, lastSuccess}
	holds  = []engine.HoldKind{engine.HoldPause, engine.HoldBreaker, engine.HoldQuarantine}
)

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"app"}, labels...), nil)
}

// New returns counters at zero. Without Follow there are no gauges.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"app"}, labels...))
	}
	return &Metrics{
		Now:       time.Now,
		sequences: counter("scim_engine_sequences_total", "Sequences that ended.", "operation", "outcome"),
		requests:  counter("scim_engine_requests_total", "Requests of sequences.", "method", "status"),
		retries:   counter("scim_engine_retries_total", "Sequences that failed and are tried again after a back-off."),
		overdue:   counter("scim_engine_overdue_total", "Deactivations that did not arrive in time."),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "scim_engine_sequence_duration_seconds", Help: "Time from the question to the directory to the stored result.", Buckets: buckets,
		}, []string{"app"}),
	}
}

// Follow adds the gauges, from an engine that is asked whenever metrics are collected.
func (m *Metrics) Follow(l Lags) { m.lags.Store(&l) }

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

// class of a status; a target may answer with any number.
func class(status int) string {
	if status < http.StatusOK || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// Forget removes what was counted for an app that is gone, so that apps that come and go do not make for endless metrics.
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
	for _, g := range gauges {
		out <- g
	}
}

// Collect implements prometheus.Collector. When the store cannot tell, the gauges are reported as invalid; what happens to the
// counters then is for the registry's handler to say.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(out)
	}
	source := m.lags.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lagTime)
	defer cancel()
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
