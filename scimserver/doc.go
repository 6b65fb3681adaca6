// Package scimserver is a SCIM 2.0 service provider (RFC 7643, RFC 7644) as an http.Handler over a [Store].
//
// It answers discovery, creates, reads, lists, replaces, patches and deletes users, groups and whatever other resource
// types it is given, checks bearer tokens and speaks the protocol's errors. Every client mistake gets a 4xx; what the
// ServiceProviderConfig advertises works and what does not work is not advertised.
//
// It does not decide who may see which resource, it does not keep data (package scimserver/sqlstore does, on SQLite and
// PostgreSQL) and it sets no network timeouts: those belong to the http.Server that runs it.
package scimserver
