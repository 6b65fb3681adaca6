package archtest

import (
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withoutExamples lists the public packages without an example, with the reasons.
var withoutExamples = map[string]string{
	"conformance/causes":          "the results of a run are its only input; the text report shows the causes",
	"conformance/clientgrade":     "scim-conformance mock is the program that uses it",
	"conformance/matrix":          "scim-conformance matrix is the program that uses it",
	"conformance/waivers":         "its input is a file, which docs/reference/conformance.md shows",
	"engine/jobs":                 "an embedder creates a scheduler only for jobs of its own",
	"engine/jobs/jobstest":        "a test suite, which needs a test",
	"engine/jobs/riverjobs":       "it requires PostgreSQL; docs/reference/engine.md shows the calls",
	"engine/store":                "only interfaces; package engine/sqlstore implements them",
	"engine/storetest":            "a test suite, which needs a test",
	"engine/webhooks/webhooksapi": "engine/desired/desiredapi shows how an API of this form is mounted",
	"fixtures":                    "data for the tests of this module",
	"mgmtapi/mgmtapitest":         "it needs a test; TestOpen_OptionsOfEmbedder shows the calls",
	"scimserver/storetest":        "a test suite, which needs a test",
}

// notRun lists the examples without output, which are only compiled, with the reasons.
var notRun = map[string]string{
	"conformance/conformancetest ExampleRun":   "it shows a call in a test, which needs a *testing.T",
	"engine/sqlstore ExampleOpen_postgres":     "it requires PostgreSQL",
	"mgmtapi ExampleOpen_postgres":             "it requires PostgreSQL",
	"scimserver/sqlstore ExampleOpen_postgres": "it requires PostgreSQL",
}

// minExamples is the number of examples that go test runs at least.
const minExamples = 40

// TestPublicPackages_Examples checks that each public package has an example that go test runs, or a reason to have none.
func TestPublicPackages_Examples(t *testing.T) {
	total, exempt, compiled := 0, maps.Clone(withoutExamples), maps.Clone(notRun)
	for _, p := range Public {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p), "*_test.go"))
		require.NoError(t, err)
		count := 0
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, example := range doc.Examples(parsed) {
				name := p + " Example" + example.Name
				runs := example.Output != "" || example.EmptyOutput
				assert.Equal(t, notRun[name] == "", runs, "%s: go test runs only an example with output", name)
				if runs {
					count++
				}
				delete(compiled, name)
			}
		}
		total += count
		reason, listed := exempt[p]
		require.Equal(t, listed, count == 0, "%s has %d examples (reason to have none: %q)", p, count, reason)
		delete(exempt, p)
	}
	require.Empty(t, exempt, "packages that are not public")
	require.Empty(t, compiled, "examples that do not exist")
	require.GreaterOrEqual(t, total, minExamples)
	t.Logf("%d examples", total)
}
