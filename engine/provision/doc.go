// Package provision is the engine. [New] returns an [Engine] with a store and a directory. The engine sends nothing until [Engine.Start].
//
// The types of its parameters and results are in package engine, which also describes what the engine does. The examples below show an
// identity provider on database/sql.
package provision
