package metrics_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/metrics"
)

// The metrics are an observer of the engine and a collector of the registry. The engine itself calls Result.
func Example() {
	m := metrics.New()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)

	m.Result(context.Background(), engine.Result{App: "crm", Operation: engine.OpCreate, Outcome: engine.Done, Status: engine.StatusClean})

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "scim_engine_sequences_total" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetLabel()[0].GetValue(), f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: scim_engine_sequences_total crm 1
}
