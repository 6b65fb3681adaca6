// Package engine contains the commands that operate the provisioning engine of a running sandbox or daemon, and show its state. They call
// its control API and run no engine: their output is the response of the API, human-readable or, with --json, unchanged. service.go has the
// commands for the operations of the daemon alone, such as tokens.
//
// A new command is a field with the tag cmd in the struct of its subject (laneCommands in lanes.go, for example), a type with a method Run,
// and a row in docs/reference/engine.md. The tests of package cli compare docs/cli/scimwright.txt and the transcript
// cli/testdata/engine.txt; -update writes both.
//
// A new column of a table is a heading in the first call of page.row in the method Run of the command (appsCommand.Run in apps.go, for
// example), and a value at the same position in the call for each row. If the response of the control API has no member for the value, add
// the member first: the comment of package engine/control describes how. With --json, the member is shown without a change of this package.
package engine
