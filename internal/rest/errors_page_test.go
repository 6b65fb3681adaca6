package rest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

const errorsPage = "# Error codes of the management API\n\n" +
	"This page is for authors of clients of the management API and of the APIs of the engine. It lists the codes (`errorCode`) with the\n" +
	"status and the default `errorSummary` of the response. An error may have a more specific summary; `errorCauses` names the members of\n" +
	"the request that caused it. `go test ./internal/rest -update` generates this page. [errors.md](../reference/errors.md) describes the\n" +
	"errors of the SCIM server and the exit codes of the commands.\n\n" +
	"| Code | Status | Cause | Summary |\n" +
	"|---|---:|---|---|\n"

// TestErrors_PageGenerated compares docs/generated/errors.md with the constants of error.go and their comments.
func TestErrors_PageGenerated(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, parser.ParseComments)
	require.NoError(t, err)
	page := errorsPage
	listed := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || spec.Comment == nil {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || !strings.HasPrefix(literal.Value, `"E0000`) {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		known, ok := codes[Code(value)]
		require.True(t, ok, "%s has no status", value)
		page += fmt.Sprintf("| `%s` | %d | %s | %s |\n", value, known.status, strings.TrimSpace(spec.Comment.Text()), known.summary)
		listed++
		return true
	})
	require.Len(t, codes, listed)
	goldentest.Check(t, filepath.Join("..", "..", "docs", "generated", "errors.md"), page)
}
