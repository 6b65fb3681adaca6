package users

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the names of time zones must not depend on the machine
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/text/language"

	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// Profile holds the attributes of a user, by name.
type Profile map[string]any

// attribute is an attribute of the default profile. All of them are strings.
type attribute struct {
	name     string
	title    string
	required bool
	shown    bool                // null instead of absent when it has no value
	min, max int                 // in characters; max 0 for no bound
	format   string              // OpenAPI format
	check    func(string) string // what is wrong with a value, "" for nothing
}

// Bounds of the attributes, in characters.
const (
	minAddress = 5
	maxAddress = 100
	maxName    = 50
	maxPhone   = 100
)

// attributes is the default profile schema.
var attributes = []attribute{
	{name: "login", title: "User name", required: true, shown: true, min: minAddress, max: maxAddress, check: checkLogin},
	{name: "firstName", title: "First name", required: true, shown: true, min: 1, max: maxName},
	{name: "lastName", title: "Last name", required: true, shown: true, min: 1, max: maxName},
	{name: "email", title: "Primary e-mail address", required: true, shown: true, min: minAddress, max: maxAddress, format: "email", check: checkEmail},
	{name: "secondEmail", title: "Secondary e-mail address", shown: true, min: minAddress, max: maxAddress, format: "email", check: checkEmail},
	{name: "mobilePhone", title: "Mobile phone", shown: true, max: maxPhone},
	{name: "middleName", title: "Middle name"},
	{name: "honorificPrefix", title: "Honorific prefix"},
	{name: "honorificSuffix", title: "Honorific suffix"},
	{name: "title", title: "Title"},
	{name: "displayName", title: "Display name"},
	{name: "nickName", title: "Nickname"},
	{name: "profileUrl", title: "URL of the profile", format: "uri", check: checkURL},
	{name: "primaryPhone", title: "Primary phone", max: maxPhone},
	{name: "streetAddress", title: "Street address"},
	{name: "city", title: "City"},
	{name: "state", title: "State"},
	{name: "zipCode", title: "Zip code"},
	{name: "countryCode", title: "ISO 3166-1 alpha-2 country code", check: checkCountry},
	{name: "postalAddress", title: "Postal address"},
	{name: "preferredLanguage", title: "Preferred languages, as in Accept-Language", check: checkLanguages},
	{name: "locale", title: "Locale, as en_US; en_US when absent", check: checkLocale},
	{name: "timezone", title: "IANA time zone", check: checkTimezone},
	{name: "userType", title: "User type"},
	{name: "employeeNumber", title: "Employee number"},
	{name: "costCenter", title: "Cost center"},
	{name: "organization", title: "Organization"},
	{name: "division", title: "Division"},
	{name: "department", title: "Department"},
	{name: "managerId", title: "Id of the manager"},
	{name: "manager", title: "Display name of the manager"},
}

// OpenAPISchema describes the default profile.
func (Profile) OpenAPISchema() *openapi3.Schema {
	schema := openapi3.NewObjectSchema()
	schema.Properties = openapi3.Schemas{}
	for _, a := range attributes {
		s := openapi3.NewStringSchema()
		s.Title, s.MinLength, s.Format, s.Nullable = a.title, uint64(a.min), a.format, !a.required
		if a.max > 0 {
			s.MaxLength = new(uint64(a.max))
		}
		schema.Properties[a.name] = s.NewRef()
	}
	schema.WithoutAdditionalProperties()
	return schema
}

// shownProfile is the stored profile with null for the attributes that are always shown.
func shownProfile(stored map[string]any) Profile {
	out := maps.Clone(Profile(stored))
	if out == nil {
		out = Profile{}
	}
	for _, a := range attributes {
		if _, ok := out[a.name]; !ok && a.shown {
			out[a.name] = nil
		}
	}
	return out
}

// merge returns the profile with the sent attributes: null and the empty string take an attribute away.
func merge(profile, sent map[string]any) map[string]any {
	out := maps.Clone(profile)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range sent {
		if value == nil || value == "" {
			delete(out, name)
		} else {
			out[name] = value
		}
	}
	return out
}

// checkProfile records what is wrong with a complete profile.
func checkProfile(profile map[string]any, causes *rest.Causes) {
	known := map[string]bool{}
	for _, a := range attributes {
		known[a.name] = true
		a.checkValue(profile[a.name], causes)
	}
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		if !known[name] {
			causes.Add(name, "The attribute is not defined in the profile of the user")
		}
	}
}

func (a attribute) checkValue(value any, causes *rest.Causes) {
	if value == nil {
		if a.required {
			causes.Blank(a.name)
		}
		return
	}
	text, ok := value.(string)
	if !ok {
		causes.Add(a.name, "The value must be a string")
		return
	}
	length := utf8.RuneCountInString(text)
	switch {
	case a.max > 0 && (length < a.min || length > a.max):
		causes.Add(a.name, "The field must have between %d and %d characters", a.min, a.max)
	case a.check != nil:
		if wrong := a.check(text); wrong != "" {
			causes.Add(a.name, "%s", wrong)
		}
	}
}

// addressPattern is RFC 5322, section 3.2.3: a dot-atom on both sides of the @, with internationalised characters as RFC 6532
// adds them.
var addressPattern = regexp.MustCompile(`^` + dotAtom + `@` + dotAtom + `$`)

const (
	atext   = "[-A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010FFFF]+"
	dotAtom = atext + `(?:\.` + atext + `)*`
)

func checkEmail(text string) string {
	if !addressPattern.MatchString(text) {
		return "The value must be an e-mail address"
	}
	return ""
}

func checkLogin(text string) string {
	if strings.Contains(text, "/") {
		return "The value must not contain a slash"
	}
	if !addressPattern.MatchString(text) {
		return "The value must look like an e-mail address"
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
	if tags, _, err := language.ParseAcceptLanguage(text); err != nil || len(tags) == 0 {
		return "The value must be a list of languages as in the header Accept-Language"
	}
	return ""
}

func checkLocale(text string) string {
	base, region, _ := strings.Cut(text, "_")
	if _, err := language.ParseBase(base); err != nil || !localePattern.MatchString(text) || !isCountry(region) {
		return "The value must be a language, an underscore and a country, as en_US"
	}
	return ""
}

func checkTimezone(text string) string {
	if _, err := time.LoadLocation(text); err != nil || text == "Local" {
		return "The value must be the name of an IANA time zone"
	}
	return ""
}
