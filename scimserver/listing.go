package scimserver

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// listing is the response to a query (RFC 7644 section 3.4.2). Most lists are complete before the first byte is sent. A list that is larger
// than firstPart is sent part by part, as it is read: its itemsPerPage and its cursors, which are not known before, follow the resources.
type listing struct {
	*page
	request    *request
	total      int
	startIndex int  // 0 with cursors
	complete   bool // the buffer has all resources
	neighbors  func() (next, previous string, err error)
	reply      reply // see asReply
}

// listHead is the space in the buffer before the resources, in which the head of the list is written when the page is complete.
const listHead = 1 << 10

// listPrefix is the start of each list.
const listPrefix = `{"schemas":["` + scim.ListResponseMessage + `"],"totalResults":`

// start appends the first part of the list.
func (l *listing) start() (err error) {
	l.next()
	l.out = slices.Grow(l.out, listHead)[:listHead]
	l.complete, err = l.fill(listHead + min(firstPart, int(l.server.limits.MaxResponse)))
	return err
}

// runIndexQuery handles a query by startIndex.
func (s *server) runIndexQuery(r *request, q *query, types []*resourceType) (rep *reply, err error) {
	l := &listing{page: s.newPage(r, q), request: r, startIndex: q.offset + 1}
	defer func() {
		if rep == nil {
			l.release()
		}
	}()
	if l.total, err = l.find(&q.search, types); err != nil {
		return nil, err
	}
	if err := s.tooMany(l.total); err != nil {
		return nil, err
	}
	var ask RawQuery
	if l.raw != nil {
		ask = l.raw.next
		ask.Resume, ask.Limit = "", q.limit
	}
	hits := l.hits
	checked := l.hasLarge() // then the size is compared before a large resource is read
	if checked {
		if err := l.refuseLarge(ask, hits); err != nil {
			return nil, err
		}
	}
	if err := l.start(); err != nil {
		return nil, err
	}
	switch {
	case l.complete && l.bytes > s.limits.MaxResponse:
		return nil, s.tooLarge()
	case !l.complete && !checked:
		held := l.large.weight > 0
		l.unload()
		if err := l.refuseLarge(ask, hits); err != nil {
			return nil, err
		}
		if held { // the memory of the first part may belong to another request now
			l.page.release()
			l.page = l.again(ask, hits)
			if err := l.start(); err != nil {
				return nil, err
			}
		}
	}
	return l.asReply(), nil
}

// asReply returns the response with the list.
func (l *listing) asReply() *reply {
	l.reply = reply{status: http.StatusOK, list: l}
	return &l.reply
}

// head appends the start of the list up to the resources.
func (l *listing) head(dst []byte) (_ []byte, err error) {
	dst = strconv.AppendInt(append(dst, listPrefix...), int64(l.total), 10)
	if l.startIndex > 0 {
		dst = strconv.AppendInt(append(dst, `,"startIndex":`...), int64(l.startIndex), 10)
	}
	if l.complete {
		if dst, err = l.appendCounts(dst); err != nil {
			return nil, err
		}
	}
	return append(dst, `,"Resources":[`...), nil
}

// appendCounts appends what is known when the page is complete.
func (l *listing) appendCounts(dst []byte) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `,"itemsPerPage":`...), int64(l.count), 10)
	if l.neighbors == nil {
		return dst, nil
	}
	next, previous, err := l.neighbors()
	if err != nil {
		return nil, err
	}
	if next != "" {
		dst = scim.AppendString(append(dst, `,"nextCursor":`...), next)
	}
	if previous != "" {
		dst = scim.AppendString(append(dst, `,"previousCursor":`...), previous)
	}
	return dst, nil
}

// body returns the text of a complete list and its offset in the buffer.
func (l *listing) body() (text []byte, offset int, err error) {
	var space [listHead]byte
	head, err := l.head(space[:0])
	if err != nil {
		return nil, 0, err
	}
	resources := l.out[listHead:]
	if len(resources) > 0 {
		resources = resources[1:] // the comma
	}
	begin := len(l.out) - len(resources) - len(head)
	if begin < 0 {
		return slices.Concat(head, resources, []byte("]}")), begin, nil
	}
	copy(l.out[begin:], head)
	l.out = append(l.out, ']', '}')
	return l.out[begin:], begin, nil
}

// write sends the list.
func (l *listing) write(w http.ResponseWriter, status int) {
	defer l.release()
	s, r := l.server, l.request.Request
	if l.complete {
		body, offset, err := l.body()
		if err != nil {
			rep := s.internalError(r, errorAttr(err))
			body, _ = encode(nil, rep.body)
			s.send(w, r, rep.status, body, 0, nil)
			return
		}
		limitTime(w, l.large.weight)
		s.send(w, r, status, body, offset, l.cuts)
		return
	}
	w.Header()["Content-Type"] = mediaTypeHeader
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if err := l.stream(w); err != nil {
		s.log.WarnContext(r.Context(), "a list could not be sent completely", errorAttr(err))
		panic(http.ErrAbortHandler) // the client must not take the list for a complete one
	}
}

// stream sends the parts of the list.
func (l *listing) stream(w http.ResponseWriter) error {
	head, err := l.head(nil)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	offset := listHead + 1 // without the comma
	for {
		limitTime(w, l.large.weight)
		if err := l.server.writePieces(w, l.out[offset:], offset, l.cuts); err != nil {
			return err
		}
		l.next()
		if l.complete {
			break
		}
		offset = 0
		if l.complete, err = l.fill(partRoom); err != nil {
			return err
		}
	}
	tail, err := l.appendCounts([]byte{']'})
	if err != nil {
		return err
	}
	_, err = w.Write(append(tail, '}'))
	return err
}

// largeTime is the time in which a client must read a part with a large resource. Other requests wait for its memory meanwhile.
const largeTime = 30 * time.Second

// limitTime limits the time of the next write if the buffer has a large resource.
func limitTime(w http.ResponseWriter, weight int64) {
	if weight > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(largeTime)) // not every ResponseWriter has a deadline
	}
}
