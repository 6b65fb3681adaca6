// Package uuid makes the ids of SCIM resources: UUIDs (RFC 9562) that begin with a number, so that their order is that of the number.
package uuid

import (
	"crypto/rand"
	"encoding/hex"
)

// NumberBits is the number of bits of the number in a UUID.
const NumberBits = 48

// Length is the length of a UUID in characters.
const Length = 36

// New returns a UUID of a version with the lowest NumberBits bits of a number and 74 random bits.
func New(version byte, number uint64) string {
	var b [16]byte
	_, _ = rand.Read(b[NumberBits/8:]) // never fails
	for i := range NumberBits / 8 {
		b[i] = byte(number >> (NumberBits - 8 - 8*i))
	}
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var text [Length]byte
	out := hex.AppendEncode(text[:0], b[:4])
	for _, part := range [][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		out = hex.AppendEncode(append(out, '-'), part)
	}
	return string(out)
}
