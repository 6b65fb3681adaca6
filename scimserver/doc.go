// Package scimserver is a SCIM 2.0 service provider (RFC 7643, RFC 7644) as an http.Handler over a [Store].
//
// It answers discovery and bulk jobs, creates, reads, lists, replaces, patches and deletes users, groups and whatever other resource
// types it is given, checks bearer tokens and speaks the protocol's errors. Every client mistake gets a 4xx; what the
// ServiceProviderConfig advertises works and what does not work is not advertised.
//
// Where the RFCs leave a choice, the server has made it:
//
//   - A PUT clears what it does not name, but for the password. A change that makes no difference keeps version and
//     lastModified.
//   - A PATCH is answered with the resource; that of a group with 204, unless attributes or excludedAttributes ask for a body.
//   - Members have to exist: an unknown one is refused with 400 invalidValue, and nothing is changed. A deleted resource
//     leaves its groups, which is a change of them. What a client says of a member's type and display does not count;
//     the display is what the member is called now and is shown on request.
//   - A bulk job is answered with 200 whatever becomes of its operations. References to what is created later in the job
//     are waited for. A circle of references is created as a whole or not at all, unseen by others before it is complete when the
//     store is a [Batcher]; what refers to a failed operation is 409.
//   - /Me is the resource that the token's [Grant] names, with its own location. It is 501 for a token that belongs to no
//     resource, and so is POST.
//   - The groups of a user include those it belongs to through other groups, as "indirect".
//   - Versions are weak entity tags, compared by their opaque value in If-Match too. They stand for what clients can write.
//   - attributes and excludedAttributes together, and filters on attributes that are never returned, are 400.
//   - An attribute that a type does not have is no error in sortBy, as it is none in filters: its resources have no value.
//     sortBy wants one value: name is refused, emails means emails.value. Ties are in the order of creation, and
//     "descending" is the exact reverse of "ascending".
//   - Pages are by index unless a query gives a cursor, if an empty one. Cursor pages repeat the totalResults of the first
//     page. count may change between them, and one that is too large is cut as with an index; startIndex beside a cursor
//     is refused.
//   - The version of the protocol may stand in a path before the endpoint, and one at the end of [Options.Prefix] may be left out
//     of it, as far as requests get here; v2 is served, any other is 400 invalidVers. Locations begin with the prefix always.
//   - No attribute has a default value. Text is kept as it was sent and prepared for comparison: letter case, wide and narrow
//     letters and the composition of accents make no difference where an attribute is not caseExact, only the last where it is.
//   - Discovery needs a token like everything else.
//   - What well-known clients send outside the RFCs is read as it is meant, unless [Options.Refuse] names it.
//
// It does not decide who may see which resource, it does not keep data (package scimserver/sqlstore does, on SQLite and
// PostgreSQL) and it sets no network timeouts: those belong to the http.Server that runs it.
package scimserver
