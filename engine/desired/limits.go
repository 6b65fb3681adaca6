package desired

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/engine"
)

// Limits of the input. A value that exceeds its limit is rejected with an *InputError that names the member.
const (
	// MaxVersion is the maximum version: JSON numbers are exact up to 2^53.
	MaxVersion int64 = 1 << 53
	// MaxAppID and MaxID are the maximum numbers of characters in the id of an app and in the id of a user or group.
	MaxAppID = 200
	MaxID    = 256
	// MaxText is the maximum number of characters in other texts, such as displayName and remoteId.
	MaxText = 1024
	// MaxResource is the maximum size of a user as JSON, with its resource or profile, in bytes.
	MaxResource = 128 << 10
	// MaxMembers is the maximum number of users in one Members, and in one MemberDelta. Larger groups are written by several deltas.
	MaxMembers = 10_000
	// MaxChanges is the maximum number of changes in one Write. Batch writes any number, in several transactions.
	MaxChanges = 10_000
	// MaxLine is the maximum size of a line of a batch, in bytes.
	MaxLine = 1 << 20
	// MaxReported is the maximum number of lines in each list of a BatchReport.
	MaxReported = 100
	// MaxPage is the maximum number of objects in a page of a list.
	MaxPage = 1000
)

// A transaction of a batch ends after batchLines lines or batchBytes bytes.
const (
	batchLines = 1000
	batchBytes = 2 << 20
)

// checkVersion returns an error unless v is a version.
func checkVersion(member string, v int64) error {
	if v < 1 || v > MaxVersion {
		return &InputError{member, fmt.Sprintf("the version must be between 1 and %d", MaxVersion)}
	}
	return nil
}

const appIDCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@+~:-"

func checkAppID(id string) error {
	if id == "" || len(id) > MaxAppID || strings.Trim(id, appIDCharacters) != "" || strings.Trim(id, ".") == "" {
		return &InputError{"app", fmt.Sprintf("the id of an app has 1 to %d of the characters A-Z a-z 0-9 . _ @ + ~ : -, and not only dots",
			MaxAppID)}
	}
	return nil
}

// checkID returns an error unless id can be the id of a user or group. "." and ".." are excluded, because they cannot be a segment of a
// path.
func checkID(member, id string) error {
	switch {
	case id == "" || id == "." || id == "..":
		return &InputError{member, `the id must not be empty, "." or ".."`}
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return &InputError{member, "the id must not contain control characters or invalid UTF-8"}
	case utf8.RuneCountInString(id) > MaxID:
		return &InputError{member, fmt.Sprintf("the id must have at most %d characters", MaxID)}
	}
	return nil
}

func checkText(member, text string) error {
	switch {
	case len(text) > MaxText && utf8.RuneCountInString(text) > MaxText:
		return &InputError{member, fmt.Sprintf("the value must have at most %d characters", MaxText)}
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return &InputError{member, "the value must not contain control characters or invalid UTF-8"}
	}
	return nil
}

// checkWant returns an error unless want is one of the allowed states.
func checkWant(want engine.Want, allowed ...engine.Want) error {
	texts := make([]string, len(allowed))
	for i, a := range allowed {
		if a == want {
			return nil
		}
		texts[i] = string(a)
	}
	return &InputError{"want", "the value must be one of: " + strings.Join(texts, ", ")}
}

func checkKind(kind engine.Kind) error {
	if kind != engine.User && kind != engine.Group {
		return &InputError{"kind", "the kind must be user or group"}
	}
	return nil
}
