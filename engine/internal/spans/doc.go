// Package spans creates the OpenTelemetry spans of an engine: of marks, lanes and sequences, of queries of
// the directory, of requests to targets, and of webhooks. It depends only on the API
// of OpenTelemetry; the embedder passes a TracerProvider of its SDK.
//
// The trace of a mark continues in the sequence that the mark causes: the engine stores the trace context of the mark in the transaction of
// the mark, and the span of the sequence is a child of the span of the mark. If several marks result in one sequence, its span is a child
// of the first one, and has a link to each of the others. It has a link to the span of the lane, too. The span of a sequence without a
// stored trace context is a child of the span of the lane.
package spans
