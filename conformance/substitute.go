package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A substitution runs a check with other attributes of users than those that the check names. It changes each request before it is sent and
// each response before the check reads it: if title replaces displayName, the check sets displayName, the target receives title, and the
// check reads the value of title as displayName. Recorded exchanges contain the attributes that the target received. The zero value changes
// nothing. Attributes of groups are never replaced.
type substitution struct {
	// names maps each replaced attribute in lower case to its replacement, and the replacement in lower case to the replaced attribute.
	names map[string]string
	// without are attributes that a create or a replacement of a user does not send, because the target rejects them.
	without []string
}

// substitutes are the attributes that can replace each other: single-valued strings that may contain any text.
var substitutes = []string{"title", "nickName", "displayName", "userType"}

func (x substitution) none() bool { return len(x.names) == 0 && len(x.without) == 0 }

// key returns a text that is equal for equal substitutions.
func (x substitution) key() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(x.names)) {
		out = append(out, name+"="+x.names[name])
	}
	return strings.Join(append(out, x.without...), ",")
}

// swap exchanges two attributes.
func (x *substitution) swap(a, b string) {
	if x.names == nil {
		x.names = map[string]string{}
	}
	x.names[strings.ToLower(a)], x.names[strings.ToLower(b)] = b, a
}

// name returns the attribute that replaces the given one, written in the same case, or the given name if it is not replaced.
func (x substitution) name(given string) string {
	to, ok := x.names[strings.ToLower(given)]
	switch {
	case !ok:
		return given
	case given == x.names[strings.ToLower(to)]:
		return to // written as in the schema
	case given == strings.ToUpper(given):
		return strings.ToUpper(to)
	case given == strings.ToLower(given):
		return strings.ToLower(to)
	case given[0] >= 'A' && given[0] <= 'Z':
		return strings.ToUpper(to[:1]) + to[1:]
	}
	return to
}

// path returns a path in which the attribute is replaced. The path may start with the URN of the User schema and may contain
// sub-attributes. Paths with another URN are returned unchanged.
func (x substitution) path(given string) string {
	urn, rest := "", given
	if prefix := scim.UserSchema + ":"; len(given) > len(prefix) && strings.EqualFold(given[:len(prefix)], prefix) {
		urn, rest = given[:len(prefix)], given[len(prefix):]
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r == '.' || r == ':' || r == '[' })
	if end < 0 {
		end = len(rest)
	} else if rest[end] == ':' {
		return given // an attribute of another schema
	}
	return urn + x.name(rest[:end]) + rest[end:]
}

// attributePath is an attribute in a filter, a PATCH path or a list of attributes, or a quoted operand.
var attributePath = regexp.MustCompile(`"(?:\\.|[^"\\])*"|[A-Za-z][\w:.$-]*`)

// expression returns a filter, a PATCH path or a list of attributes in which the attributes are replaced. Quoted operands, and the
// sub-attributes in value filters such as emails[type eq "work"], are not changed.
func (x substitution) expression(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range attributePath.FindAllStringIndex(text, -1) {
		out.WriteString(text[last:at[0]])
		part := text[at[0]:at[1]]
		inside := strings.Count(text[:at[0]], "[") > strings.Count(text[:at[0]], "]")
		if part[0] != '"' && !inside && (at[0] == 0 || text[at[0]-1] != '.') {
			part = x.path(part)
		}
		out.WriteString(part)
		last = at[1]
	}
	out.WriteString(text[last:])
	return out.String()
}

// aboutUsers reports whether the body or the response of a request to a path contains users.
func aboutUsers(path string) bool {
	segment := first(path)
	return segment == "Users" || segment == "Me"
}

// request returns the request that is sent to the target: the request of the check with its attributes replaced.
func (x substitution) request(req Request) Request {
	if x.none() {
		return req
	}
	if req.Method == http.MethodPost && req.Path == bulkPath {
		req.Body = x.bulk(req.Body)
		return req
	}
	if !aboutUsers(req.Path) {
		return req
	}
	if len(req.Query) > 0 {
		query := maps.Clone(req.Query)
		for _, parameter := range queryParameters {
			values := slices.Clone(query[parameter])
			for i := range values {
				values[i] = x.expression(values[i])
			}
			if values != nil {
				query[parameter] = values
			}
		}
		req.Query = query
	}
	req.Body = x.body(req.Method, req.Path, req.Body)
	return req
}

// body returns the body that is sent with a request about users: the body of the check with its attributes replaced.
func (x substitution) body(method, path string, body any) any {
	switch b := body.(type) {
	case []byte:
		return x.text(b)
	case Doc:
		switch {
		case method == http.MethodPatch:
			return x.message(b)
		case strings.HasSuffix(path, "/.search"):
			return x.search(b)
		}
		return x.resource(b)
	case nil:
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return body // newRequest encodes the body again and returns the error
	}
	return x.text(data)
}

// resource replaces the attributes in the body of a POST or PUT of a user, and omits those in x.without.
func (x substitution) resource(body Doc) Doc {
	out := Doc{}
	for name, value := range body {
		if to := x.path(name); !slices.ContainsFunc(x.without, func(w string) bool { return scim.EqualName(w, to) }) {
			out[to] = value
		}
	}
	return out
}

// members replaces the attributes in the value of a PATCH operation without a path.
func (x substitution) members(value any) any {
	switch v := value.(type) {
	case Doc:
		return substitution{names: x.names}.resource(v)
	case map[string]any:
		return substitution{names: x.names}.resource(v)
	}
	return value
}

