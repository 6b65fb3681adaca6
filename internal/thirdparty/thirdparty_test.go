package thirdparty_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/thirdparty"
)

var root = filepath.Join("..", "..")

// TestPage_Current compares THIRD_PARTY.md with go.mod and the module cache.
func TestPage_Current(t *testing.T) {
	contained, err := thirdparty.Contained(t.Context(), root, "./cmd/scimwright", "./cmd/scim-conformance")
	require.NoError(t, err)
	require.Greater(t, len(contained), 20)
	tests, err := thirdparty.OnlyTests(t.Context(), root, contained)
	require.NoError(t, err)
	require.NotEmpty(t, tests)
	for _, m := range contained {
		require.Subset(t, accepted, m.Licenses, "%s: a license that the programs have not had: read its terms", m.Path)
	}
	goldentest.Check(t, filepath.Join(root, "THIRD_PARTY.md"), thirdparty.Page(contained, tests))
}

// accepted are the licenses of modules in the programs. They require that a distribution contains their texts; MPL-2.0 also requires that
// the source of the module is available.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

func TestIdentify_UnknownText(t *testing.T) {
	_, err := thirdparty.Identify("All rights reserved. Do not copy.")
	require.ErrorContains(t, err, "the license is not known")
}
