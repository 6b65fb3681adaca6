package archtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTree_FollowsRules(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	files, err := Scan(root)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, broken := range Check(files) {
		t.Error(broken)
	}
}

func TestCheck_FindsEachViolation(t *testing.T) {
	doc := "Package x is for tests."
	ours := func(p string) string { return Module + "/" + p }
	tests := []struct {
		name string
		file File
		want string
	}{
		{"the engine imports the management API",
			File{Package: "engine/internal/plan", Imports: []string{ours("mgmtapi/internal/core/model")}, Doc: doc},
			"engine/internal/plan/x.go imports mgmtapi/internal/core/model"},
		{"a check shares code with the server", File{Package: "conformance/checks", Imports: []string{ours("scim/filter")}, Doc: doc},
			"would hide a bug"},
		{"a check's test shares code with the server",
			File{Package: "conformance/checks", Imports: []string{ours("scimserver")}, Test: true, Doc: doc}, "imports scimserver"},
		{"one slice imports another",
			File{Package: "mgmtapi/internal/directory/users", Imports: []string{ours("mgmtapi/internal/directory/groups")}, Doc: doc}, "see Rooms"},
		{"the protocol package imports a library",
			File{Package: "scim/filter", Imports: []string{"github.com/stretchr/testify/require"}, Doc: doc},
			"standard library only"},
		{"the sandbox imports a package below the management API",
			File{Package: "cmd/internal/sandbox", Imports: []string{ours("mgmtapi/internal/core/model")}, Test: true, Doc: doc},
			"only what embedders import"},
		{"a driver outside its package", File{Package: "internal/docstore", Imports: []string{"github.com/mattn/go-sqlite3"}, Doc: doc},
			"drivers and cgo"},
		{"a package opens databases itself", File{Package: "scimserver/sqlstore", Imports: []string{ours("internal/sqldb/sqlopen")}, Doc: doc},
			"open databases"},
		{"testing in production code", File{Package: "internal/rest", Imports: []string{"testing"}, Doc: doc}, "names end in test"},
		{"a package without a rule", File{Package: "helpers", Doc: doc}, "has no rule"},
		{"a package without a package comment", File{Package: "engine"}, "no package comment"},
		{"an init function", File{Package: "engine", Inits: 1, Doc: doc}, "init function"},
		{"the environment read below main", File{Package: "engine", Getenv: []string{"os.Getenv"}, Doc: doc}, "environment"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.file.Name = "x.go"
			require.Contains(t, strings.Join(Check([]File{tt.file}), "\n"), tt.want)
		})
	}
}

func TestCheck_NoFalsePositives(t *testing.T) {
	doc := "Package x is for tests."
	for _, f := range []File{
		{Package: "engine/internal/plan", Imports: []string{Module + "/scim", Module + "/engine", "net/http"}, Doc: doc},
		{Package: "mgmtapi/internal/directory/users", Imports: []string{Module + "/internal/rest", Module + "/internal/docstore"}, Doc: doc},
		{Package: "cmd/internal/sandbox", Imports: []string{Module + "/engine", Module + "/scimserver", Module + "/internal/sqldb/sqlopen"},
			Doc: doc},
		{Package: "engine/enginetest", Imports: []string{"testing", Module + "/internal/sqldb/sqldbtest"}, Doc: doc},
	} {
		f.Name = "x.go"
		require.Empty(t, Check([]File{f}))
	}
}
