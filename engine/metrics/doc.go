// Package metrics counts what an engine does, for Prometheus. It is an observer of the engine and a collector for the embedder's own
// registry; it serves nothing itself.
//
//	m := metrics.New()
//	e, err := provision.New(provision.Options{Observer: engine.Observers(m, mine), ...})
//	m.Follow(e.Apps()) // the gauges: what is in the store, whichever process works on it
//	registry.MustRegister(m)
//
// Every metric has the label app, and otherwise labels of a few values:
//
//	scim_engine_sequences_total{app, operation, outcome}      sequences that ended; see engine.Operation and engine.Class
//	scim_engine_requests_total{app, method, status}           requests of sequences; status is 2xx, 3xx, 4xx, 5xx or none (no answer)
//	scim_engine_sequence_duration_seconds{app}                histogram, from the question to the directory to the stored result
//	scim_engine_retries_total{app}                            sequences that failed and are tried again after a back-off
//	scim_engine_overdue_total{app}                            deactivations that did not arrive within Options.DeactivateWithin
//	scim_engine_lag_seconds{app}                              since when the first principal of those that are due waits; 0 for none
//	scim_engine_due{app}                                      principals that are due, those in a back-off too
//	scim_engine_retrying{app}                                 of these, those in a back-off
//	scim_engine_failed{app}                                   principals that the target refuses
//	scim_engine_held{app}                                     principals that wait for a decision
//	scim_engine_hold{app, kind}                               1 for the hold that the lane is in, 0 for the others: pause, breaker,
//
// quarantine
//
//	scim_engine_last_success_timestamp_seconds{app}           when a sequence has last succeeded; missing before the first one
//
// The counters are of this process, the gauges of the store: of several engines that share one, each tells the same.
// Forget removes the counters of an app that is gone.
package metrics
