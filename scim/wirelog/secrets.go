package wirelog

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// minSecret is the minimum length of a value that a Redactor replaces everywhere.
const minSecret = 6

// credentialWords matches the words that precede a credential: a scheme of an Authorization header, or the name of a member, parameter or
// header.
const credentialWords = `(?i:bearer|basic|digest|ssws|authorization|token|password|passwd|pwd|secret|key|credentials?)["']?\s*[:=]?\s*["']?`

// Redactor replaces known secrets in text from the remote side. Targets repeat tokens and passwords in error details, in pages and in
// redirects. The zero value replaces nothing. Several goroutines may use a Redactor concurrently.
type Redactor struct {
	forms    []string // the spellings of the secrets, longest first
	replacer *strings.Replacer
	short    *regexp.Regexp // matches a short secret after a credential word; nil if no secret is short
	words    *regexp.Regexp // matches a secret that may be a word of the language; nil if no secret is one
}

// NewRedactor returns a Redactor for the secrets, in plaintext and in Base64, each in the spellings of plain text, JSON, URLs and HTML.
// Values shorter than 6 bytes are replaced only after a word that introduces a credential, such as "Bearer" or "password=", because
// elsewhere they may be parts of other words. Values of up to 11 lower-case letters, such as "secret", are replaced there, and where they
// are not part of a longer word or name.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	var short, words []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		for _, value := range []string{
			s, base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
			base64.RawStdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			switch {
			case len(value) < minSecret:
				short = append(short, spellings(value)...)
			case isWord(value):
				short = append(short, value)
				words = append(words, value)
			default:
				r.forms = append(r.forms, spellings(value)...)
			}
		}
	}
	r.forms, short = longestFirst(r.forms), longestFirst(short)
	if len(short) > 0 {
		for i := range short {
			short[i] = regexp.QuoteMeta(short[i])
		}
		r.short = regexp.MustCompile(`(` + credentialWords + `)(?:` + strings.Join(short, "|") + `)([^\pL\pN_]|$)`)
	}
	if len(words) > 0 {
		r.words = regexp.MustCompile(`(^|%[0-9A-Fa-f]{2}|[^\pL\pN_.@-])(?:` + strings.Join(words, "|") + `)([^\pL\pN_@-]|$)`)
	}
	pairs := make([]string, 0, 2*len(r.forms))
	for _, form := range r.forms {
		pairs = append(pairs, form, Redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// wordLength is the maximum length of a secret that may be a word of the language.
const wordLength = 11

// isWord reports whether a secret may be a word of the language, which other texts contain too.
func isWord(value string) bool {
	return len(value) <= wordLength && !strings.ContainsFunc(value, func(r rune) bool { return r < 'a' || r > 'z' })
}

// longestFirst sorts forms by decreasing length, so that a form is not replaced inside a longer one.
func longestFirst(forms []string) []string {
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(-cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(forms)
}

// spellings returns the forms in which a value is written in text, JSON, URLs and HTML.
func spellings(value string) []string {
	quoted := jsonString(value, false)
	query := url.QueryEscape(value)
	return []string{
		value, quoted, jsonString(value, true), strings.ReplaceAll(quoted, "/", `\/`),
		query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(value), html.EscapeString(value),
	}
}

// jsonString returns the value as JSON string without the quotes.
func jsonString(value string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	_ = e.Encode(value) // cannot fail for a string
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// Text returns s with each secret replaced by [Redacted].
func (r *Redactor) Text(s string) string {
	if r.replacer == nil {
		return s
	}
	s = r.replacer.Replace(s)
	if r.short != nil {
		s = r.short.ReplaceAllString(s, "${1}"+Redacted+"${2}")
	}
	if r.words != nil {
		// Twice, because a match includes the character after the secret, which may precede the next one.
		for range 2 {
			s = r.words.ReplaceAllString(s, "${1}"+Redacted+"${2}")
		}
	}
	return s
}

// truncatedText does the same as Text, for input that may be truncated: it also replaces the start of a secret at the end of s.
func (r *Redactor) truncatedText(s string) string {
	s = r.Text(s)
	longest := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, form[:n]) {
				longest = n
			}
		}
	}
	if longest < minSecret {
		return s // a shorter end of s may equal the start of a secret by chance
	}
	return s[:len(s)-longest] + Redacted
}
