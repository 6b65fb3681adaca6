// Package rest implements the management API from a table of typed operations: routes, binding, validation, the order of checks, error
// responses, headers and the OpenAPI document are derived from the same rows.
//
// An operation is a row:
//
//	rest.Op[getRequest, User]{
//		ID: "getUser", Route: "GET /api/v1/users/{user}", Tag: "Users",
//		Summary: "Reads a user", Scopes: []string{"svc.users.read"},
//		Find: s.find, Do: s.get,
//	}
//
// A request is a struct whose tags define the source of each member and its valid values:
//
//	path:"name"      a variable of the route
//	query:"name"     a query parameter; an empty value counts as absent
//	header:"Name"    a request header
//	form:"name"      a parameter of a form in the body, or of the query
//	cookie:"name"    a cookie
//	body:"required"  the JSON body, an object or an array, decoded into the field; body:"optional" accepts a request without one;
//	                 a json.RawMessage receives it unchanged; a Stream receives a body of lines, which the operation reads
//
// and, on these and on the members (json:"name") of a body:
//
//	doc:"..."          the description in the OpenAPI document
//	enum:"A,B"         the accepted values of a string
//	min:"1" max:"50"   bounds: of numbers by value, of strings by characters, of arrays and maps by elements
//	required:"true"    the member must be present, not null and not empty; a string other than a secret must not be only whitespace
//	default:"..."      the value of an absent scalar
//	clamp:"true"       an integer above max is lowered to max instead of being rejected (page sizes)
//	empty:"absent"     an empty string counts as absent
//	format:"date-time" the OpenAPI format of a string; documentation only, not checked
//	readOnly:"true"    ignored on input: clients may send objects back as they read them
//	writeOnly:"true"   never part of a response
//
// Tags that do not fit on a line are returned by a method of the struct, see Described.
//
// A body with duplicate members in an object is malformed. No string and no parameter may contain U+0000.
//
// Members of embedded structs are members of the outer one. Unknown members of a body are ignored. Null is an empty array for arrays and
// absent for everything else, except under map[string]any, which contains null as sent (and numbers as json.Number). Op.Check validates
// rules that tags cannot express.
//
// The package does not depend on users or tokens: a Guard authenticates and authorizes the caller.
package rest
