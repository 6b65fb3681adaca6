// Package observed checks SCIM traffic between other programs: a [Recorder] between a client and a server records their exchanges, and
// [Judge] returns a verdict on both sides. Checks of the suite that observe traffic are applied to the server, the rules of this package
// ([ClientChecks]) to the client. Neither sends requests.
//
// A recording contains no passwords and no tokens, but all other data of the exchanges, including personal data: store it only where such
// data is permitted. Reports of a verdict mask that data too. The package is not a debugging proxy: it neither changes requests nor sends
// its own.
package observed
