package fold

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/secure/precis"
	"pgregory.net/rapid"
)

// TestFold_EqualStrings checks which pairs of strings are equal after folding.
func TestFold_EqualStrings(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		same       bool
	}{
		{"case", "Ann.Example", "aNN.eXAMPLE", true},
		{"case outside ASCII", "ÄÖÜ Ж Σ", "äöü ж ς", true},
		{"composed and decomposed accents", "é", "e\u0301", true},
		{"an accent that only the small letter is composed with", "J\u030C", "\u01F0", true},
		{"accents in another order", "a\u0323\u0307", "a\u0307\u0323", true},
		{"wide letters", "ＡＮＮ", "ann", true},
		{"narrow katakana", "ｱﾝ", "アン", true},
		{"the Kelvin sign", "\u212A", "k", true},
		{"the Ångström sign", "\u212B", "å", true},
		{"different letters", "é", "e", false},
		{"a sharp s is not ss", "ß", "ss", false},
		{"a superscript is not its digit", "²", "2", false},
		{"a ligature is not its letters", "ﬁ", "fi", false},
		{"white space counts", "a", "a ", false},
		{"the iota subscript moves after the accent before it becomes a letter", "\u0345\u0300", "\u0399\u0300", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.same, String(test.a) == String(test.b), "%q %q", String(test.a), String(test.b))
			require.Equal(t, test.same, Equal(test.a, test.b))
		})
	}
	require.Equal(t, "é", Exact("e\u0301"))
	require.NotEqual(t, Exact("É"), Exact("é"))
}

// texts generates strings that are difficult to fold: letters of all cases, symbols that become letters, combining marks.
var texts = rapid.StringOfN(rapid.OneOf(
	rapid.SampledFrom([]rune("aAeEjJkK\u212A\u212BsSſßẞσςΣıİiI\u0345\u03B9\u1FBE\u1E9B\u0307\u0323\u030C\u0301ＡａｱﾞがｶǅǆǄ\u0390\u1FD3각각")),
	rapid.RuneFrom(nil, unicode.Letter, unicode.Mark),
), 0, 6, -1)

// TestVersion_MatchesFolding checks that Version increases when the folding changes, because databases store folded strings.
func TestVersion_MatchesFolding(t *testing.T) {
	h := sha256.New()
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Symbol) || unicode.In(r, unicode.Hangul, unicode.Tangut) ||
			unicode.Is(unicode.Unified_Ideograph, r) {
			continue // most runes: case, width and accents do not apply to them
		}
		for _, s := range []string{string(r), string(r) + "\u0301"} {
			if folded, exact := String(s), Exact(s); folded != s || exact != s {
				fmt.Fprintf(h, "%q %q %q\n", s, folded, exact)
			}
		}
	}
	require.Equal(t, "1 b320e408b6e2ef0a", fmt.Sprintf("%d %x", Version, h.Sum(nil)[:8]),
		"folding has changed: increase Version and update this digest")
}

func TestFold_Idempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := String(texts.Draw(t, "s"))
		if twice := String(once); twice != once {
			t.Fatalf("%+q, then %+q", once, twice)
		}
	})
	for r := rune(0); r <= unicode.MaxRune; r++ {
		once := String(string(r))
		require.Equal(t, once, String(once), "%+q", r)
	}
}

func TestEqual_MatchesFolding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := texts.Draw(t, "a")
		b := rapid.OneOf(texts, rapid.Just(strings.ToUpper(a)), rapid.Just(strings.ToLower(a)), rapid.Just(Exact(a))).Draw(t, "b")
		if Equal(a, b) != (String(a) == String(b)) {
			t.Fatalf("%+q %+q", a, b)
		}
	})
}

// TestFold_MatchesPRECIS checks that user names that are equal by RFC 8265 are equal after folding.
func TestFold_MatchesPRECIS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "s")
		if name, err := precis.UsernameCaseMapped.String(s); err == nil && !Equal(s, name) {
			t.Fatalf("%+q is prepared to %+q", s, name)
		}
	})
}
