package schema

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
)

var custom = &Schema{ID: "urn:example:Custom", Name: "Custom", Attributes: complete([]*Attribute{
	{Name: "count", Type: Integer}, {Name: "ratio", Type: Decimal}, {Name: "when", Type: DateTime}, {Name: "data", Type: Binary},
	{Name: "link", Type: Reference},
	{Name: "tags", MultiValued: true}, {Name: "serial", Mutability: Immutable}, {Name: "onRequest", Returned: Request},
	{Name: "must", Required: true},
	{Name: "box", Type: Complex,
		SubAttributes: []*Attribute{{Name: "key", Required: true}, {Name: "lock", Mutability: Immutable}, {Name: "hidden", Returned: Never},
			{Name: "always", Returned: Always}, {Name: "asked", Returned: Request}}},
})}

func customType() *ResourceType {
	rt := UserType()
	rt.Extensions = append(rt.Extensions, Extension{Schema: custom})
	return rt
}

func resource(t testing.TB, text string) *scim.Resource {
	t.Helper()
	r, err := scim.DecodeResource([]byte(text))
	require.NoError(t, err)
	return r
}

const (
	base = `"schemas":["` + scim.UserSchema + `"],"userName":"b"`
	ent  = scim.EnterpriseUserSchema
)

func TestClean(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		opts           CleanOptions
	}{
		{"canonical names in the same order",
			`{"USERNAME":"b","Schemas":["URN:ietf:params:scim:schemas:core:2.0:user"],"Name":{"FAMILYNAME":"J"},"Active":true}`,
			`{"schemas":["` + scim.UserSchema + `"],"userName":"b","name":{"familyName":"J"},"active":true}`, CleanOptions{}},
		{"null, empty arrays and objects are absent",
			`{` + base + `,"title":null,"emails":[],"ims":[null,{}],"name":{"givenName":null},"addresses":[{"type":null}],"` + ent + `":{}}`,
			`{` + base + `}`, CleanOptions{}},
		{"an empty string is a value", `{` + base + `,"title":""}`, `{` + base + `,"title":""}`, CleanOptions{}},
		{"read-only attributes are dropped",
			`{` + base + `,"id":"1","meta":{"version":"x"},"groups":[{"value":"g"}],"` + ent + `":{"manager":{"value":"2","displayName":"x"}}}`,
			`{"schemas":["` + scim.UserSchema + `","` + ent + `"],"userName":"b","` + ent + `":{"manager":{"value":"2"}}}`, CleanOptions{}},
		{"malformed read-only attributes are dropped", `{` + base + `,"id":5,"groups":"x"}`, `{` + base + `}`, CleanOptions{}},
		{"unknown attributes and schemas are dropped",
			`{"schemas":["` + scim.UserSchema +
				`","http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],"userName":"b","shoe":9,"emails":[{"value":"x",` +
				`"size":1}],"` + ent + `":{"x":1}}`,
			`{` + base + `,"emails":[{"value":"x"}]}`, CleanOptions{}},
		{"an extension in use is named", `{` + base + `,"urn:EXAMPLE:custom":{"TAGS":["a"],"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema + `","urn:example:Custom"],"userName":"b","urn:example:Custom":{"tags":["a"],"must":"m"}}`,
			CleanOptions{}},
		{"an extension without data is not named", `{"schemas":["` + scim.UserSchema + `","` + ent + `"],"userName":"b"}`, `{` + base + `}`,
			CleanOptions{}},
		{"repeated elements are merged",
			`{` + base + `,"emails":[{"value":"X@y","type":"work"},{"value":"x@y","type":"WORK","primary":true},{"value":"x@y","type":"home"}]}`,
			`{` + base + `,"emails":[{"value":"X@y","type":"work","primary":true},{"value":"x@y","type":"home"}]}`, CleanOptions{}},
		{"types",
			`{` + base +
				`,"urn:example:Custom":{"must":"m","count":-5,"ratio":1.50e3,"when":"2011-05-13T04:42:34.123456789012-07:00","data":"AAE=",` +
				`"link":"../Users/1"}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"userName":"b","urn:example:Custom":{"must":"m","count":-5,"ratio":1.50e3,` +
				`"when":"2011-05-13T04:42:34.123456789012-07:00","data":"AAE=","link":"../Users/1"}}`, CleanOptions{}},
		{"lenient spellings",
			`{` + base + `,"active":"True","emails":{"value":"x","primary":"false"},"roles":["admin"],"` + ent + `":{"manager":"26"}}`,
			`{"schemas":["` + scim.UserSchema + `","` + ent +
				`"],"userName":"b","active":true,"emails":[{"value":"x","primary":false}],"roles":[{"value":"admin"}],"` + ent +
				`":{"manager":{"value":"26"}}}`, CleanOptions{Accept: lenient.All}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := resource(t, test.in)
			before := in.Clone()
			out, err := customType().Clean(in, test.opts)
			require.NoError(t, err)
			require.Equal(t, string(resource(t, test.want).AppendJSON(nil)), string(out.AppendJSON(nil)))
			require.True(t, scim.Equal(&before.Object, &in.Object), "the input must not change")
			again, err := customType().Clean(out, CleanOptions{RefuseUnknown: true})
			require.NoError(t, err)
			require.True(t, scim.Equal(&out.Object, &again.Object), "a clean resource is unchanged")
		})
	}
}

