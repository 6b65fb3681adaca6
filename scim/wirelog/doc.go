// Package wirelog captures HTTP exchanges in human-readable form, without their secrets.
//
// Transport wraps an http.RoundTripper and passes each finished exchange to a function. Credentials in headers, URLs and bodies are
// replaced before the Exchange is created, so code that stores an Exchange never handles secrets. Bodies are truncated to an excerpt. Curl
// renders an exchange as a command line. The package does not store anything and does not change the messages between client and server.
//
// redact.go lists the headers, members and parameters that contain credentials. secrets.go replaces known secrets wherever the remote side
// repeats them.
package wirelog
