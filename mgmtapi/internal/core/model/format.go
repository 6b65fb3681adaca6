package model

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // embeds the time zone database, so that the accepted names do not depend on the machine

	"golang.org/x/text/language"
)

// Format restricts the values of a string attribute.
type Format string

// The formats.
const (
	FormatEmail     Format = "email"         // an email address (RFC 5322 section 3.2.3)
	FormatURI       Format = "uri"           // an absolute URL
	FormatDateTime  Format = "date-time"     // RFC 3339
	FormatCountry   Format = "country-code"  // ISO 3166-1 alpha-2
	FormatLanguages Format = "language-code" // a list of languages, as in Accept-Language (RFC 7231 section 5.3.5)
	FormatLocale    Format = "locale"        // such as en_US
	FormatTimezone  Format = "timezone"      // name of an IANA time zone
)

// Problem returns why a string is not of the format, "" if it is. A format that is not one of the constants accepts any string.
func (f Format) Problem(text string) string {
	if check := formats[f]; check != nil {
		return check(text)
	}
	return ""
}

var formats = map[Format]func(string) string{
	FormatEmail: checkEmail, FormatURI: checkURL, FormatDateTime: checkDateTime, FormatCountry: checkCountry,
	FormatLanguages: checkLanguages, FormatLocale: checkLocale, FormatTimezone: checkTimezone,
}

// addressPattern follows RFC 5322, section 3.2.3: a dot-atom on both sides of the @, with the internationalized characters that RFC 6532
// adds.
var addressPattern = regexp.MustCompile(`^` + dotAtom + `@` + dotAtom + `$`)

const (
	atext   = "[-A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010FFFF]+"
	dotAtom = atext + `(?:\.` + atext + `)*`
)

func checkEmail(text string) string {
	if !addressPattern.MatchString(text) {
		return "The value must be an email address"
	}
	return ""
}

func checkURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || !u.IsAbs() || u.Host == "" {
		return "The value must be an absolute URL"
	}
	return ""
}

func checkDateTime(text string) string {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return "The value must be an RFC 3339 timestamp"
	}
	return ""
}

// languagesPattern is Accept-Language of RFC 7231 section 5.3.5, with the language ranges of RFC 4647 section 2.1. It is large, and hardly
// ever used.
var languagesPattern = sync.OnceValue(func() *regexp.Regexp {
	const element = `(?:[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)(?:[ \t]*;[ \t]*[qQ]=(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?`
	return regexp.MustCompile(`^` + element + `(?:[ \t]*,[ \t]*` + element + `)*$`)
})

var (
	countryPattern = regexp.MustCompile(`^[A-Z]{2}$`)
	localePattern  = regexp.MustCompile(`^[a-z]{2,3}_[A-Z]{2}$`)
)

func checkCountry(text string) string {
	if !isCountry(text) {
		return "The value must be an ISO 3166-1 alpha-2 country code"
	}
	return ""
}

func isCountry(text string) bool {
	region, err := language.ParseRegion(text)
	return err == nil && countryPattern.MatchString(text) && region.IsCountry()
}

func checkLanguages(text string) string {
	if tags, _, err := language.ParseAcceptLanguage(text); err != nil || len(tags) == 0 || !languagesPattern().MatchString(text) {
		return "The value must be a list of languages as in the header Accept-Language"
	}
	return ""
}

func checkLocale(text string) string {
	base, region, _ := strings.Cut(text, "_")
	if _, err := language.ParseBase(base); err != nil || !localePattern.MatchString(text) || !isCountry(region) {
		return "The value must be a language, an underscore and a country, such as en_US"
	}
	return ""
}

func checkTimezone(text string) string {
	if _, err := time.LoadLocation(text); err != nil || text == "Local" {
		return "The value must be the name of an IANA time zone"
	}
	return ""
}

// Shortened returns the first limit bytes of a string, followed by "…" if the string is longer.
func Shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
