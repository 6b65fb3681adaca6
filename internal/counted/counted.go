// Package counted writes numbers of things as text.
package counted

import "fmt"

// Of returns a number and its noun: "1 check", "2 checks". The noun is in the singular, and its plural ends in s.
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
