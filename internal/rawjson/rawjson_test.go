package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rawjson"
)

// members returns the members of an object as the package under test finds them.
func members(text []byte) (names, values []string, complete bool) {
	m := rawjson.Object(text)
	for m.Next() {
		names, values = append(names, string(m.Name)), append(values, string(m.Value))
	}
	return names, values, m.Complete()
}

// FuzzObject compares the members of objects with those that encoding/json decodes. On other text it only checks that nothing panics.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":"b\"c","d":[{"e":"]"}],"f":{"g":{}}}`, "{ \"a\" : true ,\n\"b\":null }", `{"a\\":"\\","b":"\\\""}`,
		`{"a":-1.5e3,"b":[]}`, `{"a"`, `{"a":`, `{"a":1,}`, `{"a":"`, `{"a":"\`, `[1]`, `"x"`, ``, `{"a":{`, `{"a":}`, `{"a":1 2}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		names, values, complete := members(text)
		rawjson.CutLast(bytes.TrimSuffix(text, []byte("}")), "a")
		rawjson.Plain(text)
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		require.True(t, complete, "%s", text)
		got := map[string]json.RawMessage{}
		for i, name := range names {
			var decoded string
			require.NoError(t, json.Unmarshal([]byte(`"`+name+`"`), &decoded))
			got[decoded] = json.RawMessage(values[i])
		}
		require.Equal(t, want, got, "%s", text)
	})
}

func TestCutLast(t *testing.T) {
	for _, test := range []struct{ text, before, value string }{
		{`{"a":1,"last":"x"`, `{"a":1`, `"x"`},
		{`{"a":1,"last":""`, `{"a":1`, `""`},
		{`{"a":1,"last":"\\"`, `{"a":1`, `"\\"`},
		{`{"a":1,"last":"x\",\"last\":\"y"`, `{"a":1`, `"x\",\"last\":\"y"`},
		{`{"a":1,"last":"\\\""`, `{"a":1`, `"\\\""`},
		{`{"a":1,"other":"x"`, "", ""},
		{`{"last":"x"`, "", ""},
		{`{"a":1,"last":1`, "", ""},
		{`"`, "", ""},
		{``, "", ""},
		{`x"`, "", ""},
	} {
		before, value, ok := rawjson.CutLast([]byte(test.text), "last")
		require.Equal(t, test.value != "", ok, test.text)
		require.Equal(t, test.before, string(before), test.text)
		require.Equal(t, test.value, string(value), test.text)
	}
}

// TestCutLast_EqualsObject encodes pairs of strings and compares both ways of finding the last one.
func TestCutLast_EqualsObject(t *testing.T) {
	parts := []string{"", `"`, `\`, `\"`, `,"last":"`, "x"}
	for _, a := range parts {
		for _, b := range parts {
			value := a + b + a
			text, err := json.Marshal(struct {
				A string `json:"a"`
				B string `json:"last"`
			}{b + a, value})
			require.NoError(t, err)
			_, values, complete := members(text)
			require.True(t, complete)
			_, found, ok := rawjson.CutLast(bytes.TrimSuffix(text, []byte("}")), "last")
			require.True(t, ok, "%s", text)
			require.Equal(t, values[1], string(found))
		}
	}
}
