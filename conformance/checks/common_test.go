package checks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

// TestFirstNotStored_Order checks that the reason of a skipped check is the same in every run.
func TestFirstNotStored_Order(t *testing.T) {
	o, err := scim.Decode([]byte(`{"name":{}}`))
	require.NoError(t, err)
	sent := doc{"name": doc{"middleName": "King", "givenName": "Ada", "familyName": "Byron"}, "title": "Countess"}
	for range 50 {
		require.Equal(t, "name.familyName", firstNotStored(sent, o))
	}
}

// TestFirstNotStored_SubAttribute checks that the reason of a skipped check names the sub-attribute that the target does not store.
func TestFirstNotStored_SubAttribute(t *testing.T) {
	sent := doc{"emails": []doc{{"value": "a@example.com", "type": "work", "display": "one"}, {"value": "b@example.com", "type": "home"}}}
	for stored, want := range map[string]string{
		`[{"value":"a@example.com","type":"work","display":"one"},{"value":"b@example.com","type":"home"}]`:           "",
		`[{"value":"a@example.com","type":"work"},{"value":"b@example.com","type":"home"}]`:                           "emails.display",
		`[{"value":"a@example.com","type":"work","display":"a@example.com"},{"value":"b@example.com","type":"home"}]`: "emails.display",
		`[{"value":"a@example.com","display":"one"},{"value":"b@example.com","type":"home"}]`:                         "emails.type",
		`[{"value":"b@example.com","type":"home"}]`:                                                                   "emails",
	} {
		o, err := scim.Decode([]byte(`{"emails":` + stored + `}`))
		require.NoError(t, err)
		require.Equal(t, want, firstNotStored(sent, o), stored)
	}
}

func TestQueryText_JoinsParameters(t *testing.T) {
	require.Equal(t, "sortBy=name.familyName&attributes=userName", queryText([]string{"sortBy", "name.familyName", "attributes", "userName"}))
	require.Empty(t, queryText(nil))
}

// TestSources_RangeByName checks that no loop over a map in the suite sets the order of requests or findings: two runs would differ.
func TestSources_RangeByName(t *testing.T) {
	loop := regexp.MustCompile(`for [^\n]*:= range map\[[^\n]*\{\n`)
	for _, dir := range []string{".", "..", "../lint", "../observed", "../profiles"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range loop.FindAllString(string(source), -1) {
				// Permitted is a loop over one entry of a map of maps: the order has no effect there.
				require.Contains(t, found, "}[", "%s: use byName or a slice", file)
			}
		}
	}
}
