package factors

import (
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// phoneSyntax is what a number may be written with. Without spaces and dashes it has to match e164: a country code, which never starts with
// a zero, and the number in the country, at most 15 digits together.
var (
	phoneSyntax = regexp.MustCompile(`^\+?[0-9 -]+$`)
	e164        = regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)
)

// parsePhone reads a phone number and returns it as E.164 writes it. It adds no country code: the digits stay those that were given. It
// does not check that the number exists, because examples are full of numbers that do not.
func parsePhone(text string) (string, error) {
	text = strings.TrimSpace(text)
	number := "+" + strings.NewReplacer("+", "", " ", "", "-", "").Replace(text)
	if !phoneSyntax.MatchString(text) || !e164.MatchString(number) {
		return "", rest.Fail(rest.CodePhone, "profile.phoneNumber: The number must have a country code and at most 15 digits (E.164); "+
			"a leading +, spaces and dashes are allowed")
	}
	return number, nil
}

// hasPhone says whether a factor has a phone.
func hasPhone(f *model.Factor) bool { return f.Type == model.FactorSMS || f.Type == model.FactorCall }

// phone is the number that the caller gives, or else the one that the user has already: a verified one before others.
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
