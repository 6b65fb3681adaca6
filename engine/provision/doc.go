// Package provision is the engine: [New] returns an [Engine] over a store and a directory, which sends nothing until [Engine.Start].
//
// The words that it takes and returns are those of package engine. See there for what the engine does, and the examples below for an
// identity provider on database/sql.
package provision
