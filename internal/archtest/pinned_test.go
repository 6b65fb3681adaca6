package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

var pinned = regexp.MustCompile(`^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)

// TestActionsAndImages_Pinned checks that actions are pinned by commit and images by digest, with the version in a comment or in the tag:
// other projects can change what they publish under a name. Stages of the Containerfile are known by their names.
func TestActionsAndImages_Pinned(t *testing.T) {
	lines := func(file string) []string {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		require.NoError(t, err)
		return strings.Split(string(text), "\n")
	}
	uses, from := 0, 0
	for _, line := range append(lines("action.yml"), lines(".github/workflows/release.yml")...) {
		if name, ok := strings.CutPrefix(strings.TrimLeft(line, " -"), "uses: "); ok {
			uses++
			require.Regexp(t, regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`), name)
		}
	}
	stages := map[string]bool{"scratch": true}
	for _, line := range lines("Containerfile") {
		image, ok := strings.CutPrefix(line, "FROM ")
		if !ok {
			continue
		}
		image, stage, _ := strings.Cut(image, " AS ")
		if !stages[image] {
			from++
			require.Regexp(t, pinned, image)
		}
		stages[stage] = true
	}
	for _, line := range lines("deploy/compose.yaml") {
		if image, ok := strings.CutPrefix(strings.TrimSpace(line), "image: "); ok && image != "scimwright-engine" {
			from++
			require.Regexp(t, pinned, image)
		}
	}
	require.Equal(t, []int{6, 4}, []int{uses, from})
}

// TestAction_IsYAML checks that the action can be loaded.
func TestAction_IsYAML(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	require.NoError(t, err)
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct{ Steps []map[string]any }
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	require.NotEmpty(t, action.Runs.Steps)
	for name, input := range action.Inputs {
		require.NotEmpty(t, input.Description, name)
	}
}

// TestMakefile_HardensBinary checks that the binary that contains C code is built with hardening. `make hardened` checks the result.
func TestMakefile_HardensBinary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	for _, want := range []string{"-buildmode=pie", "-Wl,-z,relro,-z,now", "go build $(HARDENED) -o bin/scimwright ",
		"$(MAKE) --no-print-directory hardened"} {
		require.Contains(t, string(text), want)
	}
}
