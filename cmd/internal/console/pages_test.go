package console

import (
	"html/template"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPages_Parse parses the templates of all pages, which the console parses when it shows them.
func TestPages_Parse(t *testing.T) {
	c := &console{pages: map[string]func() (*template.Template, error){}}
	require.NoError(t, c.definePages())
	require.NotEmpty(t, c.pages)
	for name, page := range c.pages {
		_, err := page()
		require.NoError(t, err, name)
	}
}
