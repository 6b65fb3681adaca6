package conform

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/counted"
)

// forecast returns a text with the estimated duration of a run. If the time limit or the request limit is too small for all checks, the
// text also names the checks that will probably run. The text is empty if no rate limit applies and the limits are sufficient.
func forecast(p *conformance.Plan, rate float64, timeout time.Duration) string {
	complete, incomplete := p.Within()
	if rate <= 0 && !p.Throttled && len(incomplete) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "About %s requests", thousands(rounded(p.Requests)))
	if p.Interval > 0 {
		fmt.Fprintf(&b, ", about %s at %s a second", roughly(p.Duration()), perSecond(p.Interval))
	}
	if p.Throttled {
		b.WriteString("; the target limits the rate of requests")
	}
	b.WriteString(".\n")
	if len(incomplete) == 0 {
		return b.String()
	}
	limit := fmt.Sprintf("the time limit of %s (--timeout)", timeout)
	advice := "--timeout " + enough(p, timeout).String()
	if p.Duration() <= p.Limit {
		limit = fmt.Sprintf("the budget of %s (--max-requests)", counted.Of(p.MaxRequests, "request"))
		advice = "--max-requests " + strconv.Itoa(p.Requests)
	}
	fmt.Fprintf(&b, "This exceeds %s. Probably\n  tested:     %s\n  not tested: %s\n%s suffices for all checks.\n", limit,
		phases(complete, incomplete), phases(incomplete, complete), advice)
	return b.String()
}

// phases returns the names of the phases of checks, such as "connection, lookup, 12 of 620 checks of must". The name of a phase is preceded
// by numbers if others also contains checks of the phase.
func phases(checks, others []conformance.PlannedCheck) string {
	count := func(list []conformance.PlannedCheck, phase string) (n int) {
		for _, c := range list {
			if c.Phase == phase {
				n++
			}
		}
		return n
	}
	var parts []string
	last := "-"
	for _, c := range checks {
		if c.Phase == last {
			continue
		}
		last = c.Phase
		n, rest := count(checks, last), count(others, last)
		name := last
		if name == "" {
			name = "other checks"
		}
		if rest > 0 {
			name = fmt.Sprintf("%d of %d checks of %s", n, n+rest, name)
		}
		if !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// enough returns a timeout in whole minutes that is at least a tenth longer than the estimated duration.
func enough(p *conformance.Plan, timeout time.Duration) time.Duration {
	need := p.Duration()*11/10 + timeout - p.Limit
	return need.Truncate(time.Minute) + time.Minute
}

// perSecond returns the number of requests per second for an interval: "5 requests", "0.2 requests".
func perSecond(interval time.Duration) string {
	rate := float64(time.Second) / float64(interval)
	if rate >= 1 {
		return counted.Of(int(math.Round(rate)), "request")
	}
	return strconv.FormatFloat(rate, 'g', 2, 64) + " requests"
}

// rounded rounds a number with more than two digits to two significant digits: 2,683 to 2,700.
func rounded(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// thousands returns a number with commas: 2,700.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// roughly returns a duration in seconds, minutes or hours: "40 s", "9 min", "1.5 h".
func roughly(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second)/time.Second)))
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	}
	return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
}
