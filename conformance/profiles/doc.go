// Package profiles contains the client flows of known provisioning clients as data: the requests that they send, in order, the responses
// that they accept, and the required state of the target after each step. A conformance run with profiles returns one more verdict
// per client: whether provisioning by that client works with the target.
//
// If a client accepts more than the RFCs permit, or requires more than they do, the client flow follows the client. The Doubt of a profile
// describes which of its requests are neither documented nor recorded. The package does not simulate a client's schedule, retries or
// attribute mappings.
package profiles
