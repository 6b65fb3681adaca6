package model

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Kind is the prefix of an id; it tells what the id names.
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

	KindAuthServer   Kind = "aus"
	KindPolicy       Kind = "00p"
	KindPolicyRule   Kind = "0pr"
	KindAuthScope    Kind = "scp"
	KindAuthClaim    Kind = "ocl"
	KindRefreshToken Kind = "oar"

	KindGrant   Kind = "oag"
	KindSession Kind = "102"
	KindMapping Kind = "prm"
)

const (
	idLength   = 20
	idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewID makes an id: the prefix of the kind and 17 random characters of [0-9A-Za-z], about 100 bits.
func NewID(kind Kind) string {
	return spell(kind, func(random *[sha256.Size]byte) { _, _ = rand.Read(random[:]) }) // never fails
}

// derivedID makes the id of something that has no document: always the same for the same text.
func derivedID(kind Kind, text string) string {
	next := []byte(text)
	return spell(kind, func(random *[sha256.Size]byte) {
		*random = sha256.Sum256(next)
		next = random[:]
	})
}

// spell makes an id of the bytes that draw gives.
func spell(kind Kind, draw func(*[sha256.Size]byte)) string {
	id := make([]byte, 0, idLength)
	id = append(id, kind...)
	var random [sha256.Size]byte
	for len(id) < idLength {
		draw(&random)
		for _, b := range random {
			// 248 is the largest multiple of 62 in a byte: taking more would favour some characters.
			if b < 248 && len(id) < idLength {
				id = append(id, idAlphabet[b%62])
			}
		}
	}
	return string(id)
}

// NewSecret makes a random text of n url-safe characters, 6 bits each.
func NewSecret(n int) string {
	random := make([]byte, (n*3+3)/4)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)[:n]
}
