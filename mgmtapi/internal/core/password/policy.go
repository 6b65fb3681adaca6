package password

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// minPart is the minimum length of a part of a login, or value of an attribute, that a password must not contain, in characters.
const minPart = 4

// BrokenRules returns the rules of a policy that a password of a user with the profile violates, each as the words
// after "must", such as "have a digit".
func BrokenRules(p *model.PasswordSettings, password string, profile map[string]any) []string {
	var broken []string
	if utf8.RuneCountInString(password) < p.MinLength {
		broken = append(broken, fmt.Sprintf("have at least %d characters", p.MinLength))
	}
	for _, rule := range []struct {
		least    int
		of       func(rune) bool
		one, all string
	}{
		{p.MinUpper, unicode.IsUpper, "an upper-case letter", "upper-case letters"},
		{p.MinLower, unicode.IsLower, "a lower-case letter", "lower-case letters"},
		{p.MinNumber, unicode.IsDigit, "a digit", "digits"},
		{p.MinSymbol, isSymbol, "a symbol", "symbols"},
	} {
		switch n := number(password, rule.of); {
		case n >= rule.least:
		case rule.least == 1:
			broken = append(broken, "have "+rule.one)
		default:
			broken = append(broken, fmt.Sprintf("have at least %d %s", rule.least, rule.all))
		}
	}
	login, _ := profile["login"].(string)
	if p.ExcludeLogin && containsLogin(password, login) {
		broken = append(broken, "not contain parts of the login")
	}
	for _, name := range p.ExcludeAttributes {
		value, _ := profile[name].(string)
		if utf8.RuneCountInString(value) >= minPart && strings.Contains(model.LoginKey(password), model.LoginKey(value)) {
			broken = append(broken, "not contain the attribute "+name)
		}
	}
	return broken
}

func isSymbol(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// number returns the number of characters for which match returns true.
func number(text string, match func(rune) bool) (n int) {
	for _, r := range text {
		if match(r) {
			n++
		}
	}
	return n
}

// DescribeBroken returns an error message for users with the rules that a password violates.
func DescribeBroken(broken []string) string {
	return "Password requirements were not met. The password must " + strings.Join(broken, "; it must ")
}

// Reused returns the rule for the password history if the password violates it. Like all comparisons of hashes, it is slow.
func Reused(p *model.PasswordSettings, u *model.User, password string) []string {
	if p.History == 0 {
		return nil
	}
	past := u.PasswordHistory[:min(len(u.PasswordHistory), p.History-1)]
	if Verify(u, password) || slices.ContainsFunc(past, func(hash string) bool { return Matches(hash, password) }) {
		return []string{fmt.Sprintf("differ from the last %d passwords", p.History)}
	}
	return nil
}

// TooYoung returns the rule for the minimum age if the password of the user cannot be changed yet.
func TooYoung(p *model.PasswordSettings, u *model.User, now time.Time) []string {
	if !u.HasPassword() || now.Sub(u.PasswordChanged) >= p.MinAge {
		return nil
	}
	return []string{fmt.Sprintf("be kept for %d minutes before it is changed", int(p.MinAge/time.Minute))}
}

// TooOld reports whether the password of the user has expired.
func TooOld(p *model.PasswordSettings, u *model.User, now time.Time) bool {
	return p.MaxAge > 0 && !u.PasswordChanged.IsZero() && now.Sub(u.PasswordChanged) >= p.MaxAge
}

// containsLogin reports whether the password contains the login, or a part of it before the @ with at least minPart characters.
func containsLogin(password, login string) bool {
	if login == "" {
		return false
	}
	password, login = model.LoginKey(password), model.LoginKey(login)
	if strings.Contains(password, login) {
		return true
	}
	for _, part := range strings.FieldsFunc(model.ShortLogin(login), func(r rune) bool { return strings.ContainsRune(",._#@-", r) }) {
		if utf8.RuneCountInString(part) >= minPart && strings.Contains(password, part) {
			return true
		}
	}
	return false
}

// The characters of temporary passwords, without those that look alike.
const (
	upper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	lower  = "abcdefghijkmnopqrstuvwxyz"
	digits = "23456789"
	signs  = "!#%+:=?@"

	temporaryLength = 12
)

// Temporary returns a random password that the policy allows for a user with the profile. It has the required kinds of characters and the
// required length, and at least about 60 bits of entropy.
func Temporary(p *model.PasswordSettings, profile map[string]any) string {
	for {
		var text []byte
		for _, kind := range []struct {
			least int
			from  string
		}{{p.MinUpper, upper}, {p.MinLower, lower}, {p.MinNumber, digits}, {p.MinSymbol, signs}} {
			for range kind.least {
				text = append(text, pick(kind.from))
			}
		}
		for len(text) < max(temporaryLength, p.MinLength) {
			text = append(text, pick(upper+lower+digits))
		}
		for i := range text {
			j := below(i + 1)
			text[i], text[j] = text[j], text[i]
		}
		if len(BrokenRules(p, string(text), profile)) == 0 {
			return string(text)
		}
	}
}

// pick returns a random character.
func pick(from string) byte { return from[below(len(from))] }

// below returns a random number below n.
func below(n int) int {
	drawn, _ := rand.Int(rand.Reader, big.NewInt(int64(n))) // never fails
	return int(drawn.Int64())
}
