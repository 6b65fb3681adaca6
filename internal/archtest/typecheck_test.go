package archtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrograms_TypeCheckOnOtherPlatforms checks that the programs compile without cgo on platforms on which the tests do not run. It checks
// only types: a build of all packages for another platform takes minutes.
func TestPrograms_TypeCheckOnOtherPlatforms(t *testing.T) {
	for _, on := range []platform{{"windows", "amd64"}, {"darwin", "arm64"}} {
		t.Run(on.system, func(t *testing.T) {
			broken, err := typeErrors(filepath.Join("..", ".."), on, "./cmd/...")
			require.NoError(t, err)
			require.Empty(t, broken)
		})
	}
}

func TestTypeErrors_FindsMissingFunction(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+Module+"/example\n\ngo 1.24\n"), 0o600))
	source := "package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.Getpgrp() }\n"
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "cmd"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cmd", "main.go"), []byte(source), 0o600))
	broken, err := typeErrors(dir, platform{"linux", "amd64"}, "./cmd")
	require.NoError(t, err)
	require.Empty(t, broken)
	broken, err = typeErrors(dir, platform{"windows", "amd64"}, "./cmd")
	require.NoError(t, err)
	require.Len(t, broken, 1)
	require.Contains(t, broken[0], "undefined: syscall.Getpgrp")
}
