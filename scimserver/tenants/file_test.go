package tenants_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/quirks"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const widget = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Schema"],"id":"urn:example:Widget","name":"Widget",
	"attributes":[{"name":"serial","type":"string","required":true}]}`
const widgetType = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],"id":"Widget","name":"Widget","endpoint":"/Widgets","schema":"urn:example:Widget"}`

func TestAFileDescribesTenants(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shapes"), 0o700))
	write(t, filepath.Join(dir, "shapes"), "schema.json", widget)
	write(t, filepath.Join(dir, "shapes"), "type.json", widgetType)
	yaml := write(t, dir, "tenants.yaml", `# two tenants
tenants:
  acme:
    tokens:
      - acme-secret
      - "12345;read-only;expires=2026-12-01T00:00:00Z"
    quirks: [no-patch, "latency=50ms,p=0.5"]
    strict: true
  globex-2:
    tokens: [42]
    lenient: [op-case]
    schemas: shapes
`)
	json := write(t, dir, "tenants.json", "{\"tenants\":{\n\t\"acme\":{\"tokens\":[\"acme-secret\",\"12345;read-only;expires=2026-12-01T00:00:00Z\"],"+
		"\t\"quirks\":[\"no-patch\",\"latency=50ms,p=0.5\"],\"strict\":true},\n\t\"globex-2\":{\"tokens\":[\"42\"],\"strict\":false,\"lenient\":[\"op-case\"],\"schemas\":\""+filepath.Join(dir, "shapes")+"\"}}}")
	reader := tenants.NewToken("12345")
	reader.ReadOnly, reader.Expires = true, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	settings, err := quirks.ParseAll([]string{"no-patch", "latency=50ms,p=0.5"})
	require.NoError(t, err)
	want := []tenants.Config{
		{Name: "acme", Tokens: []tenants.Token{tenants.NewToken("acme-secret"), reader}, Quirks: settings, Refuse: lenient.All},
		{Name: "globex-2", Tokens: []tenants.Token{tenants.NewToken("42")}, Refuse: lenient.All &^ lenient.OpCase},
	}
	for _, path := range []string{yaml, json} {
		got, err := tenants.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(tenants.Config{}, "Types")))
		require.Nil(t, got[0].Types)
		var names []string
		for _, rt := range got[1].Types {
			names = append(names, rt.Name)
		}
		require.Equal(t, []string{schema.UserType().Name, schema.GroupType().Name, "Widget"}, names)
	}
}

func TestAFileThatIsWrongIsRefusedWithThePlace(t *testing.T) {
	tenant := func(lines ...string) string { return "tenants:\n  acme:\n    " + strings.Join(lines, "\n    ") + "\n" }
	const tokens = "tokens: [hush]"
	for name, test := range map[string]struct{ text, want string }{
		"empty":                      {"", "names no tenants"},
		"a comment only":             {"# nothing\n", "names no tenants"},
		"no tenants":                 {"tenants: {}", "names no tenants"},
		"not YAML":                   {"tenants: [", "neither YAML nor JSON"},
		"two documents":              {tenant(tokens) + "---\n" + tenant(tokens), "more than one document"},
		"a list":                     {"- acme", "line 1: an object"},
		"an unknown member":          {tenant(tokens) + "version: 2\n", `line 4: there is no member "version"`},
		"an unknown tenant member":   {tenant(tokens, "quirk: [no-patch]"), `tenant acme: line 4: there is no member "quirk"`},
		"a name with capitals":       {"tenants:\n  Acme:\n    tokens: [hush]", `line 2: "Acme" cannot be the name`},
		"a name with a slash":        {"tenants:\n  a/b:\n    tokens: [hush]", `line 2: "a/b"`},
		"a name that is too long":    {"tenants:\n  " + strings.Repeat("a", 25) + ":\n    tokens: [hush]", "line 2"},
		"the same name twice":        {tenant(tokens) + "  acme:\n    " + tokens, `line 4: "acme" is there twice`},
		"the same member twice":      {tenant(tokens, tokens), `line 4: "tokens" is there twice`},
		"nothing in it":              {"tenants:\n  acme:\n", "tenant acme: line 2: an object"},
		"no tokens":                  {tenant("strict: true"), "line 2: it has no tokens"},
		"an empty list of tokens":    {tenant("tokens: []"), "line 2: it has no tokens"},
		"one token and no list":      {tenant("tokens: hush"), "line 3: a list of strings"},
		"a token that is an object":  {tenant("tokens: [{value: hush}]"), "line 3: a string"},
		"a token that is null":       {tenant("tokens: [null]"), "line 3: a string"},
		"a token that cannot be":     {tenant("tokens:", "- ok", "- hush hush"), "line 5: a token has characters"},
		"one token twice":            {tenant("tokens: [hush, hush]"), "line 3: token " + tenants.NewToken("hush").ID() + " is given twice"},
		"an unknown quirk":           {tenant(tokens, "quirks: [nonsense]"), `line 4: there is no quirk "nonsense"`},
		"an unknown leniency":        {tenant(tokens, "lenient:", "- op-case", "- nonsense"), `line 6: there is no leniency "nonsense"`},
		"strict as a word":           {tenant(tokens, "strict: yes please"), "line 4: strict is true or false"},
		"strict as a string":         {tenant(tokens, `strict: "true"`), "line 4: strict is true or false"},
		"strict and lenient":         {tenant(tokens, "strict: true", "lenient: []"), "line 5: strict and lenient exclude each other"},
		"schemas that are not there": {tenant(tokens, "schemas: nowhere"), "line 4: schemas: stat "},
		"an alias":                   {tenant("tokens: &t [hush]", "quirks: *t"), "line 4: a list of strings"},
		"a merge key":                {tenant(tokens, "<<: {strict: true}"), `line 4: there is no member "<<"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "tenants.yaml", test.text)
			_, err := tenants.ReadFile(path)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
			require.NotContains(t, err.Error(), "hush")
		})
	}
	_, err := tenants.ReadFile(filepath.Join(t.TempDir(), "missing.yaml"))
	require.ErrorContains(t, err, "missing.yaml")
}

func FuzzReadFile(f *testing.F) {
	f.Add("tenants:\n  a:\n    tokens: [x]\n")
	f.Add(`{"tenants":{"a":{"tokens":["x;read-only"],"quirks":["no-patch"],"strict":true}}}`)
	f.Add("tenants: &a {a: *a}")
	f.Fuzz(func(t *testing.T, text string) {
		configs, err := tenants.ReadFile(write(t, t.TempDir(), "f", text))
		for _, c := range configs {
			if err == nil {
				require.NoError(t, tenants.CheckName(c.Name))
				require.NotEmpty(t, c.Tokens)
			}
		}
	})
}
