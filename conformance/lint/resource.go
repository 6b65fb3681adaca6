package lint

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// resource validates a resource such as User. base is the URN of its base schema, "" if it is to be detected.
func (l *linter) resource(n *node, base string, urns []string, from Side) {
	if base == "" {
		base = l.baseOf(n, urns)
	}
	for i, item := range n.get("schemas").textNodes() {
		if l.schema(urns[i]) == nil && !scim.EqualName(urns[i], base) {
			l.addFinding(item, "schemas.unknown", "a known schema", item)
		}
	}
	core := l.schema(base)
	switch {
	case core == nil && base == "":
		if len(urns) > 0 && !slices.ContainsFunc(urns, func(u string) bool { return l.schema(u) == nil }) {
			l.addFinding(n.get("schemas"), "schemas.base", "the base schema of a resource type", n.get("schemas").first())
		}
		return
	case core == nil:
		l.named(base)
		l.addFinding(n, "schemas.unknown", "a known schema", &node{kind: kindString, text: base})
		return
	}
	l.named(core.Name)
	if len(urns) > 0 && !slices.ContainsFunc(urns, func(u string) bool { return scim.EqualName(u, base) }) {
		l.addFinding(n.get("schemas"), "schemas.base", base, n.get("schemas").first())
	}
	l.extensions(n, core, urns)
	l.attributes(n, core, from)
	l.common(n, core, from)
	if !l.opts.Partial {
		l.required(n, core)
	}
}

// textNodes returns the elements that are strings.
func (n *node) textNodes() []*node {
	var out []*node
	if n != nil {
		for _, item := range n.items {
			if item.kind == kindString {
				out = append(out, item)
			}
		}
	}
	return out
}

// baseOf returns the base schema: User or Group, else the known schema that is not the name of an extension object. If the resource has no
// schemas, its members determine the base schema.
func (l *linter) baseOf(n *node, urns []string) string {
	for _, core := range []string{scim.UserSchema, scim.GroupSchema} {
		if slices.ContainsFunc(urns, func(u string) bool { return scim.EqualName(u, core) }) {
			return core
		}
	}
	for _, u := range urns {
		if s := l.schema(u); s != nil && n.get(u) == nil && !scim.EqualName(u, scim.EnterpriseUserSchema) {
			return s.ID
		}
	}
	switch {
	case slices.ContainsFunc(urns, func(u string) bool { return l.schema(u) == nil }):
		return "" // possibly the base schema of an unknown resource type
	case n.get("userName") != nil:
		return scim.UserSchema
	case n.get("members") != nil, len(urns) == 0 && n.get("displayName") != nil:
		return scim.GroupSchema
	}
	return ""
}

// extensions validates the objects that have a URN as name.
func (l *linter) extensions(n *node, core *schema.Schema, urns []string) {
	listed := func(urn string) bool {
		return slices.ContainsFunc(urns, func(u string) bool { return scim.EqualName(u, urn) })
	}
	for _, m := range n.members {
		if !isURN(m.name) || m.value.kind == kindNull {
			continue
		}
		switch s := l.schema(m.name); {
		case scim.EqualName(m.name, core.ID):
			l.at(m.at, m.value.path, "resource.core-container", "attributes at the top level", "an object named by the base schema")
		case s == nil && m.value.kind == kindObject:
			if len(m.value.members) > 0 && len(urns) > 0 && !listed(m.name) {
				l.addFinding(m.value, "schemas.extension-unnamed", m.name+" in schemas", nil)
			}
		case s == nil:
			// Some clients send a path such as urn:...:User:department in place of an object.
			l.at(m.at, m.value.path, "resource.extension-container", "an object named by the URN of the extension", m.value.show())
		case m.value.kind != kindObject:
			l.addFinding(m.value, "resource.kind", "an object", m.value)
		default:
			if len(m.value.members) > 0 && len(urns) > 0 && !listed(m.name) {
				l.addFinding(m.value, "schemas.extension-unnamed", s.ID+" in schemas", nil)
			}
			l.members(m.value, s.Attributes, nil)
			l.requiredOf(m.value, s.Attributes, nil)
			if manager := m.value.given("manager"); manager.is(kindObject) && scim.EqualName(s.ID, scim.EnterpriseUserSchema) && !l.opts.Partial &&
				manager.given("value").string() == "" {
				l.missing(manager, "value", "resource.manager-value", "the id of a user")
			}
		}
	}
	for i, item := range n.get("schemas").textNodes() {
		if !scim.EqualName(urns[i], core.ID) && l.schema(urns[i]) != nil && n.given(urns[i]) == nil {
			l.addFinding(item, "schemas.extension-empty", "data of the extension", nil)
		}
	}
}