func TestClean_Rejects(t *testing.T) {
	for _, test := range []struct {
		name, in, msg string
		opts          CleanOptions
	}{
		{"no schemas", `{"userName":"b"}`, "schemas must", CleanOptions{}},
		{"schemas as a string", `{"schemas":"` + scim.UserSchema + `","userName":"b"}`, "schemas must", CleanOptions{}},
		{"schemas with a number", `{"schemas":["` + scim.UserSchema + `",1],"userName":"b"}`, "strings", CleanOptions{}},
		{"another base schema", `{"schemas":["` + scim.GroupSchema + `"],"userName":"b"}`, "must name", CleanOptions{}},
		{"a missing required attribute", `{"schemas":["` + scim.UserSchema + `"]}`, "userName is required", CleanOptions{}},
		{"a required attribute of null", `{"schemas":["` + scim.UserSchema + `"],"userName":null}`, "userName is required", CleanOptions{}},
		{"an empty required attribute", `{"schemas":["` + scim.UserSchema + `"],"userName":""}`, "userName must not be empty", CleanOptions{}},
		{"a missing required attribute of an extension in use", `{` + base + `,"urn:example:Custom":{"count":1}}`,
			"urn:example:Custom:must is required", CleanOptions{}},
		{"a missing required sub-attribute", `{` + base + `,"urn:example:Custom":{"must":"m","box":{"lock":"x"}}}`,
			"urn:example:Custom:box.key is required", CleanOptions{}},
		{"a number for a string", `{` + base + `,"title":5}`, "title must be a string", CleanOptions{}},
		{"a string for an object", `{` + base + `,"name":"x"}`, "name must be an object", CleanOptions{}},
		{"an array for a single value", `{` + base + `,"title":["x"]}`, "title must be a string", CleanOptions{}},
		{"a single value for an array", `{` + base + `,"emails":{"value":"x"}}`, "emails must be an array", CleanOptions{}},
		{"a string for an element", `{` + base + `,"emails":["x"]}`, "emails must be an object", CleanOptions{}},
		{"a string for a boolean", `{` + base + `,"active":"true"}`, "active must be true or false", CleanOptions{}},
		{"a string that is not a boolean", `{` + base + `,"active":"yes"}`, "active must be true or false", CleanOptions{Accept: lenient.All}},
		{"a plain value for an attribute without sub-attribute value", `{` + base + `,"name":"x"}`, "name must be an object",
			CleanOptions{Accept: lenient.All}},
		{"a number in a sub-attribute", `{` + base + `,"name":{"givenName":1}}`, "name.givenName must be a string", CleanOptions{}},
		{"two primaries", `{` + base + `,"emails":[{"value":"x","primary":true},{"value":"y","primary":true}]}`,
			"emails has more than one primary", CleanOptions{}},
		{"U+0000", `{` + base + `,"title":"a\u0000"}`, "U+0000", CleanOptions{}},
		{"a fraction for an integer", `{` + base + `,"urn:example:Custom":{"must":"m","count":1.0}}`, "count must be a whole number",
			CleanOptions{}},
		{"a string for a number", `{` + base + `,"urn:example:Custom":{"must":"m","ratio":"1"}}`, "ratio must be a number", CleanOptions{}},
		{"an integer of 65 bits", `{` + base + `,"urn:example:Custom":{"must":"m","count":9223372036854775808}}`,
			"count must be a whole number of 64 bits", CleanOptions{}},
		{"a number beyond the range of floats", `{` + base + `,"urn:example:Custom":{"must":"m","ratio":-1e400}}`,
			"ratio must be a number within",
			CleanOptions{}},
		{"a date for a dateTime", `{` + base + `,"urn:example:Custom":{"must":"m","when":"2011-05-13"}}`, "when must be a dateTime",
			CleanOptions{}},
		{"a string that is not base64", `{` + base + `,"urn:example:Custom":{"must":"m","data":"A*"}}`, "data must be base64", CleanOptions{}},
		{"a string that is not a URI", `{` + base + `,"urn:example:Custom":{"must":"m","link":"a b"}}`, "link must be a URI", CleanOptions{}},
		{"an extension that is not an object", `{` + base + `,"` + ent + `":5}`, "must be an object", CleanOptions{}},
		{"an unknown attribute, with RefuseUnknown", `{` + base + `,"shoe":9}`, "shoe is not defined", CleanOptions{RefuseUnknown: true}},
		{"an unknown sub-attribute, with RefuseUnknown", `{` + base + `,"name":{"shoe":9}}`, "name.shoe is not defined",
			CleanOptions{RefuseUnknown: true}},
		{"an unknown extension attribute, with RefuseUnknown", `{` + base + `,"` + ent + `":{"shoe":9}}`, ":shoe is not defined",
			CleanOptions{RefuseUnknown: true}},
		{"an unknown schema, with RefuseUnknownSchemas", `{"schemas":["` + scim.UserSchema + `","urn:x:y"],"userName":"b"}`, "urn:x:y",
			CleanOptions{RefuseUnknownSchemas: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := customType().Clean(resource(t, test.in), test.opts)
			var e *scim.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, scim.InvalidValue, e.ScimType)
			require.Equal(t, 400, e.Status)
			require.Contains(t, e.Detail, test.msg)
		})
	}
	rt := &ResourceType{Name: "T", Schema: User(), Extensions: []Extension{{Schema: custom, Required: true}}}
	_, err := rt.Clean(resource(t, `{`+base+`}`), CleanOptions{})
	require.ErrorContains(t, err, "urn:example:Custom is required")
}

