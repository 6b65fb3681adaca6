package scim

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestObject_NamesIgnoreCase(t *testing.T) {
	o := NewObject(Member{"userName", "b"}, Member{"active", true}, Member{"n", 1})
	o.Set("USERNAME", "c")
	require.Equal(t, `{"userName":"c","active":true,"n":1}`, string(o.AppendJSON(nil)))
	require.Equal(t, "c", o.Text("username"))
	require.True(t, o.Delete("Active"))
	require.False(t, o.Delete("active"))
	require.Equal(t, 2, o.Len())
	_, ok := o.Get("\u212A") // the Kelvin sign is not a k
	require.False(t, ok)
	require.False(t, EqualName("[", "{"))
	require.False(t, EqualName("@", "`"))
}

func TestObject_ReadNil(t *testing.T) {
	var o *Object
	require.Zero(t, o.Len())
	require.Empty(t, o.Complex("a").Complex("b").Text("c"))
	require.Nil(t, o.Array("a"))
	require.Nil(t, o.Clone())
	for range o.All() {
		t.Fatal("nil has no members")
	}
	require.Equal(t, "{}", string(o.AppendJSON(nil)))
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
}

// TestObject_AccessorTypes checks that an accessor returns only values of its JSON type, and that Array returns a single value as a list.
func TestObject_AccessorTypes(t *testing.T) {
	o, err := Decode([]byte(`{"s":"x","b":true,"o":{"p":1},"l":[1],"n":null}`))
	require.NoError(t, err)
	require.Empty(t, o.Text("b"))
	_, ok := o.Bool("s")
	require.False(t, ok)
	v, ok := o.Bool("b")
	require.True(t, v && ok)
	require.Nil(t, o.Complex("s"))
	require.Equal(t, 1, o.Complex("o").Len())
	require.Equal(t, []any{"x"}, o.Array("s"))
	require.Equal(t, []any{json.Number("1")}, o.Array("l"))
	require.Nil(t, o.Array("n"))
}

func TestClone_Deep(t *testing.T) {
	o, err := Decode([]byte(`{"a":{"b":[{"c":1}]}}`))
	require.NoError(t, err)
	c := o.Clone()
	c.Complex("a").Array("b")[0].(*Object).Set("c", 2)
	require.Equal(t, `{"a":{"b":[{"c":1}]}}`, string(o.AppendJSON(nil)))
}

// TestCopy_Shallow checks that a copy has its own list of members and shares their values.
func TestCopy_Shallow(t *testing.T) {
	inner := NewObject(Member{"c", "1"})
	o := NewObject(Member{"a", "1"}, Member{"b", inner})
	o.Grow(3)
	c := o.Copy()
	c.Set("a", "2")
	c.Set("d", "3")
	c.Delete("b")
	require.Equal(t, `{"a":"1","b":{"c":"1"}}`, string(o.AppendJSON(nil)))
	require.Same(t, inner, o.Copy().Complex("b"), "values are shared")
	require.Nil(t, (*Object)(nil).Copy())
}

func TestValue(t *testing.T) {
	type tagged struct {
		Name string `json:"name"`
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("", 3600))
	var noObject *Object
	for _, test := range []struct {
		name string
		in   any
		want string
	}{
		{"nil", nil, `null`},
		{"a nil object", noObject, `null`},
		{"an int", 5, `5`},
		{"an int64", int64(-5), `-5`},
		{"another integer", uint8(5), `5`},
		{"a float", 1.5, `1.5`},
		{"a large float", 1e21, `1e+21`},
		{"a time", now, `"2026-01-02T02:04:05.006Z"`},
		{"strings", []string{"a", "b"}, `["a","b"]`},
		{"no strings", []string(nil), `[]`},
		{"a mixed list", []any{1, "a", []string{"b"}, map[string]any{"c": 2}}, `[1,"a",["b"],{"c":2}]`},
		{"objects", []*Object{NewObject(Member{"a", 1})}, `[{"a":1}]`},
		{"a map, sorted", map[string]any{"b": 1, "a": []int{2}}, `{"a":[2],"b":1}`},
		{"a struct", tagged{"x"}, `{"name":"x"}`},
		{"a resource", &Resource{*NewObject(Member{"a", 1})}, `{"a":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := Value(test.in)
			require.NoError(t, err)
			require.Equal(t, test.want, string(AppendValue(nil, v)))
		})
	}
	for name, bad := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "a channel": make(chan int), "a bad number": json.Number("1x"),
		"a bad element": []any{make(chan int)},
		"a name twice":  map[string]any{"a": 1, "A": 2}, "a bad member": map[string]any{"a": math.NaN()},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			_, err := Value(bad)
			require.Error(t, err)
			require.Panics(t, func() { new(Object).Set("x", bad) })
		})
	}
}

// TestValue_CopiesListIfNeeded checks that Value copies a list only if an element needs a conversion, and never changes the caller's list.
func TestValue_CopiesListIfNeeded(t *testing.T) {
	stored := []any{"a", true}
	v, err := Value(stored)
	require.NoError(t, err)
	require.Same(t, &stored[0], &v.([]any)[0])
	raw := []any{1}
	_, err = Value(raw)
	require.NoError(t, err)
	require.Equal(t, 1, raw[0], "the caller's list is unchanged")
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"B":2.0,"A":1e0}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":[1,{"b":"x"}]}`, `{"a":[1.0,{"B":"x"}]}`, true},
		{`{"a":"x"}`, `{"a":"X"}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":{}}`, `{"a":[]}`, false},
		{`{"a":"x"}`, `{"a":["x"]}`, false},
		{`{"a":true}`, `{"a":true}`, true},
	} {
		a, err := Decode([]byte(test.a))
		require.NoError(t, err)
		b, err := Decode([]byte(test.b))
		require.NoError(t, err)
		require.Equal(t, test.want, Equal(a, b), "%s %s", test.a, test.b)
		require.Equal(t, test.want, Equal(b, a), "%s %s", test.b, test.a)
	}
}

