package daemon

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/scimwright/scimwright/cmd/internal/serving"
)

const metricsPath = serving.MetricsPath

// metricsPage serves the metrics of the engine. The label app of the engine becomes the labels tenant and app.
func (d *Daemon) metricsPage() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.counted)
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scim_daemon_halted_apps", Help: "Number of apps that are halted since a start with --start-halted. NaN: unknown.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(d.stopping, healthTime)
		defer cancel()
		halted, err := d.engineStore.HaltedApps(ctx, haltedAtStart)
		if err != nil {
			return math.NaN()
		}
		return float64(len(halted))
	}))
	return promhttp.HandlerFor(byTenant{registry}, promhttp.HandlerOpts{})
}

// byTenant splits the label app.
type byTenant struct{ of prometheus.Gatherer }

// Gather implements prometheus.Gatherer.
func (b byTenant) Gather() ([]*dto.MetricFamily, error) {
	families, err := b.of.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			i := slices.IndexFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "app" })
			if i < 0 {
				continue
			}
			tenant, app, found := strings.Cut(m.GetLabel()[i].GetValue(), ":")
			if !found {
				continue
			}
			name := "tenant"
			m.Label[i].Value = &app
			m.Label = append(m.Label, &dto.LabelPair{Name: &name, Value: &tenant})
			slices.SortFunc(m.Label, func(x, y *dto.LabelPair) int { return strings.Compare(x.GetName(), y.GetName()) })
		}
	}
	return families, err
}
