// Package lint validates one SCIM document without a server: a resource, a list, a PATCH, a bulk request, an error, a search or a discovery
// document, by the rules of RFC 7643 and RFC 7644. It reports every violation with its place in the text, the violated clause and how to
// fix it, and never shows the values of passwords and other secrets.
//
// The kind of a document follows from its schemas. The package does not check requirements that cannot be tested with the document alone:
// whether the target of a reference exists, whether a value is unique, or, unless [Options.From] is set, which side has sent the document.
package lint
