package hardwaretokens

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The database filters and sorts by every attribute, so that no row is read and then discarded.
//
// Proves B-tokens-06, B-tokens-10.
func TestListQuery_UsesIndexesOnly(t *testing.T) {
	for name, attribute := range attributes {
		expression := name + ` eq "x"`
		if attribute.Time {
			expression = name + ` gt "2026-01-01T00:00:00Z" and ` + name + ` lt "2026-02-01T00:00:00.500Z" or ` + name + ` eq "2026-01-01T00:00:00Z"`
		}
		r := listRequest{Filter: expression, SortBy: name}
		query, err := r.query()
		require.NoError(t, err, expression)
		require.NotNil(t, query.Where, expression)
		require.Nil(t, query.Match, expression)
		require.NotEmpty(t, query.OrderBy, name)
	}
}

// Proves B-tokens-08, B-tokens-09.
func TestPageSizes(t *testing.T) {
	for want, r := range map[int]listRequest{
		20: {}, 7: {Limit: 7}, 200: {Limit: 1000}, 1000: {ForDownload: true}, 8: {Limit: 8, ForDownload: true},
		201: {Limit: 201, ForDownload: true},
	} {
		require.Equal(t, want, r.size())
	}
}

func TestCells_FormulasEscaped(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "000000000001": "000000000001", "a=b@c": "a=b@c", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)",
		"\tx": "'\tx", "＝1": "'＝1",
	} {
		require.Equal(t, want, escapeFormula(cell))
	}
}
