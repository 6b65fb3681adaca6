package lint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// Side is the sender of a document.
type Side string

// The sides. If the side is unknown, only rules that bind both sides apply.
const (
	Unknown Side = ""
	Client  Side = "client"
	Server  Side = "server"
)

// Options describe a document. The zero value works.
type Options struct {
	// As is the kind of the document: a name of [Kinds] or the URN of a schema. Default: the kind follows from its schemas.
	As string
	// From is the sender of the document. It is ignored for lists, errors and discovery documents, which always come from a server, and for
	// PATCHes, bulk requests and searches, which always come from a client.
	From Side
	// Schemas are used in addition to User, Group and the enterprise extension; see [ReadSchemas]. A schema with the URN of one of these three
	// replaces it.
	Schemas []*schema.Schema
	// Partial permits absent attributes, as in a response to a request that selects attributes.
	Partial bool
}

// A Finding is one place where a document violates a rule.
type Finding struct {
	Rule Rule
	// Path is the JSONPath of the place, such as $.emails[0].value.
	Path string
	// Line and Column count from 1, columns in characters.
	Line, Column int
	// Want is the expected value, Got the actual value. Secrets are not shown.
	Want, Got string
}

// Outcome returns the severity of the finding.
func (f Finding) Outcome() conformance.Outcome { return f.Rule.Level.Violation() }

// A Report is the result for one document.
type Report struct {
	// Kind is the detected kind of the document, empty if unknown.
	Kind string
	// Findings are in the order of the document.
	Findings []Finding
	// More is the number of findings that were omitted.
	More int
}

// Count returns the number of findings with the given outcome.
func (r Report) Count(o conformance.Outcome) int {
	n := 0
	for _, f := range r.Findings {
		if f.Outcome() == o {
			n++
		}
	}
	return n
}

// Lint validates a document.
func Lint(data []byte, opts Options) Report {
	l := &linter{data: data, opts: opts, rules: map[string]Rule{},
		schemas: []*schema.Schema{schema.User(), schema.Group(), schema.EnterpriseUser()}}
	for _, r := range Rules() {
		l.rules[r.ID] = r
	}
	for _, s := range opts.Schemas {
		l.schemas = slices.DeleteFunc(l.schemas, func(known *schema.Schema) bool { return scim.EqualName(known.ID, s.ID) })
		l.schemas = append(l.schemas, s)
	}
	if len(data) > MaxSize {
		l.at(0, "$", "json.size", fmt.Sprintf("at most %d MiB", MaxSize>>20), "more")
		return l.report
	}
	root := (&reader{data: data, l: l}).document()
	switch {
	case root == nil:
	case root.kind != kindObject:
		l.addFinding(root, "json.object", "an object", root)
	default:
		l.document(root, opts.As, opts.From)
	}
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.report
}

