// Package console serves the pages with which an operator watches and operates the engine, in the sandbox and in the daemon.
//
// A page is a GET handler that reads and one file in pages/. Templates contain no script and no style; assets/ has the one style sheet and
// the one script, without which the pages work except for their live updates.
//
// Data has three sources. The control API (package engine/control) is called in this process with the credential of the session: the host
// passes its handler as Options.API, so that a page and an action are permitted, limited and recorded like the same call of the command
// line. Reads has what concerns all apps at a time. Host has what differs between hosts: who a caller is, and the names of apps and
// principals.
//
// An action is a row of the table in actions.go: an operation of the control API, the fields of its form, what it changes, and where its
// result is shown. The table is the only description: the form, the request and the command line with curl come from it (forms.go). A new
// action is a new row.
//
// A Section (frame.go) is a group of pages of another package, with the same login, navigation, actions and design. Package manage is the
// section of the management API, which only the sandbox has.
//
// A request passes these steps: admit (access.go) checks the host name and the transport; identify (login.go) finds the session and its
// caller; sameOrigin (login.go) checks the origin of a form, and posted (console.go) its token, before
// an action runs. Package session stores the sessions.
package console
