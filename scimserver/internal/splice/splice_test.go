package splice_test

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// element is a member of a group or a group of a user.
type element struct{ value, typ, display string }

// input is a resource in the form of a store.
type input struct {
	rt       *schema.ResourceType
	derived  string
	fields   []splice.Field
	id       string
	resource *scim.Resource
	elements []element
	created  time.Time
	modified time.Time
	version  int64
	base     string
}

func (in *input) location(id string) string {
	return in.base + in.rt.Endpoint + "/" + url.PathEscape(id)
}

// decoded returns the representation that package scimserver makes for stores without JSON text: it decodes, completes, projects and
// encodes the resource.
func (in *input) decoded(t require.TestingT, text []byte, p schema.Projection) string {
	stored, err := scim.DecodeResource(text)
	require.NoError(t, err)
	r := &scim.Resource{}
	r.Set("schemas", stored.Array("schemas"))
	r.SetID(in.id)
	for name, value := range stored.All() {
		if !scim.EqualName(name, "schemas") {
			r.Set(name, value)
		}
	}
	var list []any
	for _, e := range in.elements {
		o := scim.NewObject()
		for _, f := range in.fields {
			switch f {
			case splice.Value:
				o.Set("value", e.value)
			case splice.Ref:
				o.Set("$ref", in.location(e.value))
			case splice.Type:
				o.Set("type", e.typ)
			case splice.Display:
				if e.display != "" {
					o.Set("display", e.display)
				}
			}
		}
		list = append(list, o)
	}
	if len(list) > 0 {
		r.Set(in.derived, list)
	}
	r.SetMeta(scim.Meta{
		ResourceType: in.rt.Name, Created: in.created, LastModified: in.modified, Location: in.location(in.id),
		Version: `W/"` + strconv.FormatInt(in.version, 10) + `"`,
	})
	return string(in.rt.Project(r, p).AppendJSON(nil))
}

// spliced returns the representation that the package under test makes, and the second result of Plan.Append.
func (in *input) spliced(text []byte, p schema.Projection) (string, bool) {
	plan := splice.Compile(in.rt, in.derived, in.fields, p)
	prefix := splice.Prefix(in.base + in.rt.Endpoint + "/")
	var elements func(dst []byte) []byte
	if len(in.elements) > 0 {
		elements = func(dst []byte) []byte {
			for _, e := range in.elements {
				dst = plan.AppendElement(dst, &splice.Element{Value: e.value, Location: prefix, Type: e.typ, Display: e.display})
			}
			return dst
		}
	}
	out, ok := plan.Append([]byte("before"), &splice.Resource{
		ID: in.id, JSON: text, Created: in.created, LastModified: in.modified, Version: in.version, Location: prefix,
	}, elements)
	if !ok {
		return "", false
	}
	return string(out[len("before"):]), true
}

var (
	attributeNames = []string{"alpha", "beta", "gamma", "delta", "userName", "displayName", "members", "groups", "externalId", "x$y"}
	subNames       = []string{"value", "type", "display", "$ref", "primary", "other"}
	strange        = []string{"", "x", "a\"b", `back\slash`, "é", "\u2028", "<&>", "\x01", "line\nbreak", `","meta":{`, "}", "]"}
)

func drawReturned(t *rapid.T, label string) schema.Returned {
	return rapid.SampledFrom([]schema.Returned{schema.Default, schema.Default, schema.Default, schema.Always, schema.Never, schema.Request}).
		Draw(t, label)
}

func drawMutability(t *rapid.T) schema.Mutability {
	return rapid.SampledFrom([]schema.Mutability{schema.ReadWrite, schema.ReadWrite, schema.ReadWrite, schema.WriteOnly}).Draw(t, "mutability")
}

func drawAttributes(t *rapid.T, names []string) []*schema.Attribute {
	var out []*schema.Attribute
	for _, name := range names {
		if !rapid.Bool().Draw(t, "defined") {
			continue
		}
		a := &schema.Attribute{Name: name, Type: schema.String, Returned: drawReturned(t, "returned"), Mutability: drawMutability(t),
			MultiValued: rapid.Bool().Draw(t, "multi")}
		if rapid.Bool().Draw(t, "complex") {
			a.Type = schema.Complex
			for _, sub := range rapid.Permutation(subNames).Draw(t, "subs")[:rapid.IntRange(1, len(subNames)).Draw(t, "n")] {
				a.SubAttributes = append(a.SubAttributes,
					&schema.Attribute{Name: sub, Type: schema.String, Returned: drawReturned(t, "sub returned"), Mutability: schema.ReadWrite})
			}
		}
		out = append(out, a)
	}
	return out
}

