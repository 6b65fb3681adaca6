package password

import (
	"crypto/rand"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/mgmtapi/model"
)

// Bounds of the default password policy.
const (
	// History is how many of the last passwords of a user, the present one included, a new one must differ from where the
	// history counts.
	History = 4

	minLength    = 8
	minLoginPart = 4
)

// BrokenRules lists the rules of the default password policy that a password breaks, each as what the password must do.
func BrokenRules(password, login string) []string {
	var broken []string
	for _, rule := range []struct {
		kept bool
		text string
	}{
		{utf8.RuneCountInString(password) >= minLength, "have at least 8 characters"},
		{strings.ContainsFunc(password, unicode.IsUpper), "have an upper-case letter"},
		{strings.ContainsFunc(password, unicode.IsLower), "have a lower-case letter"},
		{strings.ContainsFunc(password, unicode.IsDigit), "have a digit"},
		{!containsLogin(password, login), "not contain parts of the login"},
	} {
		if !rule.kept {
			broken = append(broken, rule.text)
		}
	}
	return broken
}

// Unmet tells people which rules a password breaks.
func Unmet(broken []string) string {
	return "Password requirements were not met. The password must " + strings.Join(broken, "; it must ")
}

// reused is what Unmet tells of a password that the history holds.
const reused = "differ from the last 4 passwords"

// Reused lists the rule about the history when the password breaks it. It takes long, as comparing does.
func Reused(u *model.User, password string) []string {
	if Verify(u, password) || slices.ContainsFunc(u.PasswordHistory, func(hash string) bool { return Matches(hash, password) }) {
		return []string{reused}
	}
	return nil
}

// containsLogin says whether the password contains the login, or a part of it before the @ of at least minLoginPart
// characters.
func containsLogin(password, login string) bool {
	if login == "" {
		return false
	}
	password, login = model.LoginKey(password), model.LoginKey(login)
	if strings.Contains(password, login) {
		return true
	}
	for _, part := range strings.FieldsFunc(model.ShortLogin(login), func(r rune) bool { return strings.ContainsRune(",._#@-", r) }) {
		if utf8.RuneCountInString(part) >= minLoginPart && strings.Contains(password, part) {
			return true
		}
	}
	return false
}

// Characters of temporary passwords: none of those that are easily taken for one another.
const (
	upper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	lower  = "abcdefghijkmnopqrstuvwxyz"
	digits = "23456789"

	temporaryLength = 12
)

// Temporary makes a random password that the policy allows for the login, with about 68 bits.
func Temporary(login string) string {
	for {
		text := make([]byte, temporaryLength)
		for i := range text {
			text[i] = pick(upper + lower + digits)
		}
		if len(BrokenRules(string(text), login)) == 0 {
			return string(text)
		}
	}
}

// pick draws a character.
func pick(from string) byte {
	n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(from)))) // never fails
	return from[n.Int64()]
}
