package serving

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

const mapped = `00400000-01d6f000 r-xp 00000000 fe:00 10682706                   /opt/a program
Rss:               16200 kB
Anonymous:             0 kB
01d6f000-03bec000 r--p 0196f000 fe:00 10682706                   /opt/a program
Rss:               18736 kB
Anonymous:             0 kB
03bec000-03bef000 r--p 037ec000 fe:00 10682706                   /opt/a program
Anonymous:            12 kB
03bef000-03d2f000 rw-p 037ef000 fe:00 10682706                   /opt/a program
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 10682707                   /opt/a library
Anonymous:             0 kB
7f0000001000-7f0000002000 r--p 00000000 00:00 0
Anonymous:             0 kB
`

func TestUnwritten(t *testing.T) {
	want := []mapping{{0x400000, 0x1d6f000}, {0x1d6f000, 0x3bec000}}
	if diff := cmp.Diff(want, unwritten([]byte(mapped), "/opt/a program"), cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReturnProgram checks that the pages of the file leave the resident memory, and that the process continues to use them.
func TestReturnProgram(t *testing.T) {
	resident := func() int {
		text, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		_, rest, ok := strings.Cut(string(text), "RssFile:")
		require.True(t, ok)
		kib, err := strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(t, err)
		return kib
	}
	before := resident()
	returnProgram()
	require.Less(t, resident(), before)
}