func isURN(name string) bool { return strings.HasPrefix(strings.ToLower(name), "urn:") }

// commonNames are the attributes of every resource (RFC 7643 section 3.1).
var commonNames = []string{"schemas", "id", "externalId", "meta"}

// attributes validates the top level of a resource.
func (l *linter) attributes(n *node, core *schema.Schema, from Side) {
	l.members(n, core.Attributes, func(m member) bool {
		for _, common := range commonNames {
			if scim.EqualName(m.name, common) {
				l.spelling(m, common)
				return true
			}
		}
		if isURN(m.name) {
			return true
		}
		for _, s := range l.schemas {
			if a := s.Attribute(m.name); a != nil && scim.EqualName(s.ID, scim.EnterpriseUserSchema) && scim.EqualName(core.ID, scim.UserSchema) &&
				core.Attribute(m.name) == nil {
				l.at(m.at, m.value.path, "resource.extension-container", "the attribute inside the object "+s.ID, "the attribute at the top level")
				return true
			}
		}
		return false
	})
	for _, a := range core.Attributes {
		v := n.given(a.Name)
		if v == nil {
			continue
		}
		switch {
		case a.Secret() && from == Server:
			l.addFinding(v, "resource.no-password", "nothing", &node{kind: kindString, secret: true})
		case a.Secret() && from == Unknown:
			l.addFinding(v, "resource.password-here", "no password in a response", &node{kind: kindString, secret: true})
		case a.Mutability == schema.ReadOnly && from == Client && a.Name == "groups" && len(v.items) > 0:
			l.addFinding(v, "resource.membership", "nothing", v)
		case a.Mutability == schema.ReadOnly && from == Client && a.Name != "groups":
			l.addFinding(v, "resource.read-only", "nothing", v)
		}
	}
}

// members validates the members of an object by their definitions. other handles members without a definition, and reports whether it
// accepted them.
func (l *linter) members(n *node, defined []*schema.Attribute, other func(member) bool) {
	for _, m := range n.members {
		a := attributeNamed(defined, m.name)
		switch {
		case a != nil:
			l.spelling(m, a.Name)
			l.attribute(m.value, a)
		case other == nil || !other(m):
			l.at(m.at, m.value.path, "resource.unknown-attribute", "an attribute that the schema declares", fmt.Sprintf("%q", clip(m.name)))
		}
	}
}

func clip(s string) string { return (&node{kind: kindNumber, text: s}).show() }

func attributeNamed(defined []*schema.Attribute, name string) *schema.Attribute {
	for _, a := range defined {
		if scim.EqualName(a.Name, name) {
			return a
		}
	}
	return nil
}

func (l *linter) spelling(m member, name string) {
	if m.name != name {
		l.at(m.at, m.value.path, "resource.name-case", name, clip(m.name))
	}
}

// attribute validates the whole value of an attribute.
func (l *linter) attribute(v *node, a *schema.Attribute) {
	switch {
	case v.kind == kindNull, v.kind == kindBroken:
	case !a.MultiValued:
		if v.kind == kindArray {
			l.addFinding(v, "resource.multi-valued", "one value", v)
			return
		}
		l.element(v, a)
	case v.kind != kindArray:
		l.addFinding(v, "resource.multi-valued", "an array", v)
	default:
		l.elements(v, a)
	}
}

