package observe

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts the requests of any number of service providers. A nil Metrics counts nothing.
//
//	scim_requests_total{provider, method, route, status}            status "0": the connection was closed before a response
//	scim_request_duration_seconds{provider, method, route}          histogram
//	scim_response_bytes_total{provider, method, route}              bodies
//	scim_requests_in_flight{provider}                               gauge
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
	inFlight *prometheus.GaugeVec
}

// buckets are the bucket bounds of the duration histogram, in seconds.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewMetrics returns metrics with their own registry.
func NewMetrics() *Metrics {
	labels := []string{"provider", "method", "route"}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scim_requests_total", Help: "Requests that were completed or aborted."},
			append(labels[:3:3], "status")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "scim_request_duration_seconds", Help: "Time from the request's " +
			"head to the end of the response.", Buckets: buckets}, labels),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scim_response_bytes_total", Help: "Bytes of response bodies."}, labels),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "scim_requests_in_flight", Help: "Requests in progress."},
			labels[:1]),
	}
	m.registry.MustRegister(m.requests, m.duration, m.bytes, m.inFlight)
	return m
}

// Handler serves the metrics in the Prometheus text format. They contain no data of single resources. The embedder restricts access to the
// handler.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gatherer returns the metrics, for embedders that serve them together with other metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

func (m *Metrics) begin(e exchange) {
	if m != nil {
		m.inFlight.WithLabelValues(e.provider).Inc()
	}
}

func (m *Metrics) end(e exchange) {
	if m == nil {
		return
	}
	m.inFlight.WithLabelValues(e.provider).Dec()
	m.requests.WithLabelValues(e.provider, e.method, e.route, strconv.Itoa(e.status)).Inc()
	m.duration.WithLabelValues(e.provider, e.method, e.route).Observe(e.took.Seconds())
	m.bytes.WithLabelValues(e.provider, e.method, e.route).Add(float64(e.bytes))
}

// Forget removes the metrics of a deleted service provider, so that the number of time series does not grow with each new provider. No
// request of the provider may be running.
func (m *Metrics) Forget(provider string) {
	if m == nil {
		return
	}
	gone := prometheus.Labels{"provider": provider}
	m.requests.DeletePartialMatch(gone)
	m.duration.DeletePartialMatch(gone)
	m.bytes.DeletePartialMatch(gone)
	m.inFlight.DeletePartialMatch(gone)
}
