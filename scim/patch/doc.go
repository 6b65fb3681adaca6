// Package patch applies the operations of a PATCH (RFC 7644 section 3.5.2) to a resource of a resource type, and reports whether they
// changed it. It neither stores the result nor checks uniqueness, because that requires the other resources.
//
// Where the RFC leaves a case open, this package defines it as follows:
//
//   - add and replace of a complex attribute change only the sub-attributes in the value: the other sub-attributes remain unchanged.
//   - add of null adds nothing. replace with null unassigns the attribute, and of a multi-valued attribute also replace with [] or {}.
//   - add does not add an element that exists already (see schema.Attribute.Key).
//   - add and replace through a value filter without match fail with noTarget; remove succeeds and changes nothing.
//   - replace through a value filter replaces the matching elements as a whole; add changes only the sub-attributes in the value.
//   - A sub-attribute of a multi-valued attribute without value filter (emails.type) means that sub-attribute of every element.
//   - remove of a multi-valued attribute with a value is rejected and not treated as removal of all values.
//   - A read-only attribute in an operation without path is ignored if the given value is its current value. Read-only
//     sub-attributes in a complex value are ignored.
//   - "schemas" in the value of an operation without path only adds schemas, also for replace. With the path "schemas", the removal of a
//     schema removes its data. After all operations, "schemas" names the base schema and the extensions that have data.
//   - The bare URN of an extension is a path to the extension's object.
package patch
