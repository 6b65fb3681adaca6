package scimstore

import (
	"testing"

	"github.com/scimwright/scimwright/internal/storedtest"
)

// TestStoredForms covers the documents of resources and of memberships.
func TestStoredForms(t *testing.T) {
	codec := storedtest.Of[document]()
	codec.Marshal = func(value any) ([]byte, error) { return value.(*document).AppendJSON(nil), nil }
	storedtest.Check(t, map[string]storedtest.Codec{"document": codec, "membership": storedtest.Of[membership]()})
}
