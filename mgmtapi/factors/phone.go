package factors

import (
	"regexp"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// home is the region of numbers that do not say theirs.
const home = "US"

// phoneSyntax is what a number may be written with. maxPhoneDigits is that of E.164.
var phoneSyntax = regexp.MustCompile(`^\+?[0-9 -]*[0-9][0-9 -]*$`)

const maxPhoneDigits = 15

// parsePhone reads a phone number and returns it as E.164 writes it. Whether anybody has it is not asked: examples are full of numbers
// that nobody can have.
func parsePhone(text string) (string, error) {
	text = strings.TrimSpace(text)
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	malformed := rest.Fail(rest.CodePhone, "profile.phoneNumber: The number must have digits, spaces and dashes, with a + in front, and at most 15 digits")
	if !phoneSyntax.MatchString(text) || len(digits) > maxPhoneDigits {
		return "", malformed
	}
	number, err := phonenumbers.Parse(text, home)
	if err != nil {
		return "", rest.Fail(rest.CodePhone, "profile.phoneNumber: The number is not one of E.164: it is too short, or its country code does not exist")
	}
	out := phonenumbers.Format(number, phonenumbers.E164)
	if len(out) > len("+")+maxPhoneDigits { // with the country code
		return "", malformed
	}
	return out, nil
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
