package scimserver

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// CursorOptions configures cursor paging (RFC 9865).
type CursorOptions struct {
	// Key encrypts cursors. A server accepts cursors that another server or an earlier process has issued, if both use the same store and key.
	// Default: a random key per handler.
	Key []byte
	// Timeout is the lifetime of a cursor; advertised as pagination.cursorTimeout. Default: 1h.
	Timeout time.Duration
}

// DefaultCursorTimeout is the default of CursorOptions.Timeout.
const DefaultCursorTimeout = time.Hour

// maxCursor is the maximum length of a cursor from a client, in bytes. A longer one is rejected without decryption, because this server
// issues shorter cursors only.
const maxCursor = 8 << 10

// cursors creates and reads cursors. A cursor is an encrypted position in an order: clients can neither read nor forge it, and it is valid
// for one query of one client only. It grants no access: every page is a separate query.
type cursors struct {
	aead    cipher.AEAD
	timeout time.Duration
}

func newCursors(o CursorOptions) (cursors, error) {
	key := o.Key
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	sum := sha256.Sum256(slices.Concat([]byte("scimserver cursor\x00"), key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return cursors{}, fmt.Errorf("scimserver: cursors: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return cursors{}, fmt.Errorf("scimserver: cursors: %w", err)
	}
	return cursors{aead: aead, timeout: cmp.Or(o.Timeout, DefaultCursorTimeout)}, nil
}

// cursor is the decrypted content of a cursor.
type cursor struct {
	Key      *string `json:"k,omitempty"`
	Type     int     `json:"y,omitempty"`
	Order    int64   `json:"o,omitempty"`
	Start    bool    `json:"a,omitempty"` // the page starts at the start of the order; no position is set
	Backward bool    `json:"b,omitempty"`
	Total    int     `json:"n"` // number of all matches, counted for the first page
	Made     int64   `json:"t"` // Unix time in milliseconds
}

func (c cursor) place() *place {
	if c.Start {
		return nil
	}
	return &place{key: c.Key, typ: c.Type, order: c.Order}
}

// seal encrypts a cursor. open decrypts the result only with the same binding in the parameter bound.
func (cs cursors) seal(c cursor, bound []byte) (string, error) {
	c.Made = time.Now().UnixMilli()
	plain, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(cs.aead.Seal(nil, nil, plain, bound)), nil
}

// open decrypts a cursor. For an invalid cursor and for a cursor with another binding, it returns the same error.
func (cs cursors) open(text string, bound []byte) (cursor, error) {
	invalid := scim.Errorf(http.StatusBadRequest, scim.InvalidCursor,
		"the cursor was not issued for this query; use an empty cursor for the first page")
	if len(text) > maxCursor {
		return cursor{}, invalid
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, invalid
	}
	plain, err := cs.aead.Open(nil, nil, sealed, bound)
	if err != nil {
		return cursor{}, invalid
	}
	var c cursor
	if err := json.Unmarshal(plain, &c); err != nil {
		return cursor{}, invalid
	}
	if time.Since(time.UnixMilli(c.Made)) >= cs.timeout {
		return cursor{}, scim.Errorf(http.StatusBadRequest, scim.ExpiredCursor,
			"the cursor has expired: cursors are valid for %s; use an empty cursor for the first page",
			cs.timeout)
	}
	return c, nil
}

// binding returns the data to which a cursor is bound: this service, this client and this query. The projection and the size of the page
// may change between pages.
func (s *server) binding(r *request, q *query, types []*resourceType) []byte {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	client := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return fmt.Appendf(nil, "%q %x %q %q %q %t", s.prefix, client, names, q.filterText, q.ordering.by.String(), q.ordering.reverse)
}

// runCursorQuery handles a query with a cursor.
func (s *server) runCursorQuery(r *request, q *query, types []*resourceType) (rep *reply, err error) {
	bound := s.binding(r, q, types)
	at := cursor{Start: true}
	if *q.cursor != "" {
		if at, err = s.cursors.open(*q.cursor, bound); err != nil {
			return nil, err
		}
	}
	look := q.search
	look.after = at.place()
	if at.Backward {
		look.ordering.reverse = !look.ordering.reverse
	}
	l := &listing{page: s.newPage(r, q), request: r}
	l.marked, l.backward, l.limit = true, at.Backward, s.limits.MaxResponse
	defer func() {
		if rep == nil {
			l.release()
		}
	}()
	total, err := l.find(&look, types)
	if err != nil {
		return nil, err
	}
	if at.Start {
		if err := s.tooMany(total); err != nil {
			return nil, err
		}
		at.Total = total
	}
	l.total = at.Total
	if err := l.start(); err != nil {
		return nil, err
	}
	if at.Backward {
		// The resources are read from the end of the page to its start, so the list cannot be sent part by part: the page contains only the
		// resources of the first part.
		l.more = l.more || !l.complete
		l.complete = true
		l.reverse()
	}
	l.neighbors = func() (nextText, previousText string, err error) {
		next, previous := neighbors(at, l.places(), l.more, q.ordering.reverse)
		if nextText, err = s.seal(next, bound); err != nil {
			return "", "", err
		}
		previousText, err = s.seal(previous, bound)
		return nextText, previousText, err
	}
	return l.asReply(), nil
}

func (s *server) seal(c *cursor, bound []byte) (string, error) {
	if c == nil {
		return "", nil
	}
	text, err := s.cursors.seal(*c, bound)
	if err != nil {
		return "", fmt.Errorf("create a cursor: %w", err)
	}
	return text, nil
}

// neighbors returns the cursors of the next and the previous page of a page at a cursor. It returns nil for a page that does not exist.
// more is true if further resources follow in the direction of the cursor.
func neighbors(at cursor, page []hit, more, descending bool) (next, previous *cursor) {
	from := func(p place, backward bool) *cursor {
		return &cursor{Key: p.key, Type: p.typ, Order: p.order, Backward: backward, Total: at.Total}
	}
	switch {
	case at.Backward && len(page) == 0 && !more: // all previous resources were deleted, so the next page is the first one
		return &cursor{Start: true, Total: at.Total}, nil
	case len(page) == 0: // the last resources were deleted, or count is 0
		here := at
		if more {
			next = &here
		}
		if !at.Start && !at.Backward {
			behind := *at.place()
			if behind.order++; descending { // the previous page starts one place further, so that the page includes the resource at the position
				behind.order -= 2
			}
			previous = from(behind, true)
		}
		return next, previous
	}
	first, last := from(page[0].place, true), from(page[len(page)-1].place, false)
	if at.Backward {
		next = last
		if more {
			previous = first
		}
		return next, previous
	}
	if more {
		next = last
	}
	if !at.Start {
		previous = first
	}
	return next, previous
}
