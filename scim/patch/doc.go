// Package patch applies the operations of a PATCH (RFC 7644 section 3.5.2) to a resource under its resource type, and says
// whether anything changed. It neither stores the result nor checks uniqueness, which takes the other resources.
//
// Where the RFC leaves something open, this is what happens:
//
//   - add and replace of a complex attribute merge: sub-attributes not given stay.
//   - add of null adds nothing. replace with null, [] or an object without values unassigns.
//   - An element that is there already (see schema.Attribute.Key) is not added again.
//   - add and replace through a value filter without match fail with noTarget; remove succeeds.
//   - replace through a value filter replaces the matching elements as a whole; add merges into them.
//   - A sub-attribute of a multi-valued attribute without value filter (emails.type) means that part of every element.
//   - remove of a multi-valued attribute with a value is refused rather than taken for "remove all".
//   - A read-only attribute in an operation without path is passed over when it is given its present value. Read-only
//     sub-attributes in a complex value are passed over.
//   - "schemas" in an operation without path adds only; with the path "schemas" a schema that goes takes its data along.
//     In the end "schemas" names the base schema and the extensions that have data.
//   - The bare URN of an extension is a path to the extension's object.
package patch
