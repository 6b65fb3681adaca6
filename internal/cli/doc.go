// Package cli is the command line of scimwright: it parses arguments, starts what they name, and turns the
// outcome into an exit code.
//
// A command is a tagged struct, which is its flags, its environment variables, its defaults and its help at
// once. Commands hold no logic of their own. The conformance commands live in cli/conform, because they are
// also a binary by themselves, without cgo.
package cli
