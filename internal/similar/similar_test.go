package similar_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/similar"
)

func TestName(t *testing.T) {
	known := []string{"", "warn", "public", "private", "filter.eq", "filter.ew", "Endpoint", "filter.enterprise-eq"}
	for name, want := range map[string]string{
		"wran": "warn", "pubic": "public", "WARN": "warn", "filter.eqq": "filter.eq", "endpont": "Endpoint", "privat": "private",
		"": "", "x": "", "verbose": "", "patch.value-path-eq": "",
	} {
		require.Equal(t, want, similar.Name(name, known), "%q", name)
	}
	require.Equal(t, `; did you mean "warn"?`, similar.Hint("wran", known))
	require.Empty(t, similar.Hint("verbose", known))
}
