package requirements_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/requirements"
)

func TestAll_EntriesComplete(t *testing.T) {
	id := regexp.MustCompile(`^RFC\d{4}-[0-9A-Za-z.]+-\d{2}$`)
	seen := map[string]bool{}
	for _, r := range requirements.All() {
		require.Regexp(t, id, r.ID)
		require.False(t, seen[r.ID], "%s occurs twice", r.ID)
		seen[r.ID] = true
		require.Contains(t,
			[]requirements.Level{requirements.Must, requirements.MustNot, requirements.Should, requirements.ShouldNot, requirements.May}, r.Level,
			r.ID)
		require.Contains(t, []requirements.Role{requirements.Server, requirements.Client, requirements.Both}, r.Role, r.ID)
		require.Contains(t, []string{"keyword", "prose", "table", "abnf", "erratum", "http", "derived", "reading"}, r.Basis, r.ID)
		require.Contains(t, []string{"yes", "no", "conditional"}, r.Testable, r.ID)
		require.Equal(t, r.Testable == "conditional", len(r.Condition) > 0, "%s: only a conditional entry has conditions", r.ID)
		require.NotEmpty(t, r.Section, r.ID)
		require.NotEmpty(t, r.Area, r.ID)
		require.NotEmpty(t, r.Text, r.ID)
		require.NotEmpty(t, r.Probe, r.ID)
	}
}

// TestAll_NothingDropped checks the number of entries, which only increases: ids are added, never removed.
func TestAll_NothingDropped(t *testing.T) {
	counts := map[string]int{}
	for _, r := range requirements.All() {
		counts[r.ID[:7]]++
	}
	for document, floor := range map[string]int{"RFC7643": 206, "RFC7644": 409, "RFC9865": 41} {
		require.GreaterOrEqual(t, counts[document], floor, document)
	}
}

func TestLookup_FindsByID(t *testing.T) {
	r, ok := requirements.Lookup("RFC7644-3.5.2-28")
	require.True(t, ok)
	require.Equal(t, requirements.Must, r.Level)
	require.Equal(t, "RFC7644 3.5.2", r.Section)
	_, ok = requirements.Lookup("RFC7644-0-00")
	require.False(t, ok)
}

func TestAll_ReturnsCopy(t *testing.T) {
	all := requirements.All()
	slices.Reverse(all)
	require.NotEqual(t, all[0].ID, requirements.All()[0].ID)
}
