package counted_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/counted"
)

func TestOf_SingularOnlyForOne(t *testing.T) {
	require.Equal(t, []string{"0 checks", "1 check", "2 checks"},
		[]string{counted.Of(0, "check"), counted.Of(1, "check"), counted.Of(2, "check")})
}