// TestSyntaxOfValues checks the rules of RFC 7643 section 4.1 and RFC 7644 section 5 for values, in addition to their type.
func TestSyntaxOfValues(t *testing.T) {
	certificate, chain := certificates(t)
	for _, test := range []struct {
		attribute   string // the JSON text of the member, with %q or %s for the value
		good, wrong []string
		named       string
	}{
		{`"userName":%q`, []string{"bjensen", "BJensen@Example.com", "a+b'c/d%", "jürgen", "日本", "ａｎｎ"},
			[]string{"Barbara Jensen", " ann", "😀", "a\u200bb", "²", "א1a"}, "userName"},
		{`"profileUrl":%q`, []string{"https://login.example.com/bjensen", "http://[::1]:80/?a#b"},
			[]string{"bjensen", "/bjensen", "https:", "urn:example:bjensen"}, "profileUrl"},
		{`"preferredLanguage":%q`, []string{"en-US", "da, en-gb;q=0.8, en;q=0.7", "*"}, []string{"English", "en-US;q=high", "e"},
			"preferredLanguage"},
		{`"locale":%q`, []string{"en-US", "en_US", "sr-Latn-RS", "de"}, []string{"English", "en US", "en-US,de", "e"}, "locale"},
		{`"timezone":%q`, []string{"America/Los_Angeles", "Europe/Vienna", "UTC", "America/Argentina/Buenos_Aires"},
			[]string{"Eastern Standard Time", "+01:00", "Local", "../etc/passwd", "/etc/localtime", "Mars/Olympus"}, "timezone"},
		{`"addresses":[{"country":%q}]`, []string{"US", "AT", "gb"}, []string{"USA", "840", "Austria", "ZZ", "UK", "EU", "A"},
			"addresses.country"},
		{`"x509Certificates":[{"value":%q}]`, []string{certificate, strings.TrimRight(certificate, "=")},
			[]string{chain, "AAAA", certificate[:len(certificate)/2/4*4]}, "x509Certificates.value"},
	} {
		body := func(value string) *scim.Resource {
			member := fmt.Sprintf(test.attribute, value)
			if test.named != "userName" {
				member += `,"userName":"b"`
			}
			return resource(t, `{"schemas":["`+scim.UserSchema+`"],`+member+`}`)
		}
		for _, value := range test.good {
			_, err := UserType().Clean(body(value), CleanOptions{})
			require.NoError(t, err, "%s %q", test.named, value)
		}
		for _, value := range test.wrong {
			_, err := UserType().Clean(body(value), CleanOptions{Accept: lenient.All &^ lenient.LooseValues})
			var e *scim.Error
			require.ErrorAs(t, err, &e, "%s %q", test.named, value)
			require.Equal(t, scim.InvalidValue, e.ScimType)
			require.Contains(t, e.Detail, test.named+" must be")
			out, err := UserType().Clean(body(value), CleanOptions{Accept: lenient.LooseValues})
			require.NoError(t, err, "%s %q", test.named, value)
			require.Contains(t, string(out.AppendJSON(nil)), string(scim.AppendValue(nil, value)), "the value is stored unchanged")
		}
	}
}

