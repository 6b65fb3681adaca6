package lint

import (
	"regexp"
	"slices"
	"strings"
)

// boolean validates that a member is a boolean.
func (l *linter) boolean(n *node, name, rule string) {
	switch v := n.given(name); {
	case v == nil:
		l.missing(n, name, rule, "true or false")
	case v.kind != kindBool:
		l.addFinding(v, rule, "true or false, without quotation marks", v)
	}
}

// wholeNumber validates that a member is an integer, not less than least.
func (l *linter) wholeNumber(n *node, name, rule string) {
	v := n.given(name)
	if v == nil {
		l.missing(n, name, rule, "an integer")
	} else if got, ok := v.integer(); !ok || got < 0 {
		l.addFinding(v, rule, "an integer", v)
	}
}

// textual validates that a member is a non-empty string, and returns it.
func (l *linter) textual(n *node, name, rule, want string) *node {
	v := n.given(name)
	switch {
	case v == nil:
		l.missing(n, name, rule, want)
	case v.string() == "":
		l.addFinding(v, rule, want, v)
	default:
		return v
	}
	return nil
}

// feature validates that a member is an object, and returns it.
func (l *linter) feature(n *node, name, rule string) *node {
	v := n.given(name)
	switch {
	case v == nil:
		l.missing(n, name, rule, "an object")
	case v.kind != kindObject:
		l.addFinding(v, rule, "an object", v)
	default:
		l.boolean(v, "supported", rule)
		return v
	}
	return nil
}

var schemeTypes = []string{"oauth", "oauth2", "oauthbearertoken", "httpbasic", "httpdigest"}

// serviceProviderConfig validates a ServiceProviderConfig (RFC 7643 section 5, RFC 9865 section 4).
func (l *linter) serviceProviderConfig(n *node) {
	for _, name := range []string{"patch", "changePassword", "sort", "etag"} {
		l.feature(n, name, "config.feature")
	}
	if bulk := l.feature(n, "bulk", "config.bulk"); bulk != nil {
		l.wholeNumber(bulk, "maxOperations", "config.bulk")
		l.wholeNumber(bulk, "maxPayloadSize", "config.bulk")
	}
	if filter := l.feature(n, "filter", "config.filter"); filter != nil {
		l.wholeNumber(filter, "maxResults", "config.filter")
	}
	switch schemes := n.given("authenticationSchemes"); {
	case schemes == nil:
		l.missing(n, "authenticationSchemes", "config.schemes", "an array")
	case schemes.kind != kindArray:
		l.addFinding(schemes, "config.schemes", "an array", schemes)
	default:
		for _, s := range schemes.items {
			for _, name := range []string{"name", "description"} {
				l.textual(s, name, "config.scheme", "a string")
			}
			if kind := l.textual(s, "type", "config.scheme", "a string"); kind != nil && !slices.Contains(schemeTypes, kind.text) {
				l.addFinding(kind, "config.scheme-type", strings.Join(schemeTypes, ", "), kind)
			}
		}
	}
	pagination := n.given("pagination")
	if pagination == nil {
		return
	}
	for _, name := range []string{"cursor", "index"} {
		l.boolean(pagination, name, "config.pagination")
	}
	for _, name := range []string{"defaultPageSize", "maxPageSize", "cursorTimeout"} {
		if v := pagination.given(name); v != nil {
			if got, ok := v.integer(); !ok || got < 1 {
				l.addFinding(v, "config.pagination-limits", "a positive integer", v)
			}
		}
	}
}

// resourceType validates a ResourceType (RFC 7643 section 6).
func (l *linter) resourceType(n *node) {
	l.textual(n, "name", "resourcetype.name", "a string")
	if endpoint := l.textual(n, "endpoint", "resourcetype.endpoint", "a path such as /Users"); endpoint != nil &&
		strings.Contains(endpoint.text, "://") {
		l.addFinding(endpoint, "resourcetype.endpoint", "a path such as /Users", endpoint)
	}
	l.textual(n, "schema", "resourcetype.schema", "a URN")
	extensions := n.given("schemaExtensions")
	if extensions == nil {
		return
	}
	if extensions.kind != kindArray {
		l.addFinding(extensions, "resourcetype.extension", "an array", extensions)
		return
	}
	for _, e := range extensions.items {
		l.textual(e, "schema", "resourcetype.extension", "a URN")
		l.boolean(e, "required", "resourcetype.extension-required")
	}
}

