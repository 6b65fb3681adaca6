package wirelog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// plainMembers is members in its simplest form: it copies the input byte for byte, and decodes each name as JSON.
func plainMembers(s string, values bool) (out string, secretPath bool) {
	decode := func(token string) string {
		var name string
		if json.Unmarshal([]byte(token), &name) != nil {
			return strings.Trim(token, `"`)
		}
		return name
	}
	secret := func(name string) bool {
		if i := strings.LastIndexAny(name, ":."); i >= 0 {
			name = name[i+1:]
		}
		return slices.Contains(secretNames, unseparated.Replace(strings.ToLower(name)))
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '"' {
			b.WriteByte(s[i])
			i++
			continue
		}
		end := stringEnd(s, i)
		token := s[i:end]
		b.WriteString(token)
		i = end
		colon := skipSpace(s, end)
		if colon == len(s) || s[colon] != ':' {
			continue
		}
		start := skipSpace(s, colon+1)
		b.WriteString(s[end:start])
		i = start
		name := decode(token)
		switch {
		case secret(name) || values && strings.EqualFold(name, "value"):
			i = valueEnd(s, start)
			if v := s[start:i]; v == "null" || v == "true" || v == "false" || v == "" {
				b.WriteString(v)
			} else {
				b.WriteString(`"` + Redacted + `"`)
			}
		case strings.EqualFold(name, "path") && start < len(s) && s[start] == '"':
			path := strings.ToLower(decode(s[start:stringEnd(s, start)]))
			secretPath = secretPath || secret(path) ||
				strings.Contains(path, "password") || strings.Contains(path, "secret") || strings.Contains(path, "token")
		}
	}
	return b.String(), secretPath
}

func sameMembers(t assert.TestingT, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for _, values := range []bool{false, true} {
		out, path := members(s, values)
		wantOut, wantPath := plainMembers(s, values)
		assert.Equal(t, wantOut, out, "%q", s)
		assert.Equal(t, wantPath, path, "%q", s)
	}
}

func TestMembers_AsPlain(t *testing.T) {
	pieces := slices.Concat(secretNames, []string{
		`"`, `\`, `\"`, `\u0070assword`, ":", ",", "{", "}", "[", "]", " ", "\n", "path", "PATH", "value", "Value", "_", "-", "null", "true",
		"false", "7", "\u212a", "TO\u212aEN", "to\u212aen", "é", "\x00", "\t", "urn:x:", "a.", "longerthaneverysecretname",
		"p-a_s-s_w-o_r-d", "\"password\":\"x\"", `"path":"`,
	})
	rapid.Check(t, func(t *rapid.T) {
		sameMembers(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 24).Draw(t, "text"), ""))
	})
}

func FuzzMembers(f *testing.F) {
	f.Add(`{"password":"x","Operations":[{"path":"pass\u0077ord","value":"y"}],"to` + "\u212a" + `en":7}`)
	f.Fuzz(func(t *testing.T, s string) { sameMembers(t, s) })
}

func TestSecretNames_Longest(t *testing.T) {
	for _, name := range secretNames {
		assert.LessOrEqual(t, len(name), longestSecretName, name)
		assert.True(t, secretName(name), name)
	}
}

// BenchmarkRedaction measures the body of a PATCH that adds 100 members.
func BenchmarkRedaction(b *testing.B) {
	var body strings.Builder
	body.WriteString(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"add","path":"members","value":[`)
	for n := range 100 {
		fmt.Fprintf(&body, `{"value":"2819c223-7f76-453a-919d-%012d","display":"user-%[1]d@example.com"},`, n)
	}
	body.WriteString(`{}]}]}`)
	text := []byte(body.String())
	r := NewRedactor("a-token-of-the-target")
	b.ReportAllocs()
	for b.Loop() {
		r.body(text, "application/scim+json")
	}
}
