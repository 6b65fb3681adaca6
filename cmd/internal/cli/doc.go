// Package cli is the command line of scimwright: it parses arguments, starts the selected command, and maps the result to an exit code.
//
// A command is a struct with tags, which define its flags, environment variables, defaults and help. Commands contain no logic of their
// own. The names and descriptions of the commands are the tags of their structs: cli.go has the first level, cli/engine the commands of
// "scimwright engine", and cli/conform those of the conformance suite, which is also built as a binary without cgo. docs/cli contains the
// help of all of them.
package cli
