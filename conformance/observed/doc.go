// Package observed judges SCIM traffic that others hold: a [Recorder] stands between a client and a server and keeps what
// they say, [Judge] gives a verdict on both sides. The server is judged by those checks of the suite that watch, the client by
// the rules of this package ([ClientChecks]), which send nothing either.
//
// A recording holds no passwords and no tokens, but whatever else the two sides have said, people's data included: keep it
// where such data may be. Reports of a verdict mask the data too. The package is no debugging proxy: nothing is changed on its
// way, and nothing is sent that the client has not sent.
package observed
