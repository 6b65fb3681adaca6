// Package schema defines what attributes may hold: the characteristics of RFC 7643 section 7, the core schemas of section 8.7 with the
// verified errata, and resource types with their extensions. It resolves the definition that a path names (Resolve), converts a client's
// representation into the form to store (Clean), selects the attributes of a response (Project), and writes the discovery documents.
//
// It evaluates no filters (package filter), applies no changes (package patch) and stores nothing.
package schema
