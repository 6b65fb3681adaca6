// Package fold defines when two attribute values that are not caseExact are equal: case, the width of letters and the composition of
// accents are ignored. Its equality is that of the profile UsernameCaseMapped of RFC 8265 (which replaced RFC 7613, to which RFC 7644
// section 5 refers), but it rejects no string. It does not fold names of attributes, which are ASCII.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Version increases whenever String or Exact returns a different result for any string, for example with newer Unicode tables. A caller
// that stores their results then computes them again.
const Version = 1

// String returns the same string for all equivalent strings, and only for those. Wide and narrow forms become the usual ones, letters
// become one of their simple case foldings, and accents are composed with their letter where Unicode has the composed form (NFC). ASCII is
// returned in lower case. A string that is already folded is returned unchanged.
func String(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	if isASCII(s[i:]) {
		return strings.ToLower(s)
	}
	// The capital dotted I has no single small letter: its small form is an i and a dot.
	s = strings.ReplaceAll(norm.NFC.String(width.Fold.String(s)), "\u0130", "i\u0307")
	// A letter may lack the composed form that its representative has, and the composed form may have another representative.
	for range 3 {
		s = norm.NFC.String(strings.Map(Rune, s))
	}
	return s
}

// Equal reports whether two strings are equivalent: String(s) == String(t). Equal avoids computing the two strings where possible.
func Equal(s, t string) bool {
	if isASCII(s) && isASCII(t) { // only for ASCII: in other strings, normalization may reorder marks before the case is folded
		return strings.EqualFold(s, t)
	}
	return s == t || String(s) == String(t)
}

// Exact returns the string by which caseExact strings are compared: case and width count, the composition of accents does not.
func Exact(s string) string { return norm.NFC.String(s) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Rune returns the representative of the rune's case orbit.
func Rune(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	switch {
	case least >= 'A' && least <= 'Z': // the Kelvin sign, the long s
		least += 'a' - 'A'
	case least == '\u0345': // a mark, which would combine with the letter before it
		least = 'Ι'
	}
	return least
}
