package sandbox

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scimserver/observe"
)

// metricsHandler serves the metrics of the SCIM servers and those of the engine.
func metricsHandler(servers *observe.Metrics, provisioning prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(provisioning)
	return promhttp.HandlerFor(prometheus.Gatherers{servers.Gatherer(), registry}, promhttp.HandlerOpts{})
}

// withMetrics serves the metrics at /metrics and SCIM at all other paths.
func withMetrics(metrics, scim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == serving.MetricsPath {
			metrics.ServeHTTP(w, r)
			return
		}
		scim.ServeHTTP(w, r)
	})
}
