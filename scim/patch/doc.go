// Package patch applies the operations of a PATCH (RFC 7644 section 3.5.2) to a resource under its resource type, and
// says whether anything changed. It neither stores the result nor checks uniqueness, which takes the other resources.
package patch
