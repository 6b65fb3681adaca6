package webhooks

import (
	"testing"

	"github.com/scimwright/scimwright/engine"

	"github.com/scimwright/scimwright/internal/storedtest"
)

// TestStoredForms checks that testdata/stored has a form for each JSON column, and that this version decodes all forms.
func TestStoredForms(t *testing.T) {
	storedtest.Check(t, map[string]storedtest.Codec{
		"webhook_endpoint secrets": storedtest.Of[[]secret](), "webhook_endpoint types": storedtest.Of[[]engine.EventType](),
	})
}