// ReadSchemas reads schema documents for [Options.Schemas]: one, or a ListResponse as returned by /Schemas.
func ReadSchemas(data []byte) ([]*schema.Schema, error) {
	object, err := scim.Decode(data)
	if err != nil {
		return nil, err
	}
	var list []any
	if items, isList := object.Get("Resources"); isList {
		list, _ = items.([]any)
	} else {
		list = []any{object}
	}
	var out []*schema.Schema
	for _, item := range list {
		text, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		s, err := schema.Parse(text)
		if err != nil {
			return nil, err
		}
		switch s.ID {
		case scim.ServiceProviderConfigSchema, scim.ResourceTypeSchema, scim.SchemaSchema:
			// The linter checks these documents by rules of its own, not by their schema.
		default:
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return out, nil
}

// A linter validates one document.
type linter struct {
	data    []byte
	opts    Options
	rules   map[string]Rule
	schemas []*schema.Schema
	report  Report
}

// addFinding records that a node violates a rule.
func (l *linter) addFinding(place *node, rule, want string, got *node) {
	l.at(place.at, place.path, rule, want, got.show())
}

// missing records that a member is absent.
func (l *linter) missing(parent *node, name, rule, want string) {
	l.at(parent.at, parent.path+step(name), rule, want, "nothing")
}

func (l *linter) at(offset int, path, rule, want, got string) {
	if len(l.report.Findings) == MaxFindings {
		l.report.More++
		return
	}
	before := l.data[:min(offset, len(l.data))]
	line := bytes.LastIndexByte(before, '\n') + 1
	l.report.Findings = append(l.report.Findings, Finding{
		Rule: l.rules[rule], Path: visible(path), Want: visible(want), Got: visible(got), Line: bytes.Count(before, []byte("\n")) + 1,
		Column: utf8.RuneCount(before[line:]) + 1,
	})
}

// schema returns the known schema with the URN, or nil.
func (l *linter) schema(urn string) *schema.Schema {
	for _, s := range l.schemas {
		if scim.EqualName(s.ID, urn) {
			return s
		}
	}
	return nil
}

// A form is a kind of document defined by the protocol, as opposed to a resource such as User.
type form struct {
	name, urn string
	side      Side
	judge     func(l *linter, n *node)
	looks     func(n *node) bool // reports whether a document without schemas is probably one
}

// forms returns the kinds of documents that the protocol defines. If a document without schemas looks like several of these forms, the
// first of them applies.
func forms() []form {
	has := func(names ...string) func(*node) bool {
		return func(n *node) bool {
			for _, name := range names {
				if n.get(name) == nil {
					return false
				}
			}
			return true
		}
	}
	operationHas := func(name string) func(*node) bool {
		return func(n *node) bool {
			operations := n.get("Operations")
			return operations.is(kindArray) && len(operations.items) > 0 && operations.items[0].get(name) != nil
		}
	}
	return []form{
		{"ListResponse", scim.ListResponseMessage, Server, (*linter).list,
			func(n *node) bool { return n.get("Resources") != nil || n.get("totalResults") != nil }},
		{"BulkResponse", scim.BulkResponseMessage, Server, (*linter).bulkResponse, operationHas("status")},
		{"BulkRequest", scim.BulkRequestMessage, Client, (*linter).bulkRequest, operationHas("method")},
		{"PatchOp", scim.PatchOpMessage, Client, (*linter).patch, has("Operations")},
		{"Error", scim.ErrorMessage, Server, (*linter).error, func(n *node) bool {
			return n.get("scimType") != nil || n.get("detail") != nil && n.get("status") != nil
		}},
		{"SearchRequest", scim.SearchRequestMessage, Client, (*linter).search, has("filter", "count")},
		{"ServiceProviderConfig", scim.ServiceProviderConfigSchema, Server, (*linter).serviceProviderConfig, has("authenticationSchemes")},
		{"ResourceType", scim.ResourceTypeSchema, Server, (*linter).resourceType, has("endpoint", "schema")},
		{"Schema", scim.SchemaSchema, Server, (*linter).schemaDocument, has("attributes", "id")},
	}
}

// Kinds returns the names of all kinds of documents.
func Kinds() []string {
	names := []string{"User", "Group", "EnterpriseUser"}
	for _, f := range forms() {
		names = append(names, f.name)
	}
	return names
}

// coreKinds maps the kinds that are resources to their base schemas.
var coreKinds = map[string]string{"user": scim.UserSchema, "enterpriseuser": scim.UserSchema, "group": scim.GroupSchema}

// document validates an object. Its kind follows from as, else from its schemas, else from its members.
func (l *linter) document(n *node, as string, from Side) {
	urns := l.readSchemas(n)
	meant, base := l.meant(n, as, urns)
	if meant != nil {
		l.named(meant.name)
		if !slices.ContainsFunc(urns, func(u string) bool { return scim.EqualName(u, meant.urn) }) && len(urns) > 0 {
			l.addFinding(n.get("schemas"), "schemas.base", meant.urn, n.get("schemas").first())
		}
		meant.judge(l, n)
		return
	}
	for i, u := range urns {
		if strings.HasPrefix(strings.ToLower(u), "urn:ietf:params:scim:api:messages:") {
			l.addFinding(n.get("schemas").items[i], "schemas.message", "the URN of one of the six messages in RFC 7644 section 8.2",
				n.get("schemas").items[i])
			return
		}
	}
	l.resource(n, base, urns, from)
}

// first returns the first element of an array, or the node itself if it has no elements.
func (n *node) first() *node {
	if n != nil && len(n.items) > 0 {
		return n.items[0]
	}
	return n
}

// named sets the kind of the whole document, unless it is already set.
func (l *linter) named(kind string) { l.report.Kind = cmp.Or(l.report.Kind, kind) }

// meant returns the form of a document. For a resource it returns nil and, if the parameter `as` names a kind of resource, the URN of its
// base schema.
func (l *linter) meant(n *node, as string, urns []string) (*form, string) {
	for _, f := range forms() {
		if as != "" && (strings.EqualFold(as, f.name) || scim.EqualName(as, f.urn)) {
			return &f, ""
		}
	}
	if as != "" {
		if strings.EqualFold(as, "EnterpriseUser") && n.given(scim.EnterpriseUserSchema) == nil {
			l.missing(n, scim.EnterpriseUserSchema, "schemas.extension-empty", "data of the enterprise extension")
		}
		return nil, cmp.Or(coreKinds[strings.ToLower(as)], as)
	}
	for _, f := range forms() {
		if slices.ContainsFunc(urns, func(u string) bool { return scim.EqualName(u, f.urn) }) {
			return &f, ""
		}
	}
	if len(urns) == 0 {
		for _, f := range forms() {
			if f.looks(n) {
				return &f, ""
			}
		}
	}
	return nil, ""
}

// readSchemas validates the member schemas and returns its URNs.
func (l *linter) readSchemas(n *node) []string {
	list := n.given("schemas")
	switch {
	case list == nil:
		if !l.opts.Partial {
			l.missing(n, "schemas", "schemas.missing", "an array of one or more URNs")
		}
		return nil
	case list.kind != kindArray || len(list.items) == 0:
		l.addFinding(list, "schemas.missing", "an array of one or more URNs", list)
		return nil
	}
	seen := map[string]bool{}
	for _, item := range list.items {
		folded := strings.ToLower(item.text)
		switch {
		case item.kind != kindString || item.text == "":
			l.addFinding(item, "schemas.missing", "a URN", item)
		case seen[folded]:
			l.addFinding(item, "schemas.duplicate", "each URN once", item)
		}
		seen[folded] = true
	}
	return list.texts()
}