func (l *linter) elements(v *node, a *schema.Attribute) {
	primary := 0
	seen := map[string]bool{}
	for _, item := range v.items {
		l.element(item, a)
		if item.kind != kindObject {
			continue
		}
		if p := item.get("primary"); p.is(kindBool) && p.text == "true" {
			if primary++; primary == 2 {
				l.addFinding(p, "resource.one-primary", "at most one primary element", p)
			}
		}
		if key := item.get("value").string(); key != "" {
			key += "\x00" + strings.ToLower(item.get("type").string())
			if seen[key] {
				l.addFinding(item, "resource.repeated-element", "each pair of type and value once", item)
			}
			seen[key] = true
		}
		if a.Name == "members" && attributeNamed(a.SubAttributes, "$ref") != nil && item.given("value").string() == "" && !l.opts.Partial {
			l.missing(item, "value", "resource.member-value", "the id of a resource")
		}
	}
}

// A shape describes the values of a simple type.
type shape struct {
	kind kind
	rule string // id of the rule that a value of another JSON kind violates
	want string
	text *regexp.Regexp // the form of strings; nil permits all
	form string         // id of the rule that a string violates if it does not match text
}

var shapes = map[schema.Type]shape{
	schema.String:  {kind: kindString, rule: "resource.kind", want: "a string"},
	schema.Boolean: {kind: kindBool, rule: "resource.boolean", want: "true or false, without quotation marks"},
	schema.Decimal: {kind: kindNumber, rule: "resource.kind", want: "a number"},
	schema.Integer: {kind: kindNumber, rule: "resource.integer", want: "a number without fraction and exponent",
		text: regexp.MustCompile(`^-?\d+$`), form: "resource.integer"},
	schema.DateTime: {kind: kindString, rule: "resource.date-time", want: "a date with a time, such as 2026-01-31T10:20:30Z"},
	schema.Binary:   {kind: kindString, rule: "resource.binary", want: "base64"},
	schema.Reference: {kind: kindString, rule: "resource.reference", want: "a URI", text: regexp.MustCompile(`^[^\s<>"{}|\\^` + "`" + `]*$`),
		form: "resource.reference"},
}

// element validates a single value.
func (l *linter) element(v *node, a *schema.Attribute) {
	if v.kind == kindBroken {
		return
	}
	if a.Type == schema.Complex {
		if v.kind != kindObject {
			l.addFinding(v, "resource.kind", "an object", v)
			return
		}
		l.members(v, a.SubAttributes, nil)
		l.requiredOf(v, a.SubAttributes, nil)
		return
	}
	s := shapes[a.Type]
	if s.kind == "" {
		s = shapes[schema.String]
	}
	switch {
	case v.kind != s.kind:
		l.addFinding(v, s.rule, s.want, v)
	case s.text != nil && !s.text.MatchString(v.text):
		l.addFinding(v, s.form, s.want, v)
	case a.Type == schema.DateTime && !isDateTime(v.text), a.Type == schema.Binary && !isBase64(v.text):
		l.addFinding(v, s.rule, s.want, v)
	default:
		l.syntax(v, a)
	}
}

func isDateTime(s string) bool {
	_, err := schema.ParseDateTime(s)
	return err == nil
}

func isBase64(s string) bool {
	_, padded := base64.StdEncoding.DecodeString(s)
	_, bare := base64.RawStdEncoding.DecodeString(s)
	return padded == nil || bare == nil
}

// syntaxRules are the rules for the syntax of values beyond their type. The syntax of user names depends on the server.
var syntaxRules = map[schema.Syntax]struct{ rule, want string }{
	schema.URL:            {"resource.profile-url", "an absolute URL"},
	schema.LanguageRanges: {"resource.preferred-language", "languages as in Accept-Language"},
	schema.LanguageTag:    {"resource.locale", "one language tag, such as en-US"},
	schema.TimeZone:       {"resource.timezone", "a time zone such as Europe/Berlin"},
	schema.Country:        {"resource.country", "two letters, such as DE"},
	schema.Certificate:    {"resource.certificate", "the base64 of one certificate"},
}

func (l *linter) syntax(v *node, a *schema.Attribute) {
	if v.text == "" {
		return
	}
	if r, has := syntaxRules[a.Syntax]; has {
		if _, err := a.CleanElement(v.value(), scim.AttrPath{Name: a.Name}, schema.CleanOptions{}); err != nil {
			l.addFinding(v, r.rule, r.want, v)
			return
		}
	}
	if strings.Contains(v.path, ".emails[") && a.Name == "value" && !isAddress(v.text) {
		l.addFinding(v, "resource.email", "an address such as ann@example.com", v)
	}
	if len(a.CanonicalValues) > 0 && !slices.ContainsFunc(a.CanonicalValues, func(c string) bool { return strings.EqualFold(c, v.text) }) {
		l.addFinding(v, "resource.canonical-value", "one of "+strings.Join(a.CanonicalValues, ", "), v)
	}
}

