// Package oracle predicts the responses of a SCIM service provider. From the target's schemas and a seed it generates resources, filters
// and PATCH operations, and computes the expected results with its own small model. Package checks sends them to the target and compares.
// On a difference, [Shrink] searches for the smallest request that still differs.
//
// The model implements RFC 7644 sections 3.4.2.2, 3.4.2.3, 3.5.2 and 3.9 and shares no code with a server. It covers only what these
// sections define. Requests whose result they leave open, or that correct servers are known to handle differently, are not generated (the
// comments describe which, and why). It is neither a complete filter engine nor a reference for one, it parses no filters, and it does not
// use HTTP.
package oracle
