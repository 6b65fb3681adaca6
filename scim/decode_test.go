package scim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDecode_PreservesOrderAndSpelling checks that Decode preserves the order of members, the JSON types and the spelling of numbers.
func TestDecode_PreservesOrderAndSpelling(t *testing.T) {
	o, err := Decode([]byte(" {\"b\" : 1.50e1 ,\"A\":[true,false,null,{}, []],\"c\":\"x\\u00e9\\ud83d\\ude00\\/\" }\r\n\t"))
	require.NoError(t, err)
	want := NewObject(
		Member{"b", json.Number("1.50e1")},
		Member{"A", []any{true, false, nil, &Object{}, []any{}}},
		Member{"c", "xé😀/"})
	require.Empty(t, cmp.Diff(want.members, o.members, cmp.AllowUnexported(Object{})))
	require.Equal(t, `{"b":1.50e1,"A":[true,false,null,{},[]],"c":"xé😀/"}`, string(o.AppendJSON(nil)))
}

// TestDecode_ResultsIndependent decodes other texts, also invalid ones, after an object, whose values must not change.
func TestDecode_ResultsIndependent(t *testing.T) {
	const text = `{"a":[{"b":"c"},["d",1]],"e":{"f":{"g":[true]}},"h":"i"}`
	first, err := Decode([]byte(text))
	require.NoError(t, err)
	for _, other := range []string{`{"x":["y",{"z":"w"}],"v":{"u":["t"]}}`, `{"x":["y",{"z":["w",`, `{"x":1,"X":2}`, `{}`} {
		_, _ = Decode([]byte(other))
		again, err := Decode([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(again.AppendJSON(nil)))
		require.Equal(t, text, string(first.AppendJSON(nil)))
	}
}

func TestDecode_Rejects(t *testing.T) {
	for _, test := range []struct {
		name, in string
		offset   int64
		msg      string
	}{
		{"nothing", "", 0, "empty"},
		{"blanks", "  \n", 3, "empty"},
		{"a byte order mark", "\xEF\xBB\xBF{}", 0, "byte order mark"},
		{"an array", "[]", 0, "object is expected"},
		{"a string", `"x"`, 0, "object is expected"},
		{"text after the object", `{} x`, 3, "after"},
		{"two objects", `{}{}`, 2, "after"},
		{"a name twice", `{"a":1,"a":2}`, 7, `"a" occurs twice`},
		{"a name twice in another case", `{"userName":1,"USERNAME":2}`, 14, "twice"},
		{"a name twice by an escape", `{"a":1,"\u0061":2}`, 7, "twice"},
		{"a name twice inside", `{"x":[{"b":{"a":1,"A":2}}]}`, 18, "twice"},
		{"a name twice among many", manyMembers(40, `"N7":0`), -1, "twice"},
		{"too many members", manyMembers(MaxMembers, `"x":0`), -1, "more than 1024 members"},
		{"too deep", strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1), 5 * MaxDepth, "levels"},
		{"invalid UTF-8", "{\"a\":\"x\xff\"}", 7, "UTF-8"},
		{"an encoded surrogate", "{\"a\":\"\xed\xa0\x80\"}", 6, "UTF-8"},
		{"half a surrogate pair", `{"a":"\ud83dx"}`, 6, "escape"},
		{"two high surrogates", `{"a":"\ud83d\ud83d"}`, 6, "escape"},
		{"a low surrogate alone", `{"a":"\ude00"}`, 6, "escape"},
		{"a short escape", `{"a":"\u12"}`, 6, "escape"},
		{"an unknown escape", `{"a":"\q"}`, 6, "unknown escape"},
		{"an escape at the end", `{"a":"\`, 7, "closing quote"},
		{"a line break in a string", "{\"a\":\"x\ny\"}", 7, "control character"},
		{"a control character after an escape", "{\"a\":\"\\n\x01\"}", 8, "control character"},
		{"an open string", `{"a":"x`, 7, "closing quote"},
		{"a missing colon", `{"a" 1}`, 5, "colon"},
		{"a missing comma", `{"a":1 "b":2}`, 7, "comma"},
		{"a comma at the end", `{"a":1,}`, 7, "member name"},
		{"a comma at the end of an array", `{"a":[1,]}`, 8, "value is expected"},
		{"an open array", `{"a":[1`, 7, "comma"},
		{"a bare name", `{a:1}`, 1, "member name"},
		{"a leading zero", `{"a":01}`, 6, "comma"},
		{"a lone minus", `{"a":-}`, 6, "bad number"},
		{"a point without digits", `{"a":1.}`, 7, "bad number"},
		{"an exponent without digits", `{"a":1e+}`, 8, "bad number"},
		{"a plus", `{"a":+1}`, 5, "value is expected"},
		{"NaN", `{"a":NaN}`, 5, "value is expected"},
		{"a truncated literal", `{"a":tru}`, 5, "value is expected"},
		{"a literal with extra letters", `{"a":nullx}`, 9, "comma"},
		{"a comment", `{"a":1/**/}`, 6, "comma"},
		{"no value", `{"a":}`, 5, "value is expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode([]byte(test.in))
			var e *SyntaxError
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Msg, test.msg)
			if test.offset >= 0 {
				require.Equal(t, test.offset, e.Offset)
			}
			require.Contains(t, e.Error(), fmt.Sprintf("at byte %d", e.Offset))
		})
	}
}

