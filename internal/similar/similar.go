// Package similar proposes a known name for an unknown one.
package similar

import (
	"fmt"
	"strings"
)

// Hint returns "; did you mean NAME?" with the known name that Name returns, or "".
func Hint(name string, known []string) string {
	if best := Name(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// Name returns the known name that differs in the fewest characters from an unknown one, ignoring case: the first one of several. It
// returns "" if each known name differs in more than a third of the characters plus one, or in more than three.
func Name(name string, known []string) string {
	best, distance := "", min(len(name)/3+2, 4)
	for _, k := range known {
		if n := edits(strings.ToLower(name), strings.ToLower(k)); k != "" && n < distance {
			best, distance = k, n
		}
	}
	return best
}

// edits returns the number of characters to insert, delete or replace between two names (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