// isAddress reports whether a string may be an email address. It is lenient, because mail systems differ in the addresses that they accept.
func isAddress(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && !strings.ContainsAny(s[at:], " \t\r\n,;<>")
}

// required reports absent required attributes.
func (l *linter) required(n *node, core *schema.Schema) {
	special := map[string]string{scim.UserSchema + "userName": "resource.required-username",
		scim.GroupSchema + "displayName": "resource.required-displayname"}
	l.requiredOf(n, core.Attributes, func(a *schema.Attribute) string { return special[core.ID+a.Name] })
}

func (l *linter) requiredOf(n *node, defined []*schema.Attribute, rule func(*schema.Attribute) string) {
	if l.opts.Partial {
		return
	}
	for _, a := range defined {
		if !a.Required || a.Mutability == schema.ReadOnly || rule == nil && a.Name == "value" {
			continue // another rule covers a missing value
		}
		id := "resource.required"
		if rule != nil && rule(a) != "" {
			id = rule(a)
		}
		switch v := n.given(a.Name); {
		case v == nil:
			l.missing(n, a.Name, id, "a value")
		case v.kind == kindString && strings.TrimSpace(v.text) == "":
			l.addFinding(v, id, "a non-empty value", v)
		}
	}
}

// common validates id, externalId and meta.
func (l *linter) common(n *node, core *schema.Schema, from Side) {
	id := n.given("id")
	switch {
	case id == nil && from == Server:
		l.missing(n, "id", "resource.id", "a string")
	case id != nil && (id.kind != kindString || id.text == "" && from != Client):
		l.addFinding(id, "resource.id", "a non-empty string", id)
	case id != nil && strings.Contains(id.text, "bulkId") && from != Client:
		l.addFinding(id, "resource.id-bulkid", "an id without the word bulkId", id)
	case id != nil && id.text != "" && from == Client:
		l.addFinding(id, "resource.client-id", "no id in a new resource", id)
	}
	if e := n.given("externalId"); e != nil && e.kind != kindString {
		l.addFinding(e, "resource.kind", "a string", e)
	}
	meta := n.given("meta")
	if meta == nil {
		return
	}
	if meta.kind != kindObject {
		l.addFinding(meta, "resource.kind", "an object", meta)
		return
	}
	l.meta(meta, id, core, from)
}

func (l *linter) meta(meta, id *node, core *schema.Schema, from Side) {
	for _, name := range []string{"created", "lastModified"} {
		if v := meta.given(name); v != nil && (v.kind != kindString || !isDateTime(v.text)) {
			l.addFinding(v, "resource.date-time", shapes[schema.DateTime].want, v)
		}
	}
	if from == Client {
		return // servers ignore the meta that a client sends
	}
	if kind := meta.given("resourceType"); kind != nil &&
		(scim.EqualName(core.ID, scim.UserSchema) || scim.EqualName(core.ID, scim.GroupSchema)) && kind.string() != core.Name {
		l.addFinding(kind, "resource.meta-type", core.Name, kind)
	}
	created, err1 := schema.ParseDateTime(meta.given("created").string())
	modified, err2 := schema.ParseDateTime(meta.given("lastModified").string())
	if err1 == nil && err2 == nil && modified.Before(created) {
		l.addFinding(meta.get("lastModified"), "resource.meta-times", "not before "+meta.get("created").text, meta.get("lastModified"))
	}
	if location := meta.given("location"); location != nil {
		u, err := url.Parse(location.string())
		if location.string() == "" || err != nil || id.string() != "" && !strings.HasSuffix(u.Path, "/"+id.text) {
			l.addFinding(location, "resource.meta-location", "a URI that ends in the id", location)
		}
	}
	if version := meta.given("version"); version != nil && !entityTag.MatchString(version.string()) {
		l.addFinding(version, "resource.meta-version", `"..." or W/"..."`, version)
	}
}

var entityTag = regexp.MustCompile(`^(W/)?"[^"]*"$`)
