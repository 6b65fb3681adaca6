package docstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxIDLength is the length of the longest id, in bytes.
const MaxIDLength = 1000

// idSeparator joins the parts of an id. NUL would be the obvious choice, but PostgreSQL's text cannot hold it.
const idSeparator = "\x1f"

// JoinID makes the id of a document that relates others, as of a membership: JoinID(group, user). Parts may be any text but
// one with the separator U+001F or NUL in it, which Insert then refuses. All ids that begin with the same parts lie together:
// Prefix(ID, JoinID(group, "")) finds a group's members.
func JoinID(parts ...string) string {
	for _, part := range parts {
		if strings.Contains(part, idSeparator) {
			return "\x00" // no document can have this id, and no two relations may share one
		}
	}
	return strings.Join(parts, idSeparator)
}

// SplitID returns the parts given to JoinID.
func SplitID(id string) []string { return strings.Split(id, idSeparator) }

// maxQuotedID bounds how much of an id an error repeats, in bytes.
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
