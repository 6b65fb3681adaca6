package scimserver

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

// TestDecodedSize_IsUpperBound compares the bound with the memory that remains in use after decoding, for the shapes with the most memory
// per byte.
func TestDecodedSize_IsUpperBound(t *testing.T) {
	for name, text := range map[string]string{
		"numbers":       `{"a":[` + strings.Repeat("1,", 200_000) + `1]}`,
		"empty objects": `{"a":[` + strings.Repeat("{},", 200_000) + `1]}`,
		"empty arrays":  `{"a":[` + strings.Repeat("[],", 200_000) + `1]}`,
		"small objects": `{"a":[` + strings.Repeat(`{"a":1},`, 100_000) + `1]}`,
		"nested":        `{"a":[` + strings.Repeat(`[[[[{"a":{}}]]]],`, 50_000) + `1]}`,
		"strings":       `{"a":[` + strings.Repeat(`"",`, 200_000) + `1]}`,
		"escapes":       `{"a":[` + strings.Repeat(`"\u0041\u00e9",`, 50_000) + `1]}`,
		"text":          `{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(text)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o, err := scim.Decode(body)
			require.NoError(t, err)
			runtime.GC()
			runtime.ReadMemStats(&after)
			used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			t.Logf("used %d of %d", used, decodedSize(body))
			const rounding = 64 << 10 // of the allocator, and memory of other goroutines
			require.LessOrEqual(t, used, decodedSize(body)+rounding)
			runtime.KeepAlive(o)
		})
	}
}
