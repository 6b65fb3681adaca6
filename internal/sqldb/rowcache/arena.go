package rowcache

import (
	"encoding/binary"
	"slices"
)

const (
	segmentSize = 256 << 10
	maxSegments = 256
	// ways is the number of slots of a bucket, which fill one line of a processor's cache. A key has the neighbors of its bucket, too: if
	// its bucket is full, its slot is in the next one that has space. While fewer than two thirds of all slots are used, hardly ever all are
	// full.
	ways         = 8
	neighbors    = 4 // a power of two; at most firstBuckets
	firstBuckets = 64
	align        = 8
)

// slot is the place of the row of a key. ref combines the segment with the offset in it, in units of align, plus 1. The zero slot is empty.
type slot struct {
	key Key
	ref uint32
}

type bucket [ways]slot

// segment has rows, one after another: a header with the length of the row and the length of its compressed text, or 0 if it is not
// compressed, and that text. A length of 0 marks a removed row. A segment has the dictionary of the segment before, as long as that
// compresses well: then most reads use the same dictionary, which stays in the cache of the processor. Otherwise its first rows are a new
// dictionary.
type segment struct {
	data        []byte
	dict        *dictionary
	rows, texts int // the total lengths of compressed rows and of their texts
}

// headSize is the size of the header of a row.
const headSize = 4

// arena is the memory of a cache. When it is full, the oldest segment is emptied.
type arena struct {
	segments []*segment
	max      int // of segments
	at       int // the current segment
	buckets  []bucket
	most     int // of buckets
	used     int // slots that were filled since the buckets were made
	turn     uint8
}

// newArena returns an arena of at most that many bytes: a quarter for the slots, the rest for the segments with their dictionaries.
func newArena(maxBytes int) arena {
	most := firstBuckets
	for 2*most*ways*8 <= maxBytes/4 {
		most *= 2
	}
	const dictionaryBytes = 2 << hashBits // the table
	perSegment := segmentSize + dictSize + dictionaryBytes
	return arena{most: most, max: min(max((maxBytes-most*ways*8)/perSegment, 2), maxSegments)}
}

// reset removes all rows and returns the memory.
func (a *arena) reset() { a.segments, a.buckets, a.at, a.used = nil, nil, 0, 0 }

func (a *arena) size() int {
	n := len(a.buckets) * ways * 8
	for _, s := range a.segments {
		n += cap(s.data)
		if s.dict != nil {
			n += len(s.dict.text) + 2*len(s.dict.table)
		}
	}
	return n
}

// dictionary returns the dictionary of the current segment, or nil.
func (a *arena) dictionary() *dictionary {
	if len(a.segments) == 0 {
		return nil
	}
	return a.segments[a.at].dict
}

// bucket returns the bucket of a key, for n = 0, or one of its neighbors. There must be buckets.
func (a *arena) bucket(key Key, n uint64) *bucket {
	i := uint64(key) * uint64(len(a.buckets)) >> 32 // by the upper bits, because the number of buckets is a power of two
	return &a.buckets[i^n]
}

// find returns the slot of the key, or nil.
func (a *arena) find(key Key) *slot {
	if len(a.buckets) == 0 {
		return nil
	}
	for n := range uint64(neighbors) {
		b := a.bucket(key, n)
		for i := range b {
			if b[i].key == key && b[i].ref != 0 {
				return &b[i]
			}
		}
	}
	return nil
}

// get appends the row with the key to buf and calls accept with it.
func (a *arena) get(key Key, buf []byte, accept func(row []byte) bool) bool {
	s := a.find(key)
	if s == nil {
		return false
	}
	row, ok := a.read(s.ref, buf)
	return ok && accept(row)
}

// place returns the segment and the offset of a reference.
func (a *arena) place(ref uint32) (s *segment, offset int) {
	ref--
	const perSegment = segmentSize / align
	return a.segments[ref/perSegment], int(ref%perSegment) * align
}

// read appends a row to buf.
func (a *arena) read(ref uint32, buf []byte) (row []byte, ok bool) {
	s, at := a.place(ref)
	length, packed := int(binary.LittleEndian.Uint16(s.data[at:])), int(binary.LittleEndian.Uint16(s.data[at+2:]))
	if length == 0 {
		return nil, false
	}
	at += headSize
	if packed == 0 {
		return append(buf, s.data[at:at+length]...), true
	}
	if cap(buf)-len(buf) < length {
		buf = append(make([]byte, 0, len(buf)+length), buf...)
	}
	return expand(buf, s.dict.text, s.data[at:at+packed], length)
}

