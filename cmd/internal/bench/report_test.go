package bench

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/goldentest"
)

// sample is a report with all kinds of results.
func sample() *Report {
	return &Report{
		Marker: "scimwright-bench-2c7xq4mh", Users: 10_000, Members: 1000, Clients: 8, Duration: 5,
		Targets: []TargetSummary{
			{Name: "A", URL: "http://127.0.0.1:8080/scim/v2", PID: 4711, Resident: 61_400_000, Peak: 80_900_000,
				Cleanup: Cleanup{Created: 10_009, Removed: 10_009}},
			{Name: "B", URL: "https://scim.example.com/v2", Cleanup: Cleanup{Created: 9_990, Removed: 9_988, NotFound: 3, Remaining: []Left{
				{Path: "/Users/1", Name: "scimwright-bench-2c7xq4mh-b-0000001@example.com", Reason: "DELETE: 405 Method Not Allowed"},
				{Name: "scimwright-bench-2c7xq4mh-b-0000002@example.com", Reason: "the create returned no id, and the search by name failed: " +
					"400 Bad Request: filters are not supported by this server"},
			}}},
		},
		Rows: []Row{
			{ID: "create", Title: "POST a user", Ratio: 0.41, Pairs: 50, Results: []Result{
				{Target: "A", Requests: 10_000, PerSecond: 3363.2, P50: 2.131, P99: 16.04, CPU: 0.284},
				{Target: "B", Requests: 10_000, Errors: 10, PerSecond: 8176.4, P50: 0.931, P99: 6.51,
					FirstError: "429 Too Many Requests: the limit of this tenant is 500 requests per minute and address"},
			}},
			{ID: "lastPage", Title: "last page of 100 by startIndex", Ratio: 12.5, Pairs: 10, Results: []Result{
				{Target: "A", Requests: 5_000, PerSecond: 1_204_000, P50: 0.5, P99: 1234.4, CPU: 12.34},
				{Target: "B", Requests: 40, PerSecond: 8.25, P50: 970, P99: 10_700, Note: "stopped early: interrupted"},
			}},
			{ID: "group", Title: "GET a group of 1,000", Results: []Result{
				{Target: "A", Requests: 500, PerSecond: 99.96, P50: 18.3, P99: 44.4, CPU: 18.2},
				{Target: "B", NotMeasured: "the response has 0 of 1,000 members"},
			}},
			{ID: "members", Title: "add, remove 1 of its members", Results: []Result{
				{Target: "A", NotMeasured: "PATCH with the operation add: 400 Bad Request: a PATCH must not have more than one operation per " +
					"request on this server"},
				{Target: "B", NotMeasured: "a GET of the group does not show the member that a PATCH has added"},
			}},
		},
	}
}

func TestReport_Text(t *testing.T) {
	text := sample().Text()
	goldentest.Check(t, filepath.Join("testdata", "report.txt"), text)
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width, line)
	}
}

func TestReport_JSON(t *testing.T) {
	var out strings.Builder
	require.NoError(t, sample().WriteJSON(&out))
	goldentest.Check(t, filepath.Join("testdata", "report.json"), out.String())
}

// TestReport_OneTarget checks that the columns for processor time and ratio appear only if they have numbers.
func TestReport_OneTarget(t *testing.T) {
	r := sample()
	r.Targets[0].PID = 0
	r.Targets = r.Targets[:1]
	for i := range r.Rows {
		r.Rows[i].Results = r.Rows[i].Results[:1]
	}
	text := r.Text()
	require.NotContains(t, text, "A/B")
	require.NotContains(t, text, "CPU")
	require.NotContains(t, text, "resident")
	require.NoError(t, r.Err())
}

func TestParagraph_Width(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé]{1,60}`)).Draw(t, "words")
		indent := rapid.IntRange(0, 35).Draw(t, "indent")
		var b strings.Builder
		paragraph(&b, "A", indent, strings.Join(words, " "))
		require.Equal(t, append([]string{"A"}, words...), fieldsAfter(b.String(), indent))
		for line := range strings.Lines(b.String()) {
			require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width)
		}
	})
}

// fieldsAfter returns the words of a paragraph, the first of which is its label. The label has one letter.
func fieldsAfter(text string, indent int) []string {
	if indent < 2 { // no space between the label and the first word
		text = text[:1] + " " + text[1:]
	}
	return strings.Fields(text)
}

func TestPercentile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 50).Draw(t, "value"))
		}), 1, 300).Draw(t, "values")
		slices.Sort(values)
		p := rapid.IntRange(1, 100).Draw(t, "p")
		got := percentile(values, p)
		notMore, less := 0, 0
		for _, v := range values {
			if v <= got {
				notMore++
			}
			if v < got {
				less++
			}
		}
		require.GreaterOrEqual(t, notMore*100, p*len(values))
		require.Less(t, less*100, p*len(values))
	})
}

func TestMedian(t *testing.T) {
	require.InDelta(t, 2, median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 2, 3}), 0)
	require.InDelta(t, 7, median([]float64{7}), 0)
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 250 130 5 6 20 0 9 0 77 88")
	require.NoError(t, err)
	require.Equal(t, 3800*time.Millisecond, got)
	for _, invalid := range []string{"", "42 (x) S 1", "42 (x) S 1 42 42 0 -1 4194560 1 2 3 4 x 130 5"} {
		_, err := parseStat(invalid)
		require.Error(t, err, invalid)
	}
	require.Equal(t, int64(2048<<10), statusBytes("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n", "VmHWM"))
	require.Zero(t, statusBytes("Name:\tx\n", "VmHWM"))
}

func TestWaitAfter(t *testing.T) {
	require.Equal(t, 3*time.Second, waitAfter(&statusError{after: "3"}, 1))
	require.Equal(t, maxRetryAfter, waitAfter(&statusError{after: "600"}, 1))
	require.Equal(t, 2*firstPause, waitAfter(&statusError{after: "soon"}, 2))
}

// TestPlan checks that the turns of a row have the configured total, and that there are ten at least for a row that is limited by requests.
func TestPlan(t *testing.T) {
	for users, want := range map[int]int{100: 10, 101: 11, 1000: 10, 10_000: 50} {
		turns := (&run{}).plan(row{requests: users})
		require.Len(t, turns, want)
		total := 0
		for _, turn := range turns {
			total += turn.requests
		}
		require.Equal(t, users, total)
	}
	for duration, want := range map[time.Duration]int{time.Millisecond: 1, 1200 * time.Millisecond: 2, 5 * time.Second: 10} {
		turns := (&run{options: Options{Duration: duration}}).plan(row{})
		require.Len(t, turns, want)
		require.Equal(t, duration, turns[0].duration*time.Duration(len(turns)))
	}
}
