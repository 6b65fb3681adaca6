package uuid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/uuid"
)

func TestNew_NumberAndVersion(t *testing.T) {
	require.Regexp(t, `^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, uuid.New(7, 0x0123456789ab))
	require.Regexp(t, `^ffffffff-ffff-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, uuid.New(8, 1<<uuid.NumberBits-1))
	require.NotEqual(t, uuid.New(8, 1), uuid.New(8, 1), "74 bits are random")
	require.Len(t, uuid.New(7, 0), uuid.Length)
}
