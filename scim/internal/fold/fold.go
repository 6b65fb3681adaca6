// Package fold is the one notion of "without regard to letter case" for attribute values: simple Unicode case folding,
// the relation of strings.EqualFold. It does not fold names, which are ASCII, and it does not normalise: composed and
// decomposed letters stay different, since the standard library has no NFC.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// String returns the same string for all strings that are equal by strings.EqualFold, and only for those. ASCII comes out
// in lower case; text that is folded already comes back as it is.
func String(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return strings.Map(Rune, s)
		}
	}
	return s
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
	if least >= 'A' && least <= 'Z' { // the Kelvin sign, the long s
		least += 'a' - 'A'
	}
	return least
}
