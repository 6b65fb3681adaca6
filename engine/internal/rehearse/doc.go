// Package rehearse stands between a sequence and a target: what is read comes from the target, what is written is pretended.
//
// A Client answers writes as a target would that does what it is asked, and shows what it pretends in later reads and lookups,
// so that a sequence runs to its end and its requests can be looked at before they are sent. Nothing but GET requests ever
// reaches the target. How a real target answers may differ (one that refuses, or keeps only a part, is not foreseen), and so may
// what is sent after that. The package decides nothing, stores nothing, and is no SCIM server.
package rehearse
