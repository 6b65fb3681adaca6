package engine

import (
	"fmt"
	"slices"
)

// checkTarget rejects words that are none of those that are offered: a sequence would read them as the default, which may allow more.
func checkTarget(t Target) error {
	for _, field := range []struct {
		name  string
		known bool
		value any
	}{
		{"Style", slices.Contains([]Style{"", Catalog, Wizard, Auto}, t.Style), t.Style},
		{"Fallback", slices.Contains([]Fallback{"", FallbackLearn, FallbackNone}, t.Fallback), t.Fallback},
		{"OnMissing", slices.Contains([]Missing{"", Recreate, Fail}, t.OnMissing), t.OnMissing},
		{"OnExisting", slices.Contains(existing, t.OnExisting), t.OnExisting},
		{"OnRecycled", slices.Contains(existing, t.OnRecycled), t.OnRecycled},
	} {
		if !field.known {
			return fmt.Errorf("there is no %s %q", field.name, field.value)
		}
	}
	return nil
}

var existing = []Existing{"", LinkAuto, LinkAsk, LinkNever}
