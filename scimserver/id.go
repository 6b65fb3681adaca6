package scimserver

import (
	"time"

	"github.com/scimwright/scimwright/internal/uuid"
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
func newID() string { return uuid.New(7, uint64(time.Now().UnixMilli())) }