func TestCompareNumbers(t *testing.T) {
	ascending := []json.Number{"-1e999999999999999999999", "-1e5", "-12", "-1.5", "-1", "-1e-9", "0", "1e-999999999999999999999", "0.09",
		"0.1", "1", "1.0000000000000000000001", "9", "10", "12345678901234567890", "12345678901234567891", "1e999999999"}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i != j {
				want = 1
				if i < j {
					want = -1
				}
			}
			require.Equal(t, want, CompareNumbers(a, b), "%s %s", a, b)
		}
	}
	for _, same := range [][2]json.Number{{"1", "1.0"}, {"100", "1e2"}, {"0", "-0"}, {"0e5", "0.00"}, {"0.0012", "12E-4"}, {"120", "1.2e+2"}} {
		require.Zero(t, CompareNumbers(same[0], same[1]), same)
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Float64Range(-1e12, 1e12).Draw(t, "x"), rapid.Float64Range(-1e12, 1e12).Draw(t, "y")
		a, _ := Value(x)
		b, _ := Value(y)
		want := 0
		if x < y {
			want = -1
		} else if x > y {
			want = 1
		}
		if CompareNumbers(a.(json.Number), b.(json.Number)) != want {
			t.Fatalf("%v %v", a, b)
		}
	})
	for n, whole := range map[json.Number]bool{"0": true, "-5": true, "1.0": true, "1e3": true, "1.5e1": true, "1.5": false, "1e-1": false,
		"10e-1": true} {
		require.Equal(t, whole, IsInteger(n), n)
	}
}

func TestResource(t *testing.T) {
	r, err := DecodeResource([]byte(sampleUser))
	require.NoError(t, err)
	require.Equal(t, "2819c223-7f76-453a-919d-413861904646", r.ID())
	require.Equal(t, "701984", r.ExternalID())
	require.Equal(t, []string{UserSchema, EnterpriseUserSchema}, r.Schemas())
	require.True(t, r.HasSchema("URN:ietf:params:scim:schemas:core:2.0:USER"))
	require.False(t, r.HasSchema(GroupSchema))
	require.Empty(t, cmp.Diff(Meta{
		ResourceType: "User",
		Created:      time.Date(2010, 1, 23, 4, 56, 22, 0, time.UTC),
		LastModified: time.Date(2011, 5, 13, 4, 42, 34, 0, time.UTC),
		Location:     "https://example.com/v2/Users/2819c223",
		Version:      `W/"3694e05e9dff591"`,
	}, r.Meta()))

	c := r.Clone()
	c.AddSchema("urn:x")
	c.AddSchema("URN:X")
	require.Len(t, c.Schemas(), 3)
	require.Len(t, r.Schemas(), 2, "the original keeps its list")
	c.SetMeta(Meta{ResourceType: "User", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	require.Equal(t, `{"resourceType":"User","created":"2026-01-02T03:04:05.000Z"}`, string(c.Complex("meta").AppendJSON(nil)))
	require.Zero(t, new(Resource).Meta())
	require.Nil(t, (*Resource)(nil).Clone())

	var viaJSON Resource
	require.NoError(t, json.Unmarshal([]byte(sampleUser), &viaJSON))
	require.True(t, Equal(&r.Object, &viaJSON.Object))
	_, err = DecodeResource([]byte(`[]`))
	require.Error(t, err)
}

func TestParseAttrPath(t *testing.T) {
	for in, want := range map[string]AttrPath{
		"userName":                           {Name: "userName"},
		"name.familyName":                    {Name: "name", Sub: "familyName"},
		"members.$ref":                       {Name: "members", Sub: "$ref"},
		"$ref":                               {Name: "$ref"},
		UserSchema + ":name.familyName":      {URN: UserSchema, Name: "name", Sub: "familyName"},
		EnterpriseUserSchema:                 {URN: "urn:ietf:params:scim:schemas:extension:enterprise:2.0", Name: "User"},
		"urn:example:2.0":                    {URN: "urn:example:2.0"},
		"http://schemas.example/ADSCIM/2.0":  {URN: "http://schemas.example/ADSCIM/2.0"},
		"http://schemas.example/x:attribute": {URN: "http://schemas.example/x", Name: "attribute"},
	} {
		got, err := ParseAttrPath(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
		require.Equal(t, in, got.String())
	}
	for _, in := range []string{"", ".", "a.", ".a", "a.b.c", "1a", "-a", "a b", "a\"", "é", "$reff", ":a", "a:", "1:a", "urn:a b:c", "a[0]",
		"/emails"} {
		_, err := ParseAttrPath(in)
		require.Error(t, err, in)
	}
	require.True(t, AttrPath{}.IsZero())
	require.True(t, AttrPath{"A", "b", "c"}.Equal(AttrPath{"a", "B", "C"}))
	require.Equal(t, "", AttrPath{}.String())
}
