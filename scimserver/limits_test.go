package scimserver_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scimserver"
)

// TestLimits_AreDocumented compares the fields with the page about limits.
func TestLimits_AreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/limits.md")
	require.NoError(t, err)
	for field := range reflect.TypeFor[scimserver.Limits]().Fields() {
		require.Contains(t, string(page), "`"+field.Name+"`")
	}
}
