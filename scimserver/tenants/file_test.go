package tenants_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
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
const widgetType = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],"id":"Widget","name":"Widget",` +
	`"endpoint":"/Widgets","schema":"urn:example:Widget"}`

func TestReadFile(t *testing.T) {
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
	json := write(t, dir, "tenants.json",
		"{\"tenants\":{\n\t\"acme\":{\"tokens\":[\"acme-secret\",\"12345;read-only;expires=2026-12-01T00:00:00Z\"],"+
			"\t\"quirks\":[\"no-patch\",\"latency=50ms,p=0.5\"],\"strict\":true},\n\t\"globex-2\":{\"tokens\":[\"42\"],\"strict\":false,"+
			"\"lenient\":[\"op-case\"],\"schemas\":\""+filepath.Join(dir, "shapes")+"\"}}}")
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

// TestReadFile_Errors compares the complete errors with testdata/errors.txt.
func TestReadFile_Errors(t *testing.T) {
	tenant := func(lines ...string) string { return "tenants:\n  acme:\n    " + strings.Join(lines, "\n    ") + "\n" }
	const tokens = "tokens: [hush]"
	tests := map[string]struct{ text, want string }{
		"empty":             {"", "defines no tenants"},
		"a comment only":    {"# nothing\n", "defines no tenants"},
		"no tenants":        {"tenants: {}", "defines no tenants"},
		"not YAML":          {"tenants: [", "neither YAML nor JSON"},
		"two documents":     {tenant(tokens) + "---\n" + tenant(tokens), "more than one document"},
		"a list":            {"- acme", "line 1: an object"},
		"an unknown member": {tenant(tokens) + "version: 2\n", `line 4: unknown member "version"`},
		"an unknown tenant member": {tenant(tokens, "quirk: [no-patch]"),
			`tenant acme: line 4: unknown member "quirk"; did you mean "quirks"?`},
		"a name with capitals":           {"tenants:\n  Acme:\n    tokens: [hush]", `line 2: "Acme" cannot be the name`},
		"a name with a slash":            {"tenants:\n  a/b:\n    tokens: [hush]", `line 2: "a/b"`},
		"a name that is too long":        {"tenants:\n  " + strings.Repeat("a", 25) + ":\n    tokens: [hush]", "line 2"},
		"the same name twice":            {tenant(tokens) + "  acme:\n    " + tokens, `line 4: "acme" occurs twice`},
		"the same member twice":          {tenant(tokens, tokens), `line 4: "tokens" occurs twice`},
		"an empty tenant":                {"tenants:\n  acme:\n", "tenant acme: line 2: an object"},
		"no tokens":                      {tenant("strict: true"), "line 2: tokens are required"},
		"an empty list of tokens":        {tenant("tokens: []"), "line 2: tokens are required"},
		"a token instead of a list":      {tenant("tokens: hush"), "line 3: a list of strings"},
		"a token that is an object":      {tenant("tokens: [{value: hush}]"), "line 3: a string"},
		"a token that is null":           {tenant("tokens: [null]"), "line 3: a string"},
		"an invalid token":               {tenant("tokens:", "- ok", "- hush hush"), "line 5: a token has characters"},
		"one token twice":                {tenant("tokens: [hush, hush]"), "line 3: token " + tenants.NewToken("hush").ID() + " occurs twice"},
		"an unknown quirk":               {tenant(tokens, "quirks: [nonsense]"), `line 4: unknown quirk "nonsense"`},
		"an unknown leniency":            {tenant(tokens, "lenient:", "- op-case", "- nonsense"), `line 6: unknown leniency "nonsense"`},
		"strict as a word":               {tenant(tokens, "strict: yes please"), "line 4: strict must be true or false"},
		"strict as a string":             {tenant(tokens, `strict: "true"`), "line 4: strict must be true or false"},
		"strict and lenient":             {tenant(tokens, "strict: true", "lenient: []"), "line 5: strict and lenient are mutually exclusive"},
		"a missing directory of schemas": {tenant(tokens, "schemas: nowhere"), "line 4: schemas: stat "},
		"an alias":                       {tenant("tokens: &t [hush]", "quirks: *t"), "line 4: a list of strings"},
		"a merge key":                    {tenant(tokens, "<<: {strict: true}"), `line 4: unknown member "<<"`},
		"a merge of an alias":            {"tenants:\n  a: &a\n    tokens: [hush]\n  b:\n    <<: *a\n", `line 5: unknown member "<<"`},
		"an alias without anchor":        {tenant("tokens: *t"), "line 3"},
		"an alias as a member":           {"tenants: &a\n  b: *a\n", "line 2: an object"},
		"a member that is an object":     {"? {a: b}\n: c\n", "neither YAML nor JSON: line 2"},
		"a member that is null":          {"~: c\n", `line 1: unknown member "~"`},
		"an error after a comment":       {tenant(tokens, "# hush", "", "strict: maybe"), "line 6: strict must be true or false"},
		"a folded string":                {tenant("tokens:", "  - >-", "    hush", "    hush"), "line 4: a token has characters"},
		"a string without its end":       {tenant("tokens: [\"hush"), "neither YAML nor JSON: line 3"},
		"a tab":                          {"tenants:\n\tacme: hush\n", "neither YAML nor JSON: line 2"},
		"a member out of its column":     {"tenants:\n  acme:\n    tokens: [hush]\n   strict: true\n", "neither YAML nor JSON: line 4"},
		"a member after a string":        {"tenants: hush\n  acme: hush\n", "neither YAML nor JSON: line 1"},
		"JSON without its end":           {"{\"tenants\": {\"acme\":\n {\"tokens\": [\"hush\"]}", "neither YAML nor JSON: line "},
		"JSON, twice": {"{\"tenants\": {\"acme\": {\"tokens\": [\"hush\"],\n\"tokens\": [\"hush\"]}}}",
			`line 2: "tokens" occurs twice`},
		"brackets without end":      {"tenants:\n  " + strings.Repeat("[{", 1<<20), "line 2: more than 100 levels"},
		"lists in lists":            {strings.Repeat("- ", 1<<20), "line 1: more than 100 levels"},
		"names in names":            {strings.Repeat("? ", 1<<20), "line 1: more than 100 levels"},
		"more than 4 MiB":           {tenant(tokens) + strings.Repeat("#", 4<<20), "the file has more than 4194304 bytes"},
		"a token as a tagged null":  {tenant("tokens: [!!null hush]"), "line 3: a string"},
		"strict as a tagged string": {tenant(tokens, "strict: !!str true"), "line 4: strict must be true or false"},
	}
	texts := map[string]string{}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "tenants.yaml", test.text)
			_, err := tenants.ReadFile(path)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
			require.NotContains(t, err.Error(), "hush")
			texts[name] = strings.ReplaceAll(err.Error(), filepath.Dir(path), "DIR")
		})
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&text, "%s\n\t%s\n", name, strings.ReplaceAll(texts[name], "\n", "\n\t"))
	}
	goldentest.Check(t, "testdata/errors.txt", text.String())
	wide := "tenants: {acme: {tokens: [" + strings.Repeat("[],", 200) + "]}}"
	_, err := tenants.ReadFile(write(t, t.TempDir(), "wide.yaml", wide))
	require.ErrorContains(t, err, "line 1: a string", "siblings do not add levels")
	_, err = tenants.ReadFile(filepath.Join(t.TempDir(), "missing.yaml"))
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