// message replaces the attributes in a PATCH message.
func (x substitution) message(body Doc) Doc {
	out := maps.Clone(body)
	for name, value := range out {
		if scim.EqualName(name, "Operations") {
			out[name] = eachDoc(value, x.operation)
		}
	}
	return out
}

// operation replaces the attributes in an operation of a PATCH.
func (x substitution) operation(op Doc) Doc {
	out := maps.Clone(op)
	path := nameOf(op, "path")
	for name, value := range out {
		text, isText := value.(string)
		switch {
		case scim.EqualName(name, "path") && isText:
			out[name] = x.expression(text)
		case scim.EqualName(name, "value") && (path == "" || scim.EqualName(path, scim.UserSchema)):
			out[name] = x.members(value)
		}
	}
	return out
}

// search replaces the attributes in a SearchRequest.
func (x substitution) search(body Doc) Doc {
	out := maps.Clone(body)
	for name, value := range out {
		switch strings.ToLower(name) {
		case "filter", "sortby", "attributes", "excludedattributes":
			switch v := value.(type) {
			case string:
				out[name] = x.expression(v)
			case []string:
				list := slices.Clone(v)
				for i := range list {
					list[i] = x.expression(list[i])
				}
				out[name] = list
			}
		}
	}
	return out
}

// bulk replaces the attributes in the operations on users of a bulk request.
func (x substitution) bulk(body any) any {
	message, ok := body.(Doc)
	if !ok {
		return body
	}
	out := maps.Clone(message)
	for name, value := range out {
		if !scim.EqualName(name, "Operations") {
			continue
		}
		out[name] = eachDoc(value, func(op Doc) Doc {
			path := nameOf(op, "path")
			if !aboutUsers(path) {
				return op
			}
			op = maps.Clone(op)
			for member, data := range op {
				if scim.EqualName(member, "data") {
					op[member] = x.body(strings.ToUpper(nameOf(op, "method")), path, data)
				}
			}
			return op
		})
	}
	return out
}

// eachDoc returns a copy of a list in which fn was applied to each object.
func eachDoc(list any, fn func(Doc) Doc) any {
	switch v := list.(type) {
	case []Doc:
		out := make([]Doc, len(v))
		for i := range v {
			out[i] = fn(v[i])
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if doc, ok := out[i].(Doc); ok {
				out[i] = fn(doc)
			}
		}
		return out
	}
	return list
}

var (
	memberWord = regexp.MustCompile(`(["'])((?:urn:[\w:.-]+:)?\w+)(["']\s*:)`)
	pathMember = regexp.MustCompile(`("path"\s*:\s*")((?:[^"\\]|\\.)*)(")`)
)

// text replaces the attributes of the substitution in a body that need not be valid JSON: in names of members, and in the values of members
// named path.
func (x substitution) text(body []byte) []byte {
	out := replaceGroup(memberWord, body, x.path)
	return replaceGroup(pathMember, out, x.expression)
}

// replaceGroup replaces the second of the three groups of each match by the result of fn.
func replaceGroup(expression *regexp.Regexp, text []byte, fn func(string) string) []byte {
	return expression.ReplaceAllFunc(text, func(match []byte) []byte {
		groups := expression.FindSubmatch(match)
		return bytes.Join([][]byte{groups[1], []byte(fn(string(groups[2]))), groups[3]}, nil)
	})
}

// response returns a response as the check reads it, with the original names of the replaced attributes.
func (x substitution) response(req Request, res *Response) *Response {
	if len(x.names) == 0 || res.Object() == nil {
		return res
	}
	out := *res
	switch {
	case req.Path == bulkPath:
		out.object = eachMember(res.object, "Operations", func(result *scim.Object) *scim.Object {
			answer := result.Complex("response")
			if where := result.Text("location"); answer == nil || !strings.Contains(where, "/Users/") {
				return result
			}
			result = result.Copy()
			result.Set("response", x.user(answer))
			return result
		})
	case aboutUsers(req.Path):
		if _, isList := res.object.Get("Resources"); isList {
			out.object = eachMember(res.object, "Resources", x.user)
		} else if res.OK() {
			out.object = x.user(res.object)
		}
	}
	return &out
}

// eachMember returns a copy of an object in which fn was applied to the objects of a list.
func eachMember(o *scim.Object, list string, fn func(*scim.Object) *scim.Object) *scim.Object {
	items, ok := o.Get(list)
	elements, isList := items.([]any)
	if !ok || !isList {
		return o
	}
	elements = slices.Clone(elements)
	for i, e := range elements {
		if item, ok := e.(*scim.Object); ok {
			elements[i] = fn(item)
		}
	}
	out := o.Copy()
	out.Set(list, elements)
	return out
}

// user returns a user of a response with the original names of the replaced attributes.
func (x substitution) user(o *scim.Object) *scim.Object {
	var members []scim.Member
	for name, value := range o.All() {
		members = append(members, scim.Member{Name: x.path(name), Value: value})
	}
	return scim.NewObject(members...)
}

// findings returns findings in which each name of a replaced attribute is that of the attribute that was sent.
func (x substitution) findings(list []Finding) []Finding {
	out := slices.Clone(list)
	for i, f := range out {
		if f.Exchange != nil && strings.Contains(f.Exchange.URL, "/Groups") {
			continue
		}
		for _, text := range []*string{&out[i].What, &out[i].Want, &out[i].Got} {
			*text = word.ReplaceAllStringFunc(*text, x.name)
		}
	}
	return out
}
