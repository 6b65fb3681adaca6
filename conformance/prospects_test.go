package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNameIn_BrokenBodies(t *testing.T) {
	for _, c := range []struct {
		name string
		body any
		want string
	}{
		{"a document", Doc{"schemas": []string{"x"}, "USERNAME": "a"}, "a"},
		{"whole JSON", []byte(`{"schemas":["userName"],"userName" : "a\"b\u00e4"}`), `a"bä`},
		{"a member twice", []byte(`{"userName":"a","userName":"b"}`), "a"},
		{"text after the object", []byte(`{"username":"a"} x`), "a"},
		{"truncated after the name", []byte(`{"userName":"a","name":{`), "a"},
		{"truncated within the name", []byte(`{"userName":"a`), ""},
		{"single quotes", []byte(`{'userName':'a'}`), "a"},
		{"after many others", []byte(`{` + strings.Repeat(`"x":"y",`, 100) + `"userName":"a"}`), "a"},
		{"readable the second time", []byte(`{"userName":"\q","userName":"a"}`), "a"},
		{"another member", []byte(`{"nickName":"a"}`), ""},
		{"a form", []byte(`schemas=y&userName=a%2Fb`), "a/b"},
		{"XML", []byte(`<User><userName>a</userName></User>`), "a"},
		{"an array", []any{Doc{"userName": "a"}}, "a"},
		{"no text", []byte(`{"userName":1}`), ""},
		{"nothing", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, nameIn(c.body, "userName")) })
	}
}

// nameForms matches a member in any of the forms of [nameIn]. The expression finds the same names as nameIn, but takes quadratic time.
var nameForms = regexp.MustCompile(`["'](\w+)["']\s*:\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')|(?:^|&)(\w+)=([^&]*)|<(\w+)>([^<]*)</`)

func TestNameIn_FirstReadable(t *testing.T) {
	pieces := rapid.SampledFrom(
		[]string{`"`, `'`, `\`, `:`, ` `, `&`, `=`, `<`, `>`, `</`, "a", "A", "b", `"a"`, `"a":"x"`, `'a':'y'`, "&a=z%20", "<a>w</", "\n", "ä",
			"\xff"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "text"), ""))
		want := ""
		for _, m := range nameForms.FindAllSubmatch(text, -1) {
			single := member{name: slices.Concat(m[1], m[4], m[6]), quoted: m[2], single: m[3], query: m[5], text: m[7]}
			if name, ok := single.named("a"); ok {
				want = name
				break
			}
		}
		require.Equal(t, want, nameIn(text, "a"), "%q", text)
	})
}

func TestIdentify_UnreadableBodies(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a resource", `{"id":"a"}`, "a"},
		{"half a surrogate pair", `{"id":"a","nickName":"\ud800"}`, "a"},
		{"a member twice", `{"nickName":"x","nickName":"y","id":"a"}`, "a"},
		{"deep nesting", `{"x":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `,"id":"a"}`, "a"},
		{"no id", `{"nickName":"\ud800"}`, ""},
		{"no JSON", `<id>a</id>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, identify(&Response{Body: []byte(c.body)})) })
	}
}
