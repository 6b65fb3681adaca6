// Package metrics exports Prometheus metrics of an engine. It is an observer of the engine and a collector for the embedder's registry. It
// has no HTTP server.
//
//	m := metrics.New()
//	e, err := provision.New(provision.Options{Observer: engine.Observers(m, mine), ...})
//	m.Follow(e.Apps()) // the gauges: state in the store, whichever process works on it
//	m.FollowFleet(e)   // the processes that share the store
//	registry.MustRegister(m)
//
// The metrics of apps have the label app. The other labels have few values:
//
//	scim_engine_sequences_total{app, operation, outcome}      finished sequences; see engine.Operation and engine.Class
//	scim_engine_requests_total{app, method, status}           requests of sequences; status is 2xx, 3xx, 4xx, 5xx or none (no response)
//	scim_engine_sequence_duration_seconds{app}                histogram of the durations of sequences, from the query of the
//	                                                          directory to the stored result
//	scim_engine_retries_total{app}                            sequences that failed and are retried after a backoff
//	scim_engine_overdue_total{app}                            deactivations that were not confirmed within Options.DeactivateWithin
//	scim_engine_lag_seconds{app}                              age of the oldest pending change; 0 if no change is pending
//	scim_engine_due{app}                                      pending principals, including those in a backoff
//	scim_engine_retrying{app}                                 pending principals in a backoff
//	scim_engine_failed{app}                                   principals that the target rejects
//	scim_engine_held{app}                                     principals that wait for a decision
//	scim_engine_hold{app, kind}                               1 if the lane has a hold of this kind, otherwise 0;
//	                                                          kind is pause, breaker or quarantine
//	scim_engine_last_success_timestamp_seconds{app}           time of the last successful sequence; absent before the first one
//
// These metrics describe the processes that share the store. The label process is provision.Options.Owner. Set it to a fixed name, because
// the default is a random name for each start:
//
//	scim_engine_processes{state}                              processes by state; see engine.ProcessState. Those that have ended count for
//	                                                          about a minute
//	scim_engine_process_lanes{process}                        leased lanes
//	scim_engine_process_running_lanes{process}                mean number of running lanes between the last two heartbeats
//	scim_engine_process_in_flight{process}                    principals that were being processed at the last heartbeat
//	scim_engine_process_heartbeat_age_seconds{process}        time since the last heartbeat; absent if the store belongs to one process
//	scim_engine_process_rechecks_total{process}               principals that the process has requeued because they were in flight when
//	                                                          their process died
//	scim_engine_takeovers_total                               dead processes whose lanes this process has taken over
//	scim_engine_lanes_taken_total                             the lanes that this process has taken over from them
//
// The counters are those of this process, except for rechecks. The gauges are read from the store: engines that share a store report the
// same values. Forget removes the counters of a deleted app.
package metrics