func drawValue(t *rapid.T, depth int) any {
	kinds := []string{"string", "number", "bool", "null", "object", "list"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "string":
		return rapid.OneOf(rapid.SampledFrom(strange), rapid.String()).Draw(t, "string")
	case "number":
		return rapid.IntRange(-5, 5).Draw(t, "number")
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "object":
		return drawObject(t, subNames, depth-1)
	case "list":
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	return nil
}

func drawObject(t *rapid.T, names []string, depth int) *scim.Object {
	o := &scim.Object{}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(t, "names") {
		if rapid.IntRange(0, 9).Draw(t, "case") == 0 {
			name = "X" + name
		}
		o.Set(name, drawValue(t, depth))
	}
	return o
}

const extensionURN = "urn:example:params:scim:schemas:extension:2.0:Thing"

func drawType(t *rapid.T) *schema.ResourceType {
	switch rapid.IntRange(0, 3).Draw(t, "type") {
	case 0:
		return schema.UserType()
	case 1:
		return schema.GroupType()
	}
	return &schema.ResourceType{
		ID: "Thing", Name: "Thing", Endpoint: "/Things",
		Schema:     &schema.Schema{ID: "urn:example:Thing", Attributes: drawAttributes(t, attributeNames)},
		Extensions: []schema.Extension{{Schema: &schema.Schema{ID: extensionURN, Attributes: drawAttributes(t, attributeNames)}}},
	}
}

func drawInput(t *rapid.T) *input {
	in := &input{rt: drawType(t), base: rapid.SampledFrom([]string{"https://h/scim/v2", `http://a"b\c`}).Draw(t, "base")}
	in.id = rapid.SampledFrom([]string{"2819c223-7f76", "a b", "é/?", `"`, "x~.!"}).Draw(t, "id")
	switch rapid.IntRange(0, 2).Draw(t, "derived") {
	case 0:
		in.derived, in.fields = "members", splice.MemberFields
	case 1:
		in.derived, in.fields = "groups", splice.GroupFields
	}
	if in.derived != "" {
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			in.elements = append(in.elements, element{in.id, "User", rapid.SampledFrom(strange).Draw(t, "display")})
		}
	}
	in.resource = &scim.Resource{}
	in.resource.Set("schemas", []any{in.rt.Schema.ID})
	names := append([]string{"name", "emails", "password", "active", "title"}, attributeNames...)
	for name, value := range drawObject(t, names, 3).All() {
		in.resource.Set(name, value)
	}
	for _, e := range in.rt.Extensions {
		if rapid.Bool().Draw(t, "extended") {
			names := append([]string{"employeeNumber", "manager", "department"}, attributeNames...)
			in.resource.Set(e.Schema.ID, drawObject(t, names, 2))
		}
	}
	if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
		in.resource.Set(rapid.SampledFrom([]string{"id", "META", extensionURN}).Draw(t, "odd name"), "x")
	}
	in.created = time.UnixMilli(rapid.Int64Range(-1e13, 3e14).Draw(t, "created"))
	in.modified = time.UnixMilli(rapid.Int64Range(0, 2e12).Draw(t, "modified"))
	in.version = rapid.Int64Range(1, 1e6).Draw(t, "version")
	return in
}

func drawProjection(t *rapid.T, rt *schema.ResourceType) schema.Projection {
	draw := func(label string) []scim.AttrPath {
		names := append([]string{"id", "schemas", "meta", "meta.version", "meta.created", "emails.value", "name", "userName", "nothing"},
			attributeNames...)
		var paths []scim.AttrPath
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, label) {
			if rapid.Bool().Draw(t, "sub") {
				name += "." + rapid.SampledFrom(subNames).Draw(t, "sub name")
			}
			if rapid.IntRange(0, 3).Draw(t, "in extension") == 0 && len(rt.Extensions) > 0 {
				name = rt.Extensions[0].Schema.ID + ":" + name
			}
			if path, err := scim.ParseAttrPath(name); err == nil {
				paths = append(paths, path)
			}
		}
		return paths
	}
	var p schema.Projection
	switch rapid.IntRange(0, 3).Draw(t, "projection") {
	case 0:
		p.Attributes = draw("attributes")
	case 1:
		p.ExcludedAttributes = draw("excluded")
	}
	p.Written = draw("written")
	return p
}

// TestAppend_EqualsDecoding compares spliced text with the text of the decoded resource.
func TestAppend_EqualsDecoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		p := drawProjection(t, in.rt)
		text := in.resource.AppendJSON(nil)
		got, ok := in.spliced(text, p)
		if !ok {
			for name := range in.resource.All() {
				for _, odd := range []string{"id", "meta", in.derived} {
					if scim.EqualName(name, odd) {
						return // such resources are decoded
					}
				}
			}
			t.Fatalf("not spliced: %s", text)
		}
		require.Equal(t, in.decoded(t, text, p), got, "%s\n%+v", text, p)
	})
}

// FuzzAppend checks that text that is no JSON causes no panic, and that JSON gives the same as decoding it.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{
		`{"schemas":["a"],"userName":"x"}`, `{"schemas":[]}`, `{"schemas":["a"],"name":{"givenName":"\"}"}`, `{"schemas":["a"],"i\u0064":1}`,
		`{"schemas":["a"], "emails" : [ {"value":"x"} ] }`, `{"userName":"x","schemas":["a"]}`, `{"schemas":["a"`, `{"schemas":["a"],"x":`,
		`{"schemas":["a"],"` + scim.EnterpriseUserSchema + `":{"department":"x","unknown":1}}`, `{}`, `{`, ``, `[]`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, projected bool) {
		in := &input{rt: schema.UserType(), derived: "groups", fields: splice.GroupFields, id: "1", base: "http://h", version: 1}
		in.elements = []element{{"g", "direct", "G"}}
		p := schema.Projection{}
		if projected {
			p.Attributes = []scim.AttrPath{{Name: "userName"}, {Name: "emails", Sub: "value"}, {Name: "groups", Sub: "value"}}
		}
		got, ok := in.spliced(text, p)
		if _, err := scim.DecodeResource(text); err != nil || !ok {
			return
		}
		decoded, err := scim.Decode([]byte(got))
		require.NoError(t, err, "%s", got)
		require.Equal(t, in.decoded(t, text, p), string(decoded.AppendJSON(nil)), "%s", text)
	})
}

func ExamplePrefix() {
	fmt.Println(string(splice.AppendReference(nil, splice.Prefix("https://h/Users/"), "a b")))
	// Output: "https://h/Users/a%20b"
}
