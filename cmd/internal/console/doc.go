// Package console serves the pages of the sandbox: the apps, the state of each principal, and the exchanges with the targets.
//
// The pages are read-only and contain no script. All data comes through Source, which the composition root implements. Because the pages
// need no password, they are available only to clients on this machine, and not through a proxy on it.
package console
