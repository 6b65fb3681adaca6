package scimserver

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// newID returns a UUID of version 7 (RFC 9562): 48 bits of milliseconds, so that new ids are added at the end of an index, and 74 random
// bits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := uint64(time.Now().UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
