package docstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxIDLength is the maximum length of an id in bytes.
const MaxIDLength = 1000

// idSeparator joins the parts of an id. It is not NUL, because PostgreSQL's text cannot contain NUL.
const idSeparator = "\x1f"

// JoinID returns the id of a document that represents a relation, such as a membership: JoinID(group, user). Insert rejects parts that
// contain the separator U+001F or NUL. All ids that start with the same parts are adjacent: Prefix(ID, JoinID(group, "")) selects a group's
// members.
func JoinID(parts ...string) string {
	for _, part := range parts {
		if strings.Contains(part, idSeparator) {
			return "\x00" // Insert rejects this id: with the separator in a part, two relations could have the same id
		}
	}
	return strings.Join(parts, idSeparator)
}

// SplitID returns the parts passed to JoinID.
func SplitID(id string) []string { return strings.Split(id, idSeparator) }

// maxQuotedID is the maximum number of bytes of an id in an error message.
const maxQuotedID = 100

func validID(id string) bool {
	return id != "" && len(id) <= MaxIDLength && utf8.ValidString(id) && !strings.Contains(id, "\x00")
}

func checkID(id string) error {
	if !validID(id) {
		return fmt.Errorf("%w: %q", ErrBadID, cut(strings.ToValidUTF8(id, "�"), maxQuotedID))
	}
	return nil
}
