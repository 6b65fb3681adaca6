// Package oracle foretells what a SCIM service provider has to answer. From the target's own schemas and a seed it makes up
// resources, filters and PATCH operations, and it computes by a small model of its own what they lead to; package checks puts
// the same to the target and compares. When the two differ, [Shrink] looks for the smallest request for which they still do.
//
// The model follows RFC 7644 sections 3.4.2.2, 3.4.2.3, 3.5.2 and 3.9 and shares no code with a server. It speaks of what
// these sections settle and of nothing else: what they leave open, or what correct servers are known to do in several ways, is
// not made up in the first place (the comments say what, and why). It therefore is neither a complete filter engine nor a
// reference for one, it reads no filters, and it knows nothing of HTTP.
package oracle