// put stores a row under the keys. text is the compressed text of a row of that length, or the row if length is 0.
func (a *arena) put(keys []Key, text []byte, length int) {
	size := (headSize + len(text) + align - 1) &^ (align - 1)
	if len(a.segments) == 0 || len(a.segments[a.at].data)+size > segmentSize {
		before := a.dictionary()
		if a.advance(); length != 0 && a.dictionary() != before {
			return // the text was compressed with another dictionary than that of the new segment
		}
	}
	s := a.segments[a.at]
	at := len(s.data)
	s.data = s.data[:at+size]
	head := s.data[at:]
	if length == 0 {
		binary.LittleEndian.PutUint16(head, uint16(len(text)))
		binary.LittleEndian.PutUint16(head[2:], 0)
	} else {
		s.rows, s.texts = s.rows+length, s.texts+len(text)
		binary.LittleEndian.PutUint16(head, uint16(length))
		binary.LittleEndian.PutUint16(head[2:], uint16(len(text)))
	}
	copy(head[headSize:], text)
	ref := uint32(a.at*(segmentSize/align)+at/align) + 1
	for _, key := range keys {
		a.set(key, ref)
	}
	if s.dict == nil && len(s.data) >= dictSize {
		s.dict = newDictionary(slices.Clone(s.data[:dictSize])) // a copy, because remove changes the segment
	}
}

// advance begins the next segment.
func (a *arena) advance() {
	var dict *dictionary
	if len(a.segments) > 0 {
		if last := a.segments[a.at]; 2*last.texts <= last.rows {
			dict = last.dict
		}
	}
	switch {
	case len(a.segments) == 0:
		a.segments, a.at = []*segment{{data: make([]byte, 0, segmentSize)}}, 0
	case len(a.segments) < a.max:
		a.segments = append(a.segments, &segment{data: make([]byte, 0, segmentSize), dict: dict})
		a.at = len(a.segments) - 1
	default:
		a.at = (a.at + 1) % len(a.segments)
		low := uint32(a.at*(segmentSize/align)) + 1
		for i := range a.buckets {
			for j := range a.buckets[i] {
				if ref := a.buckets[i][j].ref; ref >= low && ref < low+segmentSize/align {
					a.buckets[i][j] = slot{}
					a.used--
				}
			}
		}
		*a.segments[a.at] = segment{data: a.segments[a.at].data[:0], dict: dict}
	}
}

// set stores the reference of the row of a key, and removes the previous row of the key.
func (a *arena) set(key Key, ref uint32) {
	if 2*a.used >= len(a.buckets)*ways && len(a.buckets) < a.most {
		a.grow()
	}
	if s := a.find(key); s != nil {
		a.kill(s.ref)
		s.ref = ref
		return
	}
	if a.add(slot{key, ref}) {
		a.used++
		return
	}
	a.turn++ // all buckets are full: replace a slot
	s := &a.bucket(key, 0)[int(a.turn)%ways]
	a.kill(s.ref) // remove would not find it by this key
	*s = slot{key, ref}
}

// add stores a slot in its bucket or a neighbor, if there is space.
func (a *arena) add(s slot) bool {
	for n := range uint64(neighbors) {
		b := a.bucket(s.key, n)
		for i := range b {
			if b[i].ref == 0 {
				b[i] = s
				return true
			}
		}
	}
	return false
}

// grow doubles the number of buckets.
func (a *arena) grow() {
	old := a.buckets
	a.buckets, a.used = make([]bucket, max(2*len(old), firstBuckets)), 0
	for i := range old {
		for _, s := range old[i] {
			switch {
			case s.ref == 0:
			case a.add(s):
				a.used++
			default:
				a.kill(s.ref)
			}
		}
	}
}

// remove removes the row with the key.
func (a *arena) remove(key Key) {
	if s := a.find(key); s != nil {
		a.kill(s.ref)
		*s = slot{}
		a.used--
	}
}

// kill marks a row as removed, because the slots of other keys may also refer to it.
func (a *arena) kill(ref uint32) {
	s, at := a.place(ref)
	binary.LittleEndian.PutUint16(s.data[at:], 0)
}
