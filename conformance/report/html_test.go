package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessage_DeepBodyNotIndented(t *testing.T) {
	deep := strings.Repeat(`[`, 10000) + strings.Repeat(`]`, 10000)
	require.Equal(t, "POST /Users\n\n"+deep, message("POST /Users", nil, deep), "indented it would be 200 MB")
	require.Equal(t, "POST /Users\n\n"+deep[:9000], message("POST /Users", nil, deep[:9000]), "a truncated body is not indented")
	require.Equal(t, "POST /Users\n\n{\n  \"a\": [\n    1\n  ]\n}", message("POST /Users", nil, `{"a":[1]}`))
}
