package model

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"time"
)

// Kind is the prefix of an id. It identifies the type of the object.
type Kind string

// The kinds of ids.
const (
	KindOrg         Kind = "00o"
	KindUser        Kind = "00u"
	KindGroup       Kind = "00g"
	KindApp         Kind = "0oa"
	KindUserType    Kind = "oty"
	KindUserSchema  Kind = "osc"
	KindAPIToken    Kind = "00T"
	KindPushMapping Kind = "gPm"
	KindSAMLKey     Kind = "exk"
	KindAppLink     Kind = "aln"
	KindGroupRule   Kind = "0pr"
	KindPolicy      Kind = "00p"
	KindGrant       Kind = "oag"
	KindSession     Kind = "102"
	KindMapping     Kind = "prm"

	KindUserRole    Kind = "ra1" // standard role of a user
	KindGroupRole   Kind = "gra" // standard role of a group
	KindClientRole  Kind = "rac" // standard role of a client
	KindCustomRole  Kind = "cr0"
	KindResourceSet Kind = "iam"
	KindSetResource Kind = "ire"
	KindRoleMember  Kind = "irb"

	KindAuthServer   Kind = "aus"
	KindPolicyRule   Kind = "0pr"
	KindAuthScope    Kind = "scp"
	KindAuthClaim    Kind = "ocl"
	KindRefreshToken Kind = "oar"

	KindInlineHook Kind = "cal"
	KindHookKey    Kind = "HKY"

	KindPhone             Kind = "mbl"
	KindFactorTransaction Kind = "mst"
	KindFactorProfile     Kind = "fpr"
	KindSMSTemplate       Kind = "cst"
)

const (
	idLength   = 20
	idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewID returns a new id: the prefix of the kind, the time in 8 characters of [0-9A-Za-z], and 9 random characters, about 53 bits. An id is
// not a secret. Ids that are created one after another are neighbors in every index, so that objects created at the same time are on the
// same few pages of a database.
func NewID(kind Kind) string {
	return newID(kind, time.Now())
}

// timeLength is the number of characters for the time in milliseconds: enough for seven thousand years.
const timeLength = 8

func newID(kind Kind, at time.Time) string {
	var text [timeLength]byte
	for i, ms := timeLength-1, at.UnixMilli(); i >= 0; i, ms = i-1, ms/62 {
		text[i] = idAlphabet[ms%62]
	}
	return encodeID(kind+Kind(text[:]), func(random *[sha256.Size]byte) { _, _ = rand.Read(random[:]) }) // never fails
}

// derivedID returns the id of an object without a document. It is always the same for the same string.
func derivedID(kind Kind, text string) string {
	next := []byte(text)
	return encodeID(kind, func(random *[sha256.Size]byte) {
		*random = sha256.Sum256(next)
		next = random[:]
	})
}

// encodeID encodes an id from the bytes that draw returns.
func encodeID(kind Kind, draw func(*[sha256.Size]byte)) string {
	id := make([]byte, 0, idLength)
	id = append(id, kind...)
	var random [sha256.Size]byte
	for len(id) < idLength {
		draw(&random)
		for _, b := range random {
			// 248 is the largest multiple of 62 in a byte: larger values would favor some characters.
			if b < 248 && len(id) < idLength {
				id = append(id, idAlphabet[b%62])
			}
		}
	}
	return string(id)
}

// NewSecret returns a random string of n URL-safe characters, 6 bits each.
func NewSecret(n int) string {
	random := make([]byte, (n*3+3)/4)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)[:n]
}

// NewUUID returns a random UUID (RFC 9562 section 5.4) in lower case.
func NewUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// IsUUID reports whether a string has the form of a UUID.
func IsUUID(text string) bool { return uuidPattern.MatchString(text) }
