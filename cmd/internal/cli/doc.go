// Package cli is the command line of scimwright: it parses arguments, starts what they name, and turns the
// outcome into an exit code.
//
// A command is a tagged struct, which is its flags, its environment variables, its defaults and its help at
// once. Commands hold no logic of their own. The names and descriptions of the commands are the tags of their
// structs: cli.go has the first level, cli/engine the commands of "scimwright engine", and cli/conform those of
// the conformance suite, which is also a binary without cgo. docs/cli has the help of all of them.
package cli
