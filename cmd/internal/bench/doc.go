// Package bench measures a SCIM 2.0 server, or two servers in turns, by requests that provisioning clients send, and removes what it
// created.
//
// [Run] creates users, then measures each row of the table in rows.go. A row first prepares its request: it sends the request once and
// verifies the complete response, so that a server that ignores a filter, for example, is reported as such instead of as fast. The load
// itself checks only the status and the size of each response, because the load program runs on the processors of the server as well
// (client.go). turns.go sends the load in short turns, which alternate between the servers so that other work on the machine affects both.
// cleanup.go removes the created objects by their ids and verifies that they are absent. report.go prints the result.
//
// A new row is an element of rows. Its prepare function returns the request, or an error that the report shows in place of the numbers.
package bench
