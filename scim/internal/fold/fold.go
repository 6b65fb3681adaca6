// Package fold is the one notion of "the same text" for attribute values that are not caseExact: without regard to letter
// case, to the width of letters and to how accents are composed. It follows the profile UsernameCaseMapped of RFC 8265 (which
// replaced RFC 7613, to which RFC 7644 section 5 refers) in what makes two strings the same, and refuses nothing. It does not
// fold names of attributes, which are ASCII.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// Version grows whenever String or Exact returns something else for some text, be it for newer tables of Unicode. Who has stored
// what they return computes it anew then.
const Version = 1

// String returns the same string for all strings that are the same text, and only for those: wide and narrow forms become
// the usual ones, letters one of their simple case folding, accents part of their letter where Unicode has it (NFC). ASCII
// comes out in lower case; text that is folded already comes back as it is.
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
	// The capital dotted I has no small letter of its own: its small form is an i and a dot.
	s = strings.ReplaceAll(norm.NFC.String(width.Fold.String(s)), "\u0130", "i\u0307")
	// A letter may lack the composed form that its representative has, and the composed one has a representative of its own.
	for range 3 {
		s = norm.NFC.String(strings.Map(Rune, s))
	}
	return s
}

// Equal says whether two strings are the same text: String(s) == String(t), without making those where it can.
func Equal(s, t string) bool {
	if isASCII(s) && isASCII(t) { // only there, because marks may change places before letter case is folded
		return strings.EqualFold(s, t)
	}
	return s == t || String(s) == String(t)
}

// Exact is what caseExact strings are compared by: letter case and width count, but not how accents are composed.
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
