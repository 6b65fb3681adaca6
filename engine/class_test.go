package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// constants returns the values of the constants of a type in a file of this package.
func constants(t *testing.T, file, typeName string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typeName {
			for _, v := range spec.Values {
				values = append(values, strings.Trim(v.(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	require.NotEmpty(t, values)
	return values
}

func TestClasses_OneRowEach(t *testing.T) {
	var rows []string
	statuses, signals := constants(t, "state.go", "Status"), constants(t, "class.go", "Signal")
	for _, row := range engine.Classes() {
		rows = append(rows, string(row.Class))
		require.Equal(t, row, row.Class.Info())
		require.Contains(t, statuses, string(row.Status), row.Class)
		require.Contains(t, signals, string(row.Signal), row.Class)
		require.NotEmpty(t, row.Signal, "every outcome has a signal")
		require.Regexp(t, `^[A-Z0-9].*\.$`, row.Text)
	}
	require.Equal(t, constants(t, "class.go", "Class"), rows)
	require.Equal(t, engine.Transient, engine.Class("unknown").Info().Class)
	engine.Classes()[0].Status = engine.StatusFailed
	require.Equal(t, engine.StatusClean, engine.Done.Info().Status, "callers get a copy")
}

// TestStatus_Outcome checks that Outcome returns the same classes as in the first release, because the console, the CLI and plans show
// them.
func TestStatus_Outcome(t *testing.T) {
	want := map[engine.Status]engine.Class{
		engine.StatusDirty: "", engine.StatusClean: engine.Done, engine.StatusSkipped: engine.Skipped, engine.StatusWaiting: engine.Done,
		engine.StatusRetrying: engine.Transient, engine.StatusFailed: engine.Rejected, engine.StatusHeld: engine.Held,
		engine.StatusPending: engine.Accepted, engine.StatusDismissed: "", "unknown": "",
	}
	for _, s := range constants(t, "state.go", "Status") {
		require.Contains(t, want, engine.Status(s))
	}
	for status, class := range want {
		require.Equal(t, class, status.Outcome(), status)
	}
}

func TestClasses_Documented(t *testing.T) {
	var table strings.Builder
	table.WriteString("<!-- classes -->\n| Outcome | Meaning | Status | Signal to the lane |\n|---|---|---|---|\n")
	for _, row := range engine.Classes() {
		table.WriteString("| `" + string(row.Class) + "` | " + row.Text + " | `" + string(row.Status) + "` | `" + string(row.Signal) + "` |\n")
	}
	table.WriteString("<!-- /classes -->")
	const page = "../docs/reference/engine.md"
	have := goldentest.Read(t, page)
	block := regexp.MustCompile(`(?s)<!-- classes -->.*<!-- /classes -->`)
	require.True(t, block.MatchString(have))
	goldentest.Check(t, page, block.ReplaceAllLiteralString(have, table.String()))
}