// certificates returns the base64 of one certificate and of two concatenated ones.
func certificates(t *testing.T) (one, two string) {
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(der), base64.StdEncoding.EncodeToString(slices.Concat(der, der))
}

// TestClean_EchoedSchemas checks that an extension object may contain schemas only with the leniency EchoedSchemas.
func TestClean_EchoedSchemas(t *testing.T) {
	in := resource(t, `{`+base+`,"`+ent+`":{"schemas":["`+ent+`"],"department":"D"}}`)
	_, err := UserType().Clean(in, CleanOptions{RefuseUnknown: true})
	require.ErrorContains(t, err, ":schemas is not defined")
	out, err := UserType().Clean(in, CleanOptions{RefuseUnknown: true, Accept: lenient.EchoedSchemas})
	require.NoError(t, err)
	require.Equal(t, `{"department":"D"}`, string(out.Complex(ent).AppendJSON(nil)))
}

// TestClean_JSONValues checks that Clean reads a string with a JSON object as the object only with the leniency JSONValues.
func TestClean_JSONValues(t *testing.T) {
	const text = `{"id":"6b","value":"25","displayName":"Admin"}`
	in := resource(t, `{`+base+`,"roles":[{"value":`+string(scim.AppendValue(nil, text))+`},{"value":"{"},{"value":"{\"a\":1}"}]}`)
	out, err := UserType().Clean(in, CleanOptions{Accept: lenient.JSONValues})
	require.NoError(t, err)
	require.Equal(t, `[{"value":"25","display":"Admin"},{"value":"{"},{"value":"{\"a\":1}"}]`,
		string(scim.AppendValue(nil, out.Array("roles"))))
	out, err = UserType().Clean(in, CleanOptions{})
	require.NoError(t, err)
	role := out.Array("roles")[0].(*scim.Object)
	require.Equal(t, text, role.Text("value"), "a string is a plain value")
}

