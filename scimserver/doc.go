// Package scimserver is a SCIM 2.0 service provider (RFC 7643, RFC 7644) as an http.Handler over a [Store].
//
// It serves discovery and bulk requests, and creates, reads, lists, replaces, patches and deletes users, groups and other resource types.
// It checks bearer tokens and returns the protocol's errors. Every client error results in a 4xx, except a request to /Me that it does not
// support (501). The ServiceProviderConfig advertises exactly the features that work.
//
// Where the RFCs leave a choice, the server behaves as follows:
//
//   - A PUT removes the attributes that it does not name, except the password. A change without effect does not change version and
//     lastModified.
//   - The response to a PATCH contains the resource. For a group, the response is 204 without a body, unless attributes or
//     excludedAttributes request a body.
//   - Members have to exist: an unknown member is rejected with 400 invalidValue, and nothing is changed. Deleting a resource removes the
//     resource from its groups, and gives these groups a new version. The server ignores the type and display that a client sends for a
//     member; display is the current name of the member and is returned on request.
//   - The response to a bulk request is 200, even if operations fail. An operation waits for a resource that is created later in the
//     request. A cycle of references is created as a whole or not at all. If the store is a [Batcher], other clients do not see the
//     resources before all exist. An operation that refers to a failed operation gets 409.
//   - /Me is the resource that the token's [Grant] names, with its own location. A request to /Me returns 501 if the token belongs to no
//     resource. A POST on /Me always returns 501.
//   - The groups of a user include the groups that the user belongs to through other groups, with the type "indirect".
//   - Versions are weak entity tags, compared by their opaque value, also in If-Match. They cover the attributes that clients can write.
//   - A request with both attributes and excludedAttributes, and a filter on an attribute that is never returned, are rejected with 400.
//   - An attribute that a type does not define is not an error in sortBy and in filters: the resources of that type have no value for it.
//     sortBy needs an attribute with a single value: name is rejected, emails means emails.value. Equal values are in the order of
//     creation, and "descending" is the exact reverse of "ascending".
//   - Pages are by index unless a query has a cursor, which may be empty. Cursor pages repeat the totalResults of the first page. count may
//     change between them, and a count above the maximum is reduced to the maximum, as for pages by index. startIndex together with a
//     cursor is rejected.
//   - A path may contain the protocol version before the endpoint. If [Options.Prefix] ends with a version, a path may omit it, provided
//     the request reaches this handler. v2 is supported; any other version is rejected with 400 invalidVers. Locations always start with
//     the prefix.
//   - No attribute has a default value. Strings are stored as sent and prepared for comparison: case, wide and narrow
//     letters and the composition of accents are ignored for attributes that are not caseExact. For caseExact attributes, only the
//     composition of accents is ignored.
//   - Discovery requires a token, like all other requests.
//   - Nonstandard requests of well-known clients are accepted with their intended meaning, unless [Options.Refuse] names them.
//
// [Limits] limits the cost of one request: sizes of bodies and filters, resources per page, operations per request. [CursorOptions] limits
// the lifetime of cursors. An embedder sets both in [Options]; the programs of this module use the defaults, and a random
// key for cursors.
//
// The package does not decide which client may see which resource, it does not store data (package scimserver/sqlstore does, on SQLite and
// PostgreSQL) and it sets no network timeouts; configure those in the http.Server that runs it.
package scimserver
