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

// String returns the same string for all equivalent strings, and only for those. Wide and narrow forms become the usual ones, letters that
// differ only in case become one letter (simple case folding), and accents are composed with their letter where Unicode has the composed
// form (NFC). ASCII is returned in lower case. A string that is already folded is returned unchanged.
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
	// The lowercase form of the capital I with a dot consists of two characters: an i and a combining dot.
	s = strings.ReplaceAll(norm.NFC.String(width.Fold.String(s)), "\u0130", "i\u0307")
	// Composition can create a letter that must be folded again, and folding can create letters that can be composed. After three passes the
	// result does not change further (TestFold_Idempotent).
	for range 3 {
		s = norm.NFC.String(strings.Map(Rune, s))
	}
	return s
}

// Equal reports whether two strings are equivalent: String(s) == String(t). Equal avoids computing the two strings where possible.
func Equal(s, t string) bool {
	if isASCII(s) && isASCII(t) { // other strings must be normalized before their case is folded
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

// Rune returns the same rune for all runes that are equal under simple case folding (see unicode.SimpleFold).
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
	case least >= 'A' && least <= 'Z': // an ASCII letter, which is also the representative of the Kelvin sign or the long s
		least += 'a' - 'A'
	// A combining mark; the representative is the Greek capital iota, because the mark would combine with the letter before it.
	case least == '\u0345':
		least = 'Ι'
	}
	return least
}