func TestCleanForPUT(t *testing.T) {
	const previous = `{"schemas":["` + scim.UserSchema + `","` + ent +
		`","urn:example:Custom"],"id":"1","userName":"b","title":"T","password":"hash","groups":[{"value":"g"}],
		"` + ent + `":{"manager":{"value":"26","displayName":"John"}},
		"urn:example:Custom":{"must":"m","serial":"S","box":{"key":"k","lock":"L"}},"meta":{"version":"1"}}`
	for _, test := range []struct{ name, in, want string }{
		{"absent attributes are removed, except those that clients cannot write", `{` + base + `,"urn:example:Custom":{"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"hash","groups":[{"value":"g"}],"urn:example:Custom":{"must":"m",` +
				`"serial":"S"},"meta":{"version":"1"}}`},
		{"read-only values in the request are ignored",
			`{"id":"2","groups":[],"meta":{"version":"9"},` + base + `,"urn:example:Custom":{"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"hash","groups":[{"value":"g"}],"urn:example:Custom":{"must":"m",` +
				`"serial":"S"},"meta":{"version":"1"}}`},
		{"a new password replaces the previous one", `{` + base + `,"password":"new","urn:example:Custom":{"must":"m","serial":"S"}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"new","groups":[{"value":"g"}],"urn:example:Custom":{"must":"m",` +
				`"serial":"S"},"meta":{"version":"1"}}`},
		{"null removes the password", `{` + base + `,"password":null,"urn:example:Custom":{"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"id":"1","userName":"b","groups":[{"value":"g"}],"urn:example:Custom":{"must":"m","serial":"S"},` +
				`"meta":{"version":"1"}}`},
		{"an immutable sub-attribute is kept with its parent", `{` + base + `,"urn:example:Custom":{"must":"m","box":{"key":"k2"}}}`,
			`{"schemas":["` + scim.UserSchema +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"hash","groups":[{"value":"g"}],"urn:example:Custom":{"must":"m",` +
				`"serial":"S","box":{"key":"k2","lock":"L"}},"meta":{"version":"1"}}`},
		{"a read-only sub-attribute is kept if the value is unchanged",
			`{` + base + `,"` + ent + `":{"manager":{"value":"26","displayName":"X"}},"urn:example:Custom":{"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema + `","` + ent +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"hash","groups":[{"value":"g"}],"` + ent +
				`":{"manager":{"value":"26","displayName":"John"}},"urn:example:Custom":{"must":"m","serial":"S"},"meta":{"version":"1"}}`},
		{"a read-only sub-attribute is removed if the value changes",
			`{` + base + `,"` + ent + `":{"manager":{"value":"27"}},"urn:example:Custom":{"must":"m"}}`,
			`{"schemas":["` + scim.UserSchema + `","` + ent +
				`","urn:example:Custom"],"id":"1","userName":"b","password":"hash","groups":[{"value":"g"}],"` + ent +
				`":{"manager":{"value":"27"}},"urn:example:Custom":{"must":"m","serial":"S"},"meta":{"version":"1"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			prev := resource(t, previous)
			before := prev.Clone()
			out, err := customType().Clean(resource(t, test.in), CleanOptions{Previous: prev})
			require.NoError(t, err)
			want := resource(t, test.want)
			require.True(t, scim.Equal(&want.Object, &out.Object), string(out.AppendJSON(nil)))
			require.True(t, scim.Equal(&before.Object, &prev.Object))
		})
	}
	for name, in := range map[string]string{
		"an immutable attribute":                  `{` + base + `,"urn:example:Custom":{"must":"m","serial":"X"}}`,
		"an immutable sub-attribute":              `{` + base + `,"urn:example:Custom":{"must":"m","box":{"key":"k","lock":"X"}}}`,
		"an immutable attribute, in another case": `{` + base + `,"urn:example:Custom":{"must":"m","serial":"s"}}`,
	} {
		t.Run("rejects a change of "+name, func(t *testing.T) {
			_, err := customType().Clean(resource(t, in), CleanOptions{Previous: resource(t, previous)})
			var e *scim.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, scim.Mutability, e.ScimType)
		})
	}
}

func TestParseDateTime(t *testing.T) {
	for in, want := range map[string]time.Time{
		"2011-05-13T04:42:34Z":              time.Date(2011, 5, 13, 4, 42, 34, 0, time.UTC),
		"2011-05-13T04:42:34.5Z":            time.Date(2011, 5, 13, 4, 42, 34, 5e8, time.UTC),
		"2011-05-13T04:42:34+02:00":         time.Date(2011, 5, 13, 2, 42, 34, 0, time.UTC),
		"2011-05-13T04:42:34":               time.Date(2011, 5, 13, 4, 42, 34, 0, time.UTC),
		"2011-05-13T04:42:34.25":            time.Date(2011, 5, 13, 4, 42, 34, 25e7, time.UTC),
		"2011-05-13T04:42:34.123456789123Z": time.Date(2011, 5, 13, 4, 42, 34, 123456789, time.UTC),
	} {
		got, err := ParseDateTime(in)
		require.NoError(t, err, in)
		require.True(t, want.Equal(got), in)
	}
	for _, in := range []string{"", "2011-05-13", "2011-05-13 04:42:34Z", "2011-05-13t04:42:34z", "2011-05-13T4:42:34Z", "2011-05-13T04:42Z",
		"2011-05-13T04:42:34,5Z", "2011-13-13T04:42:34Z", "2011-05-13T25:42:34Z", "2011-05-13T04:42:34 Z", "2011-05-13T04:42:34.Z",
		"20110513T044234Z", "2011-05-13T04:42:34+0200"} {
		_, err := ParseDateTime(in)
		require.Error(t, err, in)
	}
}

func TestBase64(t *testing.T) {
	for in, want := range map[string]bool{"": true, "AA==": true, "AA": true, "AAA=": true, "AAA": true, "AAAA": true, "+/az": true,
		"A": false, "AAAAA": false, "AA=": false, "A===": false, "AAAA=": false, "A-_A": false, "A A=": false, "=AAA": false, "AA=A": false} {
		require.Equal(t, want, isBase64(in), in)
	}
}

func TestUnionLaws(t *testing.T) {
	emails := User().Attribute("emails")
	gen := rapid.Custom(func(t *rapid.T) any {
		o := &scim.Object{}
		o.Set("value", rapid.SampledFrom([]string{"a@x", "A@X", "b@x", "c@x"}).Draw(t, "value"))
		if kind := rapid.SampledFrom([]string{"", "work", "WORK", "home"}).Draw(t, "type"); kind != "" {
			o.Set("type", kind)
		}
		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(gen).Draw(t, "x")
		y := rapid.SliceOf(gen).Draw(t, "y")
		set, _ := emails.Union(nil, x)
		if again, changed := emails.Union(set, x); changed || len(again) != len(set) {
			t.Fatal("adding an existing element changes the list")
		}
		both, changed := emails.Union(set, y)
		if changed != (len(both) > len(set)) {
			t.Fatal("changed is wrong")
		}
		keys := map[string]bool{}
		for _, e := range both {
			if k := emails.Key(e); keys[k] {
				t.Fatalf("%q occurs twice", k)
			} else {
				keys[k] = true
			}
		}
		for _, e := range append(x, y...) {
			if !keys[emails.Key(e)] {
				t.Fatal("an element is lost")
			}
		}
	})
}

func TestKey_DependsOnType(t *testing.T) {
	a := &Attribute{Type: DateTime}
	require.Equal(t, a.Key("2011-05-13T04:42:34Z"), a.Key("2011-05-13T06:42:34.000+02:00"))
	require.NotEqual(t, a.Key("2011-05-13T04:42:34Z"), a.Key("2011-05-13T04:42:34.001Z"))
	require.NotEqual(t, (&Attribute{CaseExact: true}).Key("a"), (&Attribute{CaseExact: true}).Key("A"))
}

func TestProject(t *testing.T) {
	full := resource(t,
		`{"schemas":["`+scim.UserSchema+
			`"],"id":"1","userName":"b","password":"x","name":{"familyName":"J","givenName":"B"},
		"emails":[{"value":"a","type":"work"},{"type":"home"}],
		"`+ent+
			`":{"department":"D","manager":{"value":"26","displayName":"J"}},"urn:example:Custom":{"onRequest":"r","tags":["a"],"box":{"key":"k",`+
			`"hidden":"h","always":"a","asked":"q"}},"meta":{"version":"1","resourceType":"User"}}`)
	const min = `"schemas":["` + scim.UserSchema + `"],"id":"1"`
	for _, test := range []struct {
		name                 string
		attributes, excluded []string
		written              []string
		want                 string
	}{
		{"the default omits attributes returned never and on request", nil, nil, nil,
			`{` + min + `,"userName":"b","name":{"familyName":"J","givenName":"B"},"emails":[{"value":"a","type":"work"},{"type":"home"}],"` + ent +
				`":{"department":"D","manager":{"value":"26","displayName":"J"}},"urn:example:Custom":{"tags":["a"],"box":{"key":"k","always":"a"}},` +
				`"meta":{"version":"1","resourceType":"User"}}`},
		{"named attributes, in any case", []string{"USERNAME, emails.VALUE"}, nil, nil, `{` + min + `,"userName":"b","emails":[{"value":"a"}]}`},
		{"a single sub-attribute", []string{"name.givenName", "meta.version"}, nil, nil,
			`{` + min + `,"name":{"givenName":"B"},"meta":{"version":"1"}}`},
		{"a complex attribute overrides its sub-attribute", []string{"name.givenName", "name"}, nil, nil,
			`{` + min + `,"name":{"familyName":"J","givenName":"B"}}`},
		{"unknown names are ignored", []string{"shoe", "!", "urn:x:y:z"}, nil, nil, `{` + min + `}`},
		{"an attribute returned never is never included", []string{"password", "urn:example:Custom:box.hidden"}, nil, nil,
			`{` + min + `,"urn:example:Custom":{"box":{"always":"a"}}}`},
		{"on request, named", []string{"urn:example:Custom:onRequest", "urn:example:Custom:box.asked"}, nil, nil,
			`{` + min + `,"urn:example:Custom":{"onRequest":"r","box":{"always":"a","asked":"q"}}}`},
		{"on request, written", nil, []string{"userName", "name", "emails", "meta", ent, "urn:example:Custom:tags", "urn:example:Custom:box"},
			[]string{"urn:example:Custom:onRequest"}, `{` + min + `,"urn:example:Custom":{"onRequest":"r"}}`},
		{"an extension attribute", []string{ent + ":manager.value"}, nil, nil, `{` + min + `,"` + ent + `":{"manager":{"value":"26"}}}`},
		{"a complete extension", []string{ent}, nil, nil,
			`{` + min + `,"` + ent + `":{"department":"D","manager":{"value":"26","displayName":"J"}}}`},
		{"excluded attributes", nil, []string{"id", "schemas", "emails", "name.familyName", ent, "urn:example:Custom", "meta"}, nil,
			`{` + min + `,"userName":"b","name":{"givenName":"B"}}`},
		{"all sub-attributes excluded", nil,
			[]string{"name.familyName", "name.givenName", "emails", ent + ":department", ent + ":manager", "urn:example:Custom", "meta"}, nil,
			`{` + min + `,"userName":"b"}`},
		{"a sub-attribute that is always returned, excluded", nil,
			[]string{"userName", "name", "emails", "meta", ent, "urn:example:Custom:tags", "urn:example:Custom:box.always"}, nil,
			`{` + min + `,"urn:example:Custom":{"box":{"key":"k","always":"a"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := full.Clone()
			p, err := ParseProjection(test.attributes, test.excluded)
			require.NoError(t, err)
			p.Written = parsePaths(test.written)
			got := customType().Project(full, p)
			require.Equal(t, string(resource(t, test.want).AppendJSON(nil)), string(got.AppendJSON(nil)))
			require.True(t, scim.Equal(&before.Object, &full.Object))
		})
	}
	_, err := ParseProjection([]string{"a"}, []string{"b"})
	var e *scim.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 400, e.Status)
	p, err := ParseProjection([]string{" , "}, nil)
	require.NoError(t, err)
	require.Empty(t, p.Attributes)
}

func BenchmarkClean(b *testing.B) {
	in := resource(b,
		`{`+base+`,"name":{"familyName":"J","givenName":"B"},"emails":[{"value":"a","type":"work"},{"value":"b","type":"home"}],"active":true,"`+
			ent+`":{"department":"D"}}`)
	rt := UserType()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.Clean(in, CleanOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReturnsOnRequest checks that Projection.Written has no effect on types without attributes that are returned on request.
func TestReturnsOnRequest(t *testing.T) {
	require.True(t, customType().ReturnsOnRequest())
	inside := UserType()
	inside.Extensions = append(inside.Extensions, Extension{Schema: &Schema{ID: "urn:example:Inside", Attributes: complete([]*Attribute{
		{Name: "box", Type: Complex, SubAttributes: []*Attribute{{Name: "asked", Returned: Request}}}})}})
	require.True(t, inside.ReturnsOnRequest(), "a sub-attribute of an extension counts")
	require.True(t, GroupType().ReturnsOnRequest(), "members.display")
	rooms := &ResourceType{Name: "Room", Schema: &Schema{ID: "urn:example:Room", Attributes: complete([]*Attribute{{Name: "displayName"}})}}
	for _, rt := range []*ResourceType{UserType(), rooms} {
		require.False(t, rt.ReturnsOnRequest())
		full := resource(t,
			`{`+base+`,"displayName":"d","name":{"familyName":"f"},"emails":[{"value":"a@b"}],"password":"p","`+ent+`":{"department":"d"}}`)
		var written []scim.AttrPath
		for name := range full.All() {
			written = append(written, scim.AttrPath{Name: name}, scim.AttrPath{URN: ent, Name: "department"},
				scim.AttrPath{Name: "emails", Sub: "value"})
		}
		require.True(t, scim.Equal(&rt.Project(full, Projection{}).Object, &rt.Project(full, Projection{Written: written}).Object))
	}
}