// schemaDocument validates a Schema (RFC 7643 section 7).
func (l *linter) schemaDocument(n *node) {
	l.textual(n, "id", "schema.id", "a URN")
	attributes := n.given("attributes")
	switch {
	case attributes == nil:
		l.missing(n, "attributes", "schema.attributes", "an array")
	case attributes.kind != kindArray:
		l.addFinding(attributes, "schema.attributes", "an array", attributes)
	default:
		// The schema of schemas is the only exception to the rule that complex attributes are not nested.
		l.definitions(attributes, strings.HasSuffix(strings.ToLower(n.get("id").string()), "core:2.0:schema"), false)
	}
}

var (
	attributeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_$-]*$`)
	types         = []string{"string", "boolean", "decimal", "integer", "dateTime", "binary", "reference", "complex"}
	keywords      = map[string][]string{
		"mutability": {"readOnly", "readWrite", "immutable", "writeOnly"}, "returned": {"always", "never", "default", "request"},
		"uniqueness": {"none", "server", "global"},
	}
)

func (l *linter) definitions(list *node, nested, inside bool) {
	seen := map[string]bool{}
	for _, d := range list.items {
		if d.kind != kindObject {
			l.addFinding(d, "schema.attributes", "an object", d)
			continue
		}
		if name := l.textual(d, "name", "schema.attribute-name", "a string"); name != nil {
			if !attributeName.MatchString(name.text) && name.text != "$ref" {
				l.addFinding(name, "schema.attribute-grammar", "a name", name)
			}
			if folded := strings.ToLower(name.text); seen[folded] {
				l.addFinding(name, "schema.attribute-twice", "each name once", name)
			} else {
				seen[folded] = true
			}
		}
		l.definition(d, nested, inside)
	}
}

func (l *linter) definition(d *node, nested, inside bool) {
	kind := l.textual(d, "type", "schema.type", strings.Join(types, ", "))
	if kind != nil && !slices.Contains(types, kind.text) {
		l.addFinding(kind, "schema.type", strings.Join(types, ", "), kind)
	}
	l.boolean(d, "multiValued", "schema.multi-valued")
	for _, name := range []string{"required", "caseExact"} {
		if d.given(name) != nil {
			l.boolean(d, name, "schema.boolean")
		}
	}
	for _, name := range []string{"mutability", "returned", "uniqueness"} {
		if v := d.given(name); v != nil && !slices.Contains(keywords[name], v.string()) {
			l.addFinding(v, "schema.keyword", strings.Join(keywords[name], ", "), v)
		}
	}
	if d.get("mutability").string() == "writeOnly" && d.given("returned").string() != "never" {
		l.addFinding(d.get("mutability"), "schema.write-only", "never", d.get("returned"))
	}
	if v := d.given("referenceTypes"); v != nil && (v.kind != kindArray || len(v.items) > 0 && kind.string() != "reference") {
		l.addFinding(v, "schema.reference-types", "an array, for a reference attribute", v)
	}
	subs := d.given("subAttributes")
	complex := kind.string() == "complex"
	if complex && inside && !nested {
		l.addFinding(kind, "schema.complex-in-complex", "a simple type", kind)
	}
	switch {
	case subs == nil:
		if complex {
			l.missing(d, "subAttributes", "schema.sub-attributes", "an array")
		}
	case subs.kind != kindArray:
		l.addFinding(subs, "schema.sub-attributes", "an array", subs)
	case !complex && len(subs.items) > 0:
		l.addFinding(subs, "schema.simple-sub-attributes", "none", subs)
	default:
		l.definitions(subs, nested, true)
	}
}
