package schema

import (
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // the valid time zones must not depend on the machine

	"golang.org/x/text/language"
	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// Syntax is the syntax that values of an attribute must have in addition to their type. Schema documents do not contain it; RFC 7643
// sections 4.1.1 and 4.1.2 define it for some attributes of the User.
type Syntax string

// The syntaxes of string values. The zero value allows every value.
const (
	// UserName is a string that satisfies the profile UsernameCaseMapped of RFC 8265, to which RFC 7644 section 5 refers.
	UserName Syntax = "userName"
	// URL is an absolute URL with a host.
	URL Syntax = "url"
	// LanguageRanges is the value of an Accept-Language header (RFC 9110 section 12.5.4).
	LanguageRanges Syntax = "languageRanges"
	// LanguageTag is one language tag (BCP 47), with hyphens or underscores.
	LanguageTag Syntax = "languageTag"
	// TimeZone is a name of the IANA time zone database.
	TimeZone Syntax = "timeZone"
	// Country is an ISO 3166-1 alpha-2 code.
	Country Syntax = "country"
	// Certificate is the base64 of exactly one X.509 certificate in DER.
	Certificate Syntax = "certificate"
)

// syntaxes contains the check and the error message of each syntax.
var syntaxes = map[Syntax]struct {
	valid func(string) bool
	must  string
}{
	UserName:       {isUserName, "must be a user name by RFC 8265: letters, digits and ASCII signs, without spaces"},
	URL:            {isURL, "must be an absolute URL, such as https://example.com/ann"},
	LanguageRanges: {areLanguageRanges, "must be languages as in Accept-Language, such as da, en-gb;q=0.8"},
	LanguageTag:    {isLanguageTag, "must be one language tag, such as en-US"},
	TimeZone:       {isTimeZone, "must be a time zone of the IANA database, such as America/Los_Angeles"},
	Country:        {isCountry, "must be an ISO 3166-1 alpha-2 code, such as US"},
	Certificate:    {isCertificate, "must be the base64 of one X.509 certificate in DER"},
}

// adoptSyntax copies the syntax from attributes of the same name and type.
func adoptSyntax(attributes, from []*Attribute) {
	for _, a := range attributes {
		if known := find(from, a.Name); known != nil && known.Type == a.Type {
			a.Syntax = known.Syntax
			adoptSyntax(a.SubAttributes, known.SubAttributes)
		}
	}
}

// userNames is precis.UsernameCaseMapped without the Bidi Rule. That profile applies the Bidi Rule to all strings that are not ASCII.
var userNames = precis.NewIdentifier(precis.FoldWidth, precis.LowerCase(), precis.Norm(norm.NFC))

func isUserName(s string) bool {
	if _, err := userNames.String(s); err != nil {
		return false
	}
	// The Bidi Rule applies only to strings with right-to-left letters (RFC 8265 section 3.3.2).
	return bidirule.DirectionString(s) == bidi.LeftToRight || bidirule.ValidString(s)
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && u.Host != ""
}

func areLanguageRanges(s string) bool {
	tags, _, err := language.ParseAcceptLanguage(s)
	return err == nil && len(tags) > 0
}

func isLanguageTag(s string) bool {
	_, err := language.Parse(s)
	return err == nil
}

func isTimeZone(s string) bool {
	if s == "" || s == "Local" {
		return false // special names of package time, not time zones
	}
	_, err := time.LoadLocation(s)
	return err == nil
}

func isCountry(s string) bool {
	region, err := language.ParseRegion(s)
	return err == nil && len(s) == 2 && region.IsCountry() && region.Canonicalize() == region && region.String() == strings.ToUpper(s)
}

func isCertificate(s string) bool {
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return false
	}
	_, err = x509.ParseCertificate(der) // rejects data after the first certificate
	return err == nil
}
