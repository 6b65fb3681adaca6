package factors

import (
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// phoneSyntax is the syntax of a phone number in requests. Without spaces and dashes, the number must match e164: a country code, which
// never starts with a zero, and the national number, at most 15 digits in total.
var (
	phoneSyntax = regexp.MustCompile(`^\+?[0-9 -]+$`)
	e164        = regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)
)

// parsePhone parses a phone number and returns it in E.164 format. It does not add a country code. It does not check that the number
// exists, because examples often use numbers that do not.
func parsePhone(text string) (string, error) {
	text = strings.TrimSpace(text)
	number := "+" + strings.NewReplacer("+", "", " ", "", "-", "").Replace(text)
	if !phoneSyntax.MatchString(text) || !e164.MatchString(number) {
		return "", rest.Fail(rest.CodePhone, "profile.phoneNumber: The number must have a country code and at most 15 digits (E.164); "+
			"a leading +, spaces and dashes are allowed")
	}
	return number, nil
}

// hasPhone reports whether a factor uses a phone number.
func hasPhone(f *model.Factor) bool { return f.Type == model.FactorSMS || f.Type == model.FactorCall }

// phone returns the number of the request, or by default a number of the user's factors, preferably a verified one.
func (a *act) phone() (string, error) {
	if a.profile.PhoneNumber != "" {
		return parsePhone(a.profile.PhoneNumber)
	}
	known := ""
	for i := range a.others {
		f := &a.others[i].Value
		if hasPhone(f) && (known == "" || f.Status == model.FactorActive) {
			known = f.Profile["phoneNumber"]
		}
	}
	if known == "" {
		var causes rest.Causes
		causes.Blank("profile.phoneNumber")
		return "", causes.Err()
	}
	return known, nil
}
