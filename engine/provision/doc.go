// Package provision is the engine. Use it in a program that provisions users and groups to SCIM servers, such as an identity provider; a
// program in another language uses the command "scimwright serve engine". [New] returns an [Engine] with a store and a directory. The
// engine sends nothing until [Engine.Start].
//
// The types of its parameters and results are in package engine, which also describes what the engine does. The examples below show an
// identity provider on database/sql.
package provision
