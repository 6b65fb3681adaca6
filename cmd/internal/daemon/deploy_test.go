package daemon_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine/metrics"
)

var (
	metricName  = regexp.MustCompile(`\bscim_engine_\w+`)
	parts       = regexp.MustCompile(`(_seconds)_(bucket|sum|count)$`)
	description = regexp.MustCompile(`fqName: "(\w+)"`)
)

func deployed(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", file))
	require.NoError(t, err)
	return text
}

// metricsIn returns the distinct metrics in a text, without the suffixes of a histogram.
func metricsIn(text string) (names []string) {
	for _, name := range metricName.FindAllString(text, -1) {
		names = append(names, parts.ReplaceAllString(name, "$1"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestDeploy_OnlyExportedMetrics compares the metrics of the alerts and of the dashboard with those of a daemon. Counters of events that
// have not happened are absent from the page, but described by the collector.
func TestDeploy_OnlyExportedMetrics(t *testing.T) {
	descriptions := make(chan *prometheus.Desc, 100)
	metrics.New().Describe(descriptions)
	close(descriptions)
	var described []string
	for d := range descriptions {
		described = append(described, description.FindStringSubmatch(d.String())[1])
	}

	d, _ := start(t, daemon.Options{Metrics: serving.MetricsOptions{Token: "metrics-token"}})
	c := callerOf(t, d)
	_, url := newTarget(t)
	c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, url))
	c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
	c.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
	page := (&caller{t: t, url: d.Ready().BaseURL, token: "metrics-token"}).do(http.StatusOK, http.MethodGet, "/metrics", "").body
	exported := metricsIn(page)
	require.Greater(t, len(exported), 10)
	require.Subset(t, described, exported, "the daemon exports what the collector describes")

	for _, file := range []string{"prometheus/alerts.yaml", "prometheus/alerts_test.yaml", "grafana/engine.json"} {
		used := metricsIn(string(deployed(t, file)))
		require.NotEmpty(t, used, file)
		assert.Subset(t, described, used, file)
	}
	assert.Subset(t, metricsIn(string(deployed(t, "grafana/engine.json"))), described, "the dashboard shows every metric")
}

// TestAlerts_EachTested checks that alerts_test.yaml contains a time at which each alert fires, and one at which it does not.
// .ci/run runs these tests with promtool.
func TestAlerts_EachTested(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(deployed(t, "prometheus/alerts.yaml"), &rules))
	var tests struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(deployed(t, "prometheus/alerts_test.yaml"), &tests))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			fires[c.Alert] = fires[c.Alert] || len(c.Expected) > 0
			silent[c.Alert] = silent[c.Alert] || len(c.Expected) == 0
		}
	}
	require.NotEmpty(t, rules.Groups)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			assert.True(t, fires[rule.Alert], "%s fires in no test", rule.Alert)
			assert.True(t, silent[rule.Alert], "%s is silent in no test", rule.Alert)
			assert.NotEmpty(t, metricsIn(rule.Expr), rule.Alert)
			assert.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		}
	}
}

// TestDashboard_PanelsQuery checks the references between the parts of the dashboard.
func TestDashboard_PanelsQuery(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID          int
			Type, Title string
			Targets     []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(deployed(t, "grafana/engine.json"), &dashboard))
	variables := []string{"$__rate_interval"}
	for _, v := range dashboard.Templating.List {
		variables = append(variables, "$"+v.Name)
	}
	require.Len(t, variables, 4)
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		assert.False(t, ids[panel.ID], "two panels have the id %d", panel.ID)
		ids[panel.ID] = true
		assert.Equal(t, panel.Type == "row", len(panel.Targets) == 0, panel.Title)
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`\$\w+`).FindAllString(target.Expr, -1) {
				assert.Contains(t, variables, name, panel.Title)
			}
			assert.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), panel.Title)
		}
	}
}
