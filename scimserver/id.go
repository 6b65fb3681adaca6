package scimserver

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// newID returns the id of a new resource, or "" if the store assigns it.
func (s *server) newID() string {
	if store, ok := s.store.(IDAssigner); ok && store.AssignsIDs() {
		return ""
	}
	return newID()
}

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
	var text [36]byte
	out := hex.AppendEncode(text[:0], b[:4])
	for _, part := range [][]byte{b[4:6], b[6:8], b[8:10], b[10:]} {
		out = hex.AppendEncode(append(out, '-'), part)
	}
	return string(out)
}
