package truth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// topicCounts is the number of topics per area of the list. PAT-08 and PAT-09 are not assigned.
var topicCounts = map[string]int{
	"DIS": 43, "AUT": 14, "USR": 66, "GRP": 34, "FIL": 56, "PAG": 18, "CUR": 11, "SRT": 13, "ATT": 18, "PAT": 80, "BLK": 28, "ETG": 15,
	"ERR": 13,
	"MED": 12, "ME": 7, "SEA": 12, "CHR": 16, "ENT": 24, "OKT": 17, "OTH": 6,
}

// Every topic that other SCIM test suites are known to cover has a check or a step of a client flow, or a reason why it has none. Every
// name in the list is a check or step of this suite.
func TestTopics_CoveredOrJustified(t *testing.T) {
	var ours []string
	for _, c := range checks.All() {
		ours = append(ours, c.ID)
	}
	for _, p := range profiles.All() {
		for _, c := range p.Checks() {
			ours = append(ours, c.ID)
		}
	}
	data, err := os.ReadFile(filepath.Join("testdata", "topics.txt"))
	require.NoError(t, err)
	topic := regexp.MustCompile(`^([A-Z]+)-(\d\d)$`)
	seen := map[string]bool{}
	without := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		names, reason, excused := strings.Cut(strings.TrimSpace(line), " ~ ")
		fields := strings.Fields(names)
		match := topic.FindStringSubmatch(fields[0])
		require.NotNil(t, match, line)
		number, err := strconv.Atoi(match[2])
		require.NoError(t, err)
		require.LessOrEqual(t, number, topicCounts[match[1]], "%s: the area has fewer topics", fields[0])
		require.False(t, seen[fields[0]], "%s occurs twice", fields[0])
		seen[fields[0]] = true
		require.Equal(t, excused, len(fields) == 1, "%s needs either checks or a reason", fields[0])
		if excused {
			require.NotEmpty(t, reason)
			without++
		}
		for _, name := range fields[1:] {
			require.True(t, slices.Contains(ours, name), "%s names %s, which is not a check", fields[0], name)
		}
	}
	for area, count := range topicCounts {
		for n := 1; n <= count; n++ {
			id := fmt.Sprintf("%s-%02d", area, n)
			require.True(t, seen[id] || id == "PAT-08" || id == "PAT-09", "%s is missing", id)
		}
	}
	require.Less(t, without, 25, "too many topics without a check")
	t.Logf("%d topics, %d of them without a check", len(seen), without)
}

// permitted maps permitted behavior that other test suites have wrongly reported as a fault to the variants with this behavior. Behavior
// without a variant is that of the reference server itself, or is not visible to clients.
var permitted = map[string][]string{
	"PATCH returns 204 or 200": {"patch-204", "patch-200"},
	"a second group with the same displayName is rejected (or accepted)":         {"group-name-unique"},
	"/Me returns a status other than 501 (or 501)":                               {"me-is-there", "me-redirects", "me-not-implemented"},
	"Content-Location is absent (or present)":                                    {"no-content-location", "content-location"},
	"an unknown member is rejected, or accepted in some way":                     {"unknown-members-refused", "unknown-members-dropped"},
	"400 for a missing value has no scimType":                                    {"no-scim-type"},
	"ETag is absent where it is not advertised":                                  {"no-etag"},
	"meta.created is missing":                                                    {"no-timestamps"},
	"status in an error is a string":                                             nil,
	"scimType is invalidSyntax for a missing displayName":                        {"invalid-syntax"},
	"schemas is in any order":                                                    {"schemas-reversed"},
	"members and groups are returned only on request":                            {"members-on-request", "groups-on-request"},
	"filter values without quotes are rejected":                                  nil,
	"/Schemas lists the schemas of discovery":                                    {"config-schemas-listed"},
	"discovery requires credentials (or not)":                                    {"open-discovery"},
	"DELETE hides the resource without deleting it, which clients cannot detect": nil,
	"Resources is absent in an empty list":                                       {"resources-absent"},
	"responses have the Content-Type application/json":                           {"plain-json"},
	"PUT sets absent attributes to a default":                                    {"put-defaults"},
	"dateTimes have no time zone":                                                {"times-without-zone"},
}

// TestVariants_CoverKnownFalsePositives checks that a variant exists for each permitted behavior that other test suites have reported as a
// fault. TestSuite_KillMatrix runs the suite on the variants.
func TestVariants_CoverKnownFalsePositives(t *testing.T) {
	var variants []string
	for _, v := range mutants.Variants() {
		variants = append(variants, v.ID)
	}
	require.Len(t, permitted, 20)
	for what, ids := range permitted {
		for _, id := range ids {
			require.Contains(t, variants, id, what)
		}
	}
}
