// Package manage serves the pages of the management API in the console of the sandbox: users, groups, assignments, the system log, tokens,
// OAuth clients, settings and the clock.
//
// A page reads by operations of the management API, in this process and with the credential of the session, so that the API decides what a
// caller may see. An action is a row of a table (console.Row) with the method and the path of an operation; package console shows its form,
// sends the request, and shows the result or the error. The package has no other access to data.
//
// Each file has one subject: its links in the navigation, its pages, and the table of its actions. A new subject is a new file and an
// element of subjects.
package manage
