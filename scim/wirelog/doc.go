// Package wirelog captures HTTP exchanges for people to read, without their secrets.
//
// Transport wraps an http.RoundTripper and hands each finished exchange to a function. Credentials in headers, URLs and
// bodies are replaced before the exchange exists, so nothing that keeps one has to think of it; bodies are cut to an excerpt.
// Curl renders an exchange as a command line. The package does not store anything, and it is not a debugging proxy: what the
// two sides send each other passes unchanged.
//
// redact.go lists the headers, members and parameters that carry credentials. secrets.go replaces known secrets wherever the other side
// repeats them.
package wirelog
