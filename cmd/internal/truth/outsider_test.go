package truth_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance/checks"
)

// TestMutants_ServeUsers checks that every mutant has a unique id and description, belongs to an area of the checks, and responds to a
// list of users.
func TestMutants_ServeUsers(t *testing.T) {
	reference := newReferenceServer(t)
	areas := map[string]bool{}
	for _, c := range checks.All() {
		areas[areaOf(c.ID)] = true
	}
	ids, described := map[string]bool{}, map[string]string{}
	for _, m := range mutants.All() {
		require.Regexp(t, regexp.MustCompile(`^[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*$`), m.ID)
		require.True(t, areas[areaOf(m.ID)], "%s: no check has this area", m.ID)
		require.False(t, ids[m.ID], "%s occurs twice", m.ID)
		ids[m.ID] = true
		key := areaOf(m.ID) + ": " + m.Breaks
		require.Empty(t, described[key], "%s has the description of another mutant", m.ID)
		described[key] = m.ID
		r := httptest.NewRequest(http.MethodGet, "/scim/v2/Users", nil)
		r.Header.Set("Authorization", "Bearer "+referenceToken)
		w := httptest.NewRecorder()
		require.NotPanics(t, func() { m.Wrap(reference).ServeHTTP(w, r) }, m.ID)
		require.Contains(t, []int{200, 308, 400, 401, 403, 404, 500}, w.Code, m.ID)
	}
}
