package serving

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const program = "scimwright"

// Program returns the start of a command line that runs this program again: its name if the shell finds it in PATH, "go run
// ./cmd/scimwright" if go run has built it, and otherwise its path.
func Program() string {
	path, err := os.Executable()
	if err != nil {
		return program
	}
	inPath, _ := exec.LookPath(program)
	return commandOf(path, inPath)
}

// commandOf returns the command for the program with the given path. inPath is what the shell runs under the name of the program, or "".
func commandOf(path, inPath string) string {
	switch dir, name := filepath.Split(path); {
	case strings.TrimSuffix(name, ".exe") != program, inPath == path:
		return program
	case strings.Contains(filepath.ToSlash(dir), "/go-build"):
		return "go run ./cmd/" + program
	}
	if inPath != "" {
		if real, err := filepath.EvalSymlinks(inPath); err == nil && real == path {
			return program
		}
	}
	if strings.ContainsAny(path, " '\"\\$") {
		return program // the path would need quotation marks, which differ from shell to shell
	}
	return path
}
