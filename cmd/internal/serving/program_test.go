package serving

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandOf(t *testing.T) {
	for _, c := range []struct{ path, inPath, want string }{
		{"/usr/bin/scimwright", "/usr/bin/scimwright", "scimwright"},
		{"/home/a/bin/scimwright", "", "/home/a/bin/scimwright"},
		{"/home/a/bin/scimwright", "/usr/bin/scimwright", "/home/a/bin/scimwright"},
		{"/tmp/go-build123/b001/exe/scimwright", "/usr/bin/scimwright", "go run ./cmd/scimwright"},
		{"/tmp/go-build123/b001/sandbox.test", "", "scimwright"},
		{"/home/my files/scimwright", "", "scimwright"},
	} {
		require.Equal(t, c.want, commandOf(c.path, c.inPath), c.path)
	}
}
