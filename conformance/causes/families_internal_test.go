package causes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// TestMergeOperators checks that several operators that find nothing on one kind of attribute are one fault.
func TestMergeOperators(t *testing.T) {
	byID := map[string]*symptom{}
	var groups []*group
	for _, c := range []struct{ id, got string }{
		{"filter.reference-co", "[]"}, {"filter.reference-eq", `["ann"]`}, {"filter.reference-sw", "[]"}, {"filter.external-id-co", "[]"},
		{"filter.co", "[]"}, {"filter.eq", "[]"},
	} {
		f := conformance.Finding{Outcome: conformance.Fail, What: "users found", Want: `["hal"]`, Got: c.got,
			Exchange: &wirelog.Exchange{Method: "GET", URL: "https://x/Users?filter=a", Status: 200}}
		byID[c.id] = &symptom{check: conformance.Check{ID: c.id}, findings: []conformance.Finding{f},
			evidence: []evidence{evidenceOf(f, "https://x")}}
		groups = append(groups, &group{checks: []string{c.id}, exact: true})
	}
	var got [][]string
	for _, g := range mergeOperators(groups, byID) {
		got = append(got, g.checks)
	}
	require.Equal(t, [][]string{{"filter.reference-co", "filter.reference-sw"}, {"filter.reference-eq"}, {"filter.external-id-co"},
		{"filter.co"}, {"filter.eq"}}, got)
}
