package outbox_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/storedtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// TestStoredForms covers the encrypted parts of documents in the collection messages.
func TestStoredForms(t *testing.T) {
	storedtest.Check(t, map[string]storedtest.Codec{"message": storedtest.Of[outbox.Message]()})
}
