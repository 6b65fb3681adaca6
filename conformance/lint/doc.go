// Package lint judges one SCIM document without a server: a resource, a list, a PATCH, a bulk job, an error, a search or a
// discovery document, as RFC 7643 and RFC 7644 want it. It finds every mistake with its place in the text, the clause that it
// breaks and how to mend it, and never shows the values of passwords and other secrets.
//
// What a document is follows from its schemas. What cannot be known from the document alone is not judged: whether a
// reference leads anywhere, whether a value is unique, or, unless [Options.From] says so, which side has sent it.
package lint
