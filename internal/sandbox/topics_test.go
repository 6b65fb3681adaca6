package sandbox_test

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

	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// topicCounts is how many topics each area of the list has. The cells 8 and 9 of PAT have never been given out.
var topicCounts = map[string]int{
	"DIS": 43, "AUT": 14, "USR": 66, "GRP": 34, "FIL": 56, "PAG": 18, "CUR": 11, "SRT": 13, "ATT": 18, "PAT": 80, "BLK": 28, "ETG": 15, "ERR": 13,
	"MED": 12, "ME": 7, "SEA": 12, "CHR": 16, "ENT": 24, "OKT": 17, "OTH": 6,
}

// Every topic that testers of SCIM servers are known to look at has a check or a step of a conversation here, or a reason why
// not; and every name in the list is one of ours.
func TestEveryTopicHasACheckOrAReason(t *testing.T) {
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
		require.Equal(t, excused, len(fields) == 1, "%s has either checks or a reason", fields[0])
		if excused {
			require.NotEmpty(t, reason)
			without++
		}
		for _, name := range fields[1:] {
			require.True(t, slices.Contains(ours, name), "%s names %s, which is no check", fields[0], name)
		}
	}
	for area, count := range topicCounts {
		for n := 1; n <= count; n++ {
			id := fmt.Sprintf("%s-%02d", area, n)
			require.True(t, seen[id] || id == "PAT-08" || id == "PAT-09", "%s is missing", id)
		}
	}
	require.Less(t, without, 25, "reasons are the exception")
	t.Logf("%d topics, %d of them without a check", len(seen), without)
}
