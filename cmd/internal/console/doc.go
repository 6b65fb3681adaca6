// Package console serves the pages of the sandbox: what is provisioned where, in which state each principal
// is, and the exchanges that brought it there.
//
// It only shows. Everything it shows comes through Source, which the composition root implements; it writes
// nothing and has no script. Because the pages need no password, they answer
// clients on this machine only, and none behind a proxy on it.
package console
