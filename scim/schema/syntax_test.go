package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUserName_RFC8265(t *testing.T) {
	for name, ok := range map[string]bool{
		"ann":             true,
		"ann@example.com": true,
		".ä":              true, // valid, although it violates the Bidi Rule: the rule applies only to strings with right-to-left letters
		"Ä-ä.":            true,
		"אב":              true,
		"אב1":             true,
		"-אב":             false, // violates the Bidi Rule: a right-to-left string must start with a letter
		"אa":              false,
		"ann smith":       false,
		"²":               false,
	} {
		require.Equal(t, ok, isUserName(name), "%+q", name)
	}
}
