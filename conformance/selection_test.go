package conformance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

func TestSelection(t *testing.T) {
	checks := []conformance.Check{{ID: "a.one", Level: conformance.Must}, {ID: "a.two", Level: conformance.May},
		{ID: "b.one", Level: conformance.Should}}
	for name, c := range map[string]struct {
		selection conformance.Selection
		want      []string
	}{
		"the zero value selects all": {conformance.Selection{}, []string{"a.one", "a.two", "b.one"}},
		"an area":                    {conformance.Selection{Only: []string{"a"}}, []string{"a.one", "a.two"}},
		"an id and not its area":     {conformance.Selection{Only: []string{"a.two"}}, []string{"a.two"}},
		"Skip overrides Only":        {conformance.Selection{Only: []string{"a"}, Skip: []string{"a.one"}}, []string{"a.two"}},
		"a level and stronger ones":  {conformance.Selection{Level: conformance.Should}, []string{"a.one", "b.one"}},
		"the strongest level only":   {conformance.Selection{Level: conformance.Must}, []string{"a.one"}},
	} {
		t.Run(name, func(t *testing.T) {
			selected, err := c.selection.Apply(checks)
			require.NoError(t, err)
			var ids []string
			for _, s := range selected {
				ids = append(ids, s.ID)
			}
			require.Equal(t, c.want, ids)
		})
	}
	for name, s := range map[string]conformance.Selection{
		"an unknown name":    {Only: []string{"c"}},
		"an unknown level":   {Level: "severe"},
		"an empty selection": {Only: []string{"a.two"}, Level: conformance.Must},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Apply(checks)
			var usage *conformance.UsageError
			require.ErrorAs(t, err, &usage)
		})
	}
}

func TestSelection_ByLevelSectionAndClause(t *testing.T) {
	checks := []conformance.Check{
		{ID: "a.one", Level: conformance.Must, Requirements: []string{"RFC7644-3.5.2-28"}},
		{ID: "a.two", Level: conformance.Should, Requirements: []string{"RFC7644-3.5.2.1-01", "RFC7643-2.1-01"}},
		{ID: "b.three", Level: conformance.May, Requirements: []string{"RFC7644-3.50-01"}},
	}
	for name, tt := range map[string]struct {
		selection conformance.Selection
		want      []string
	}{
		"a section with its subsections":         {conformance.Selection{Only: []string{"RFC7644-3.5"}}, []string{"a.one", "a.two"}},
		"a section in lower case and words":      {conformance.Selection{Only: []string{"rfc7644 3.5.2.1"}}, []string{"a.two"}},
		"a document":                             {conformance.Selection{Only: []string{"RFC7643"}}, []string{"a.two"}},
		"a clause":                               {conformance.Selection{Only: []string{"RFC7644-3.5.2-28"}}, []string{"a.one"}},
		"a level":                                {conformance.Selection{Skip: []string{"should"}}, []string{"a.one", "b.three"}},
		"an area of requirements without checks": {conformance.Selection{Only: []string{"a"}, Skip: []string{"a.one"}}, []string{"a.two"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.selection.Apply(checks)
			require.NoError(t, err)
			var ids []string
			for _, c := range got {
				ids = append(ids, c.ID)
			}
			require.Empty(t, cmp.Diff(tt.want, ids))
		})
	}
	_, err := conformance.Selection{Only: []string{"RFC7644-3.5.2-2"}}.Apply(checks)
	require.ErrorAs(t, err, new(*conformance.UsageError), "a prefix of a number is not a clause")
}