// manyMembers returns an object with n members n0, n1... and one more.
func manyMembers(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"n%d":%d,`, i, i)
	}
	return b.String() + last + "}"
}

func TestDecode_MaximumSizes(t *testing.T) {
	_, err := Decode([]byte(strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)))
	require.NoError(t, err)
	o, err := Decode([]byte(manyMembers(MaxMembers-1, `"x":0`)))
	require.NoError(t, err)
	require.Equal(t, MaxMembers, o.Len())
}

// genStored generates stored values.
func genStored(depth int) *rapid.Generator[any] {
	simple := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](false),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { v, _ := Value(f); return v }),
		rapid.Map(rapid.Int(), func(i int) any { return json.Number(fmt.Sprint(i)) }),
	}
	if depth > 0 {
		simple = append(simple,
			rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return genStored(depth - 1) }), 0, 4), func(l []any) any {
				return append([]any{}, l...)
			}),
			rapid.Map(genObject(depth-1), func(o *Object) any { return o }))
	}
	return rapid.OneOf(simple...)
}

func genObject(depth int) *rapid.Generator[*Object] {
	return rapid.Custom(func(t *rapid.T) *Object {
		o := &Object{}
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			o.Set(rapid.OneOf(rapid.SampledFrom([]string{"a", "A", "id", "ID"}), rapid.String()).Draw(t, "name"), genStored(depth).Draw(t, "value"))
		}
		return o
	})
}

func TestObject_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := genObject(3).Draw(t, "o")
		text := o.AppendJSON(nil)
		got, err := Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !Equal(o, got) || !bytes.Equal(text, got.AppendJSON(nil)) {
			t.Fatalf("%s reads back as %s", text, got.AppendJSON(nil))
		}
		if c := o.Clone(); !Equal(o, c) {
			t.Fatalf("the clone differs: %s", c.AppendJSON(nil))
		}
		marshaled, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var again Object
		if err := json.Unmarshal(marshaled, &again); err != nil || !Equal(o, &again) {
			t.Fatalf("encoding/json gives %s: %v", marshaled, err)
		}
	})
}

// native converts a stored value to the form that encoding/json returns.
func native(v any) any {
	switch v := v.(type) {
	case *Object:
		m := map[string]any{}
		for name, e := range v.All() {
			m[name] = native(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = native(e)
		}
		return l
	}
	return v
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(sampleUser))
	f.Add([]byte(`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t",null,true,{"b":{}}],"A1":""}`))
	f.Add([]byte("\xEF\xBB\xBF{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Decode(data)
		if err != nil {
			return
		}
		// encoding/json must accept every input that Decode accepts, with the same meaning.
		var want any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("encoding/json rejects it: %v", err)
		}
		if diff := cmp.Diff(want, native(o)); diff != "" {
			t.Fatal(diff)
		}
		again, err := Decode(o.AppendJSON(nil))
		if err != nil || !Equal(o, again) {
			t.Fatalf("%s reads back differently: %v", o.AppendJSON(nil), err)
		}
	})
}

// sampleUser is about 1 KiB.
const sampleUser = `{
  "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
  "id": "2819c223-7f76-453a-919d-413861904646",
  "externalId": "701984",
  "userName": "bjensen@example.com",
  "name": {"formatted": "Ms. Barbara J Jensen, III", "familyName": "Jensen", "givenName": "Barbara", "middleName": "Jane"},
  "displayName": "Babs Jensen",
  "emails": [{"value": "bjensen@example.com", "type": "work", "primary": true}, {"value": "babs@jensen.org", "type": "home"}],
  "phoneNumbers": [{"value": "tel:+1-555-555-5555", "type": "work"}],
  "title": "Tour Guide", "preferredLanguage": "en-US", "locale": "en-US", "timezone": "America/Los_Angeles", "active": true,
  "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"employeeNumber": "701984", "costCenter": "4130",
    "manager": {"value": "26118915"}},
  "meta": {"resourceType": "User", "created": "2010-01-23T04:56:22Z", "lastModified": "2011-05-13T04:42:34Z",
    "version": "W/\"3694e05e9dff591\"", "location": "https://example.com/v2/Users/2819c223"}
}`

func BenchmarkDecode(b *testing.B) {
	data := []byte(sampleUser)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	o, err := Decode([]byte(sampleUser))
	require.NoError(b, err)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = o.AppendJSON(dst[:0])
	}
}

func TestDecodeValue(t *testing.T) {
	for in, want := range map[string]any{
		`[1.50, "x", null, true]`: []any{json.Number("1.50"), "x", nil, true}, ` "a" `: "a", `null`: nil, `7`: json.Number("7"),
		`{}`:                     map[string]any{},
		`{"a":1,"A":[{"a":{}}]}`: map[string]any{"a": json.Number("1"), "A": []any{map[string]any{"a": map[string]any{}}}},
	} {
		got, err := DecodeValue([]byte(in))
		require.NoError(t, err, in)
		require.Empty(t, cmp.Diff(want, got), in)
	}
	deep := strings.Repeat("[", MaxValueDepth) + strings.Repeat("]", MaxValueDepth)
	_, err := DecodeValue([]byte(deep))
	require.NoError(t, err)
	many, err := DecodeValue([]byte(manyMembers(2*MaxMembers, `"x":0`)))
	require.NoError(t, err)
	require.Len(t, many, 2*MaxMembers+1)
	for in, msg := range map[string]string{
		`{"a":1,"a":2}`: `"a" occurs twice`, `[{"x":[{"b":1,"\u0062":2}]}]`: `"b" occurs twice`, manyMembers(40, `"n7":0`): `"n7" occurs twice`,
		`[` + deep + `]`: "levels", `[] x`: "after the JSON value", ``: "value is expected", "\xEF\xBB\xBF[]": "byte order mark",
		"\"\xff\"":   "UTF-8",
		`["\ud83d"]`: "escape",
	} {
		_, err := DecodeValue([]byte(in))
		var e *SyntaxError
		require.ErrorAs(t, err, &e, in)
		require.Contains(t, e.Msg, msg)
	}
}
