package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/storedtest"
)

// TestStoredForms covers the collections of the sandbox itself.
func TestStoredForms(t *testing.T) {
	codecs := map[string]storedtest.Codec{
		"sandbox_settings": storedtest.Of[settings](), "sandbox_tenants": storedtest.Of[storedTenant](),
		"sandbox_clock": storedtest.Of[storedClock](), "sandbox_tenant_changes": storedtest.Of[changeCount](),
		"scim_settings": storedtest.Of[scimSettings](),
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := regexp.MustCompile(`docstore\.NewCollection(?:\[\w+\])?\("(\w+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				require.Contains(t, codecs, m[1], file)
			}
		}
	}
	storedtest.Check(t, codecs)
}
