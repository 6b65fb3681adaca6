package model

import (
	"crypto/rand"
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

	KindGrant Kind = "oag"
)

const (
	idLength   = 20
	idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewID makes an id: the prefix of the kind and 17 random characters of [0-9A-Za-z], about 100 bits.
func NewID(kind Kind) string {
	id := make([]byte, 0, idLength)
	id = append(id, kind...)
	var random [32]byte
	for len(id) < idLength {
		_, _ = rand.Read(random[:]) // never fails
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
