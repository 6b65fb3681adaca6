package provision

import (
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// checkTarget rejects words that are none of those that are offered: a sequence would read them as the default, which may allow more.
func checkTarget(t engine.Target) error {
	for _, field := range []struct {
		name  string
		known bool
		value any
	}{
		{"Style", slices.Contains([]engine.Style{"", engine.Catalog, engine.Wizard, engine.Auto}, t.Style), t.Style},
		{"Fallback", slices.Contains([]engine.Fallback{"", engine.FallbackLearn, engine.FallbackNone}, t.Fallback), t.Fallback},
		{"OnMissing", slices.Contains([]engine.Missing{"", engine.Recreate, engine.Fail}, t.OnMissing), t.OnMissing},
		{"OnExisting", slices.Contains(existing, t.OnExisting), t.OnExisting},
		{"OnRecycled", slices.Contains(existing, t.OnRecycled), t.OnRecycled},
	} {
		if !field.known {
			return fmt.Errorf("there is no %s %q", field.name, field.value)
		}
	}
	return nil
}

var existing = []engine.Existing{"", engine.LinkAuto, engine.LinkAsk, engine.LinkNever}
