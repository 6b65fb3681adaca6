package look

import (
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIndent_DeepBodyUnchanged(t *testing.T) {
	deep := strings.Repeat(`[`, 10000) + strings.Repeat(`]`, 10000)
	require.Equal(t, deep, Indent(deep), "indented it would be 200 MB")
	require.Equal(t, deep[:9000], Indent(deep[:9000]), "a truncated body is not indented")
	require.Equal(t, "{\n  \"a\": [\n    1\n  ]\n}", Indent(`{"a":[1]}`))
	long := `["` + strings.Repeat("a", maxLength) + `"]`
	require.Equal(t, long, Indent(long))
}

// Each tone has a sign, colors and a style.
func TestPill_Tones(t *testing.T) {
	for _, tone := range outcomes {
		require.NotEmpty(t, signs[tone], tone)
	}
	for tone := range signs {
		if tone != "quiet" {
			require.Regexp(t, `\.pill\.`+tone+`\b`, style, tone)
		}
	}
	require.Equal(t, NewPill("quiet", "never seen"), Outcome("never seen"))
}

// Text of a server never becomes markup.
func TestComponents_Escape(t *testing.T) {
	const evil = `</pre><img src=x onerror=alert(1)>`
	page, err := Define(template.New("page"))
	require.NoError(t, err)
	message := NewMessage(evil, map[string][]string{evil: {evil}}, evil)
	f := Finding{Tone: "bad", What: evil, Note: evil, Want: evil, Got: evil, Waived: evil, Exchange: &Exchange{message, message, evil, 0}}
	var out strings.Builder
	require.NoError(t, page.ExecuteTemplate(&out, "finding", f))
	require.NoError(t, page.ExecuteTemplate(&out, "pill", NewPill(evil, evil)))
	require.NotContains(t, out.String(), "<img")
	require.Equal(t, 16, strings.Count(out.String(), "&lt;img"), "each text is shown")
}

// The headings of an exchange follow those of the page that it is on.
func TestExchange_HeadingLevel(t *testing.T) {
	page, err := Define(template.New("page"))
	require.NoError(t, err)
	for level, heading := range map[int]string{0: "h4", 2: "h2", 3: "h3"} {
		var out strings.Builder
		require.NoError(t, page.ExecuteTemplate(&out, "exchange", Exchange{Level: level}))
		for _, text := range []string{"Request", "Response"} {
			require.Contains(t, out.String(), "<"+heading+">"+text+"</"+heading+">")
		}
	}
}
