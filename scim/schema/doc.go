// Package schema knows what attributes may hold: the characteristics of RFC 7643 section 7, the core schemas of section
// 8.7 with the verified errata, resource types with their extensions, and what follows from them: finding the definition
// a path names (Resolve), bringing a client's representation into the form to store (Clean), choosing what an answer
// shows (Project), and the discovery documents.
//
// It compares and stores nothing; filters are the business of package filter, changes of package patch.
package schema
