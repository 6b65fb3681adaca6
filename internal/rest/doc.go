// Package rest turns a table of typed operations into the management API: routes, binding, validation, the order of
// checks, error answers, headers and the OpenAPI document all come from the same rows.
//
// An operation is a row:
//
//	rest.Op[getRequest, User]{
//		ID: "getUser", Route: "GET /api/v1/users/{user}", Tag: "Users",
//		Summary: "Reads a user", Scopes: []string{"svc.users.read"},
//		Find: s.find, Do: s.get,
//	}
//
// A request is a struct whose tags say where a member comes from and what it may hold:
//
//	path:"name"      a variable of the route
//	query:"name"     a query parameter; an empty value counts as absent
//	header:"Name"    a request header
//	form:"name"      a parameter of a form in the body, or of the query
//	cookie:"name"    a cookie
//	body:"required"  the JSON body, an object or an array, decoded into the field; body:"optional" accepts a request without one;
//	                 into a json.RawMessage it comes as it was sent
//
// and, on these and on the members (json:"name") of a body:
//
//	doc:"..."          the description in the OpenAPI document
//	enum:"A,B"         the accepted values of a string
//	min:"1" max:"50"   bounds: of numbers by value, of strings by characters, of arrays and maps by elements
//	required:"true"    the member must be present, not null and not an empty string, nor, unless it is a secret, a blank one
//	default:"..."      the value of an absent scalar
//	clamp:"true"       an integer above max is lowered to max instead of being refused (page sizes)
//	empty:"absent"     an empty string counts as absent
//	format:"date-time" the OpenAPI format of a string; it documents and does not check
//	readOnly:"true"    ignored on input: objects may be sent back as they were read
//	writeOnly:"true"   never part of an answer
//
// Tags that do not fit on a line are returned by a method of the struct, see Described.
//
// A body in which an object has a member twice is malformed, and no string and no parameter may have U+0000.
//
// Members of embedded structs are members of the outer one. Unknown members of a body are ignored. Null is an empty array
// for arrays and absent for everything else, except under map[string]any, which holds what was sent (numbers as
// json.Number). What the tags cannot express is validated by Op.Check.
//
// The package knows nothing of users or tokens: who calls and what a caller may do is asked of a Guard.
package rest
