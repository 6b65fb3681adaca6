// Package connect is the SCIM client of the engine: it sends one request and reads one response.
//
// It builds the URL, authenticates, limits time and size, and follows no redirect. It returns every failure as an error that describes the
// request and the response. It never repeats a request and never waits: package lane schedules retries. Each exchange is passed to a
// recorder, redacted.
package connect
