package lint

import (
	"slices"
	"strings"
)

// bulkOperations returns the operations of a bulk request or response. It reports a finding if there are none.
func (l *linter) bulkOperations(n *node) []*node {
	operations := n.given("Operations")
	switch {
	case operations == nil:
		l.missing(n, "Operations", "bulk.operations", "an array")
		return nil
	case operations.kind != kindArray:
		l.addFinding(operations, "bulk.operations", "an array", operations)
		return nil
	}
	var out []*node
	for _, o := range operations.items {
		if o.kind == kindObject {
			out = append(out, o)
		} else {
			l.addFinding(o, "bulk.operations", "an object", o)
		}
	}
	return out
}

// bulkRequest validates a bulk request (RFC 7644 section 3.7).
func (l *linter) bulkRequest(n *node) {
	if v := n.given("failOnErrors"); v != nil {
		if limit, ok := v.integer(); !ok || limit < 1 {
			l.addFinding(v, "bulk.fail-on-errors", "an integer of at least 1", v)
		}
	}
	operations := l.bulkOperations(n)
	ids := map[string]bool{}
	for _, o := range operations {
		if id := o.given("bulkId"); id.string() != "" {
			if ids[id.text] {
				l.addFinding(id, "bulk.bulk-id-unique", "a bulkId that no earlier operation has", id)
			}
			ids[id.text] = true
		}
	}
	for _, o := range operations {
		l.bulkOperation(o)
		l.references(o.get("data"), ids)
		l.references(o.get("path"), ids)
	}
}

func (l *linter) bulkOperation(o *node) {
	method := o.given("method")
	switch {
	case method == nil:
		l.missing(o, "method", "bulk.method", "POST, PUT, PATCH or DELETE")
	case !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method.text):
		l.addFinding(method, "bulk.method", "POST, PUT, PATCH or DELETE", method)
	}
	creates := method.string() == "POST"
	if creates && o.given("bulkId").string() == "" {
		l.missing(o, "bulkId", "bulk.bulk-id", "a string")
	}
	path := o.given("path")
	segments := strings.Count(strings.Trim(path.string(), "/"), "/") + 1
	switch {
	case path == nil:
		l.missing(o, "path", "bulk.path", "a path such as /Users")
	case !strings.HasPrefix(path.string(), "/") || len(path.text) < 2 || method != nil && creates == (segments > 1):
		want := "a path to a resource, such as /Users/2819c223"
		if creates {
			want = "an endpoint, such as /Users"
		}
		l.addFinding(path, "bulk.path", want, path)
	}
	data := o.given("data")
	switch {
	case !slices.Contains([]string{"POST", "PUT", "PATCH"}, method.string()):
	case data == nil:
		l.missing(o, "data", "bulk.data", "an object")
	case data.kind != kindObject:
		l.addFinding(data, "bulk.data", "an object", data)
	case method.text == "PATCH":
		l.document(data, "PatchOp", Client)
	default:
		l.document(data, "", Client)
	}
}

// references validates the strings bulkId:x in a value.
func (l *linter) references(v *node, ids map[string]bool) {
	if v == nil {
		return
	}
	if i := strings.Index(v.text, "bulkId:"); v.kind == kindString && i >= 0 {
		id, _, _ := strings.Cut(v.text[i+len("bulkId:"):], "/")
		if !ids[id] {
			l.addFinding(v, "bulk.reference", "the bulkId of an operation of the request", v)
		}
	}
	for _, m := range v.members {
		l.references(m.value, ids)
	}
	for _, item := range v.items {
		l.references(item, ids)
	}
}

// bulkResponse validates a bulk response.
func (l *linter) bulkResponse(n *node) {
	if v := n.given("failOnErrors"); v != nil {
		l.addFinding(v, "bulkresponse.fail-on-errors", "nothing", v)
	}
	for _, o := range l.bulkOperations(n) {
		method, status := strings.ToUpper(o.given("method").string()), o.given("status")
		code := status
		if status.is(kindObject) {
			code = status.given("code") // the form of an example in RFC 7644 section 3.7.3, which an erratum corrects
		}
		switch {
		case status == nil:
			l.missing(o, "status", "bulkresponse.status", "an HTTP status")
			continue
		case code == nil || !threeDigits.MatchString(code.text):
			l.addFinding(status, "bulkresponse.status", "an HTTP status", status)
			continue
		case status.kind != kindString:
			l.addFinding(status, "bulkresponse.status-text", "a string", status)
		}
		failed := code.text[0] != '2'
		// A rejected operation may lack a location, because its resource may not exist. With 409 or 412 the resource exists.
		addressed := !failed || method != "POST" && (code.text == "409" || code.text == "412")
		if addressed && o.given("location").string() == "" {
			l.missing(o, "location", "bulkresponse.location", "the URI of the resource")
		}
		if method == "POST" && !failed && o.given("bulkId").string() == "" {
			l.missing(o, "bulkId", "bulkresponse.bulk-id", "the bulkId of the request")
		}
		response := o.given("response")
		switch {
		case failed && response == nil:
			l.missing(o, "response", "bulkresponse.response", "an Error message")
		case failed && response.kind != kindObject:
			l.addFinding(response, "bulkresponse.response", "an Error message", response)
		case failed:
			l.document(response, "Error", Server)
		case response.is(kindObject) && slices.Contains([]string{"POST", "PUT", "PATCH"}, method) && response.get("schemas") != nil:
			l.document(response, "", Server)
		}
	}
}
