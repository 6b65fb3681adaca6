package docstore

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// Recent documents: reads outside of transactions take the documents of some collections from the cache of rows of the database, if it has
// one. Package rowcache proves that they are current. A document gets there when a caller reads it by its id or by a unique value, and when
// it is inserted with Remember; Revise replaces a cached document. A page of a list takes its documents from the cache if at most a few of
// them are missing there; see recallGaps.

func (c *collection[T]) CachedReads() Collection[T] {
	c.t.recent = true
	return c
}

// Kinds of keys.
const (
	keyID     = "id" // of a document in any collection: a changed relation does not tell the collection of the document
	keySeq    = "seq "
	keyUnique = "unique "
)

// rows returns the cache of the rows that q reads, or nil.
func (t *table) rows(q Reader) *rowcache.Cache {
	if !t.recent {
		return nil
	}
	return sqldb.Rows(q)
}

// written is rows for the rows that an update writes.
func (t *table) written(tx *Tx) *rowcache.Cache {
	if !t.recent {
		return nil
	}
	return tx.sql.Rows()
}

// tagOf returns the tag of a table in cached rows.
func tagOf(name string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return uint16(h.Sum32())
}

// uniqueValue is the key of a document in a unique index.
type uniqueValue struct {
	index int // in table.indexes
	key   string
}

func (t *table) uniqueKey(c *rowcache.Cache, u uniqueValue) rowcache.Key {
	return c.Key(keyUnique+t.name+" "+t.indexes[u.index].name, u.key)
}

// Flags of a cached row.
const cachedLink = 1 // the link was read

// timeSize is the size of a time in a cached row.
const timeSize = 6

// appendRow appends the cached form of a row.
func (t *table) appendRow(dst []byte, r *row, unique []uniqueValue) []byte {
	flags, linked := byte(0), ""
	if r.hasLink {
		flags, linked = cachedLink, strings.Join(r.linked, idSeparator)
	}
	dst = binary.BigEndian.AppendUint16(dst, t.tag)
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(r.seq))
	dst = binary.AppendUvarint(dst, uint64(r.rev))
	for _, n := range []int64{r.created, r.updated} {
		for shift := 8 * (timeSize - 1); shift >= 0; shift -= 8 {
			dst = append(dst, byte(n>>shift))
		}
	}
	dst = appendText(appendText(dst, r.id), linked)
	dst = append(dst, byte(len(unique)))
	for _, u := range unique {
		dst = appendText(append(dst, byte(u.index)), u.key)
	}
	return append(dst, r.text...)
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// cachedRow reads the parts of a cached row. After a part that is damaged, the rest is empty.
type cachedRow []byte

func (b *cachedRow) number() int64 {
	n, size := binary.Uvarint(*b)
	if size <= 0 {
		*b = nil
		return 0
	}
	*b = (*b)[size:]
	return int64(n)
}

func (b *cachedRow) bytes(n int64) []byte {
	if n < 0 || n > int64(len(*b)) {
		*b = nil
		return nil
	}
	out := (*b)[:n]
	*b = (*b)[n:]
	return out
}

func (b *cachedRow) time() (n int64) {
	for _, c := range b.bytes(timeSize) {
		n = n<<8 | int64(c)
	}
	return n
}

// cachedColumns sets r to the columns at the start of a cached row. It returns the flags, and the rest: the relations, the unique values
// and the text. The rest is empty if the row is not of the table.
func (t *table) cachedColumns(r *row, text []byte) (flags byte, rest cachedRow) {
	if len(text) < 3 || binary.BigEndian.Uint16(text) != t.tag {
		return 0, nil
	}
	b := cachedRow(text[3:])
	r.seq, r.rev = b.number(), b.number()
	r.created, r.updated = b.time(), b.time()
	if id := b.bytes(b.number()); r.id != string(id) {
		r.id = string(id)
	}
	return text[2], b
}

// linked sets the relations of r if read is true.
func (b *cachedRow) linked(r *row, read bool) {
	r.linked, r.hasLink = nil, read
	if linked := b.bytes(b.number()); read && len(linked) > 0 {
		r.linked = strings.Split(string(linked), idSeparator)
	}
}

// unique calls each for the unique values.
func (b *cachedRow) unique(each func(index int, key []byte)) {
	count := b.bytes(1)
	if count == nil {
		return
	}
	for range count[0] {
		index := b.bytes(1)
		key := b.bytes(b.number())
		if len(index) == 1 {
			each(int(index[0]), key)
		}
	}
}

// readCached sets r to a cached row. It returns false if the row is not of the table, or has no link although one is needed. The unique
// value, if it is not nil, must be that of the row.
func (t *table) readCached(r *row, text []byte, with columns, unique *uniqueValue) bool {
	flags, b := t.cachedColumns(r, text)
	if with.link != nil && flags&cachedLink == 0 {
		return false
	}
	b.linked(r, with.link != nil)
	found := unique == nil
	b.unique(func(index int, key []byte) {
		found = found || index == unique.index && string(key) == unique.key
	})
	r.text, r.length = b, int64(len(b))
	return found && len(b) > 0 && (with.longest == 0 || len(b) <= with.longest)
}

// rowBuffer is the memory for a cached row.
type rowBuffer struct {
	text []byte
	row  row
	raw  Raw
}

var rowBuffers = sync.Pool{New: func() any { return &rowBuffer{text: make([]byte, 0, 16<<10)} }}

func giveRowBuffer(b *rowBuffer) {
	b.row, b.raw = row{}, Raw{}
	rowBuffers.Put(b)
}

// recall calls each for the cached row that has the id, or the unique value unless it is nil.
func (t *table) recall(c *rowcache.Cache, id string, unique *uniqueValue, with columns, each func(*row) error) (found bool, err error) {
	if c == nil {
		return false, nil
	}
	buf := rowBuffers.Get().(*rowBuffer)
	defer giveRowBuffer(buf)
	r := &buf.row
	r.id, r.raw = id, &buf.raw
	key := rowcache.Key(0)
	if unique == nil {
		key = c.Key(keyID, id)
	} else {
		key = t.uniqueKey(c, *unique)
	}
	if !c.Get(key, buf.text[:0], func(text []byte) bool { return t.readCached(r, text, with, unique) && (unique != nil || r.id == id) }) {
		return false, nil
	}
	return true, each(r)
}

// keep stores a row that was read after the stamp at.
func (t *table) keep(c *rowcache.Cache, at rowcache.Stamp, r *row, unique []uniqueValue) {
	t.cacheable(c, r, unique, func(keys []rowcache.Key, text []byte) { c.Put(at, keys, text) })
}

// cacheable calls put with the keys and the cached form of a row, unless it is too long for the cache.
func (t *table) cacheable(c *rowcache.Cache, r *row, unique []uniqueValue, put func(keys []rowcache.Key, text []byte)) {
	buf := rowBuffers.Get().(*rowBuffer)
	defer giveRowBuffer(buf)
	if len(r.text) == 0 || len(r.text) > cap(buf.text)/2 {
		return
	}
	keys := append(make([]rowcache.Key, 0, 4), c.Key(keyID, r.id), c.NumberKey(keySeq+t.name, r.seq))
	for _, u := range unique {
		keys = append(keys, t.uniqueKey(c, u))
	}
	buf.text = t.appendRow(buf.text[:0], r, unique)
	put(keys, buf.text)
}

// changing declares that the next statement of the transaction changes the documents with these ids and no others. If the collection is a
// relation, the documents to which it relates change, too.
func (t *table) changing(tx *Tx, ids ...string) {
	c := tx.sql.Rows()
	if c == nil {
		return
	}
	keys := make([]rowcache.Key, 0, 2*len(ids))
	for _, id := range ids {
		keys = append(keys, c.Key(keyID, id))
		if _, to, ok := strings.Cut(id, idSeparator); ok {
			keys = append(keys, c.Key(keyID, to))
		}
	}
	tx.sql.Changing(keys...)
}

// idsOf returns the ids that a condition names, if it selects documents by their ids alone.
func idsOf(cond Cond) (ids []string, ok bool) {
	c, ok := cond.(in)
	if !ok || c.index != ID {
		return nil, false
	}
	for _, value := range c.values {
		id, ok := value.(string)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// uniqueOf returns the unique value that a condition compares with.
func (t *table) uniqueOf(cond Cond) (id string, u *uniqueValue, ok bool) {
	c, isCompare := cond.(compare)
	if !isCompare || c.op != "=" {
		return "", nil, false
	}
	if c.index == ID {
		id, ok = c.value.(string)
		return id, nil, ok
	}
	i := slices.IndexFunc(t.indexes, func(ix index) bool { return ix.name == c.index && ix.unique && !ix.multi && ix.kind == Text })
	if i < 0 {
		return "", nil, false
	}
	key, err := t.indexes[i].operand(c.value)
	text, isText := key.(string)
	return "", &uniqueValue{i, text}, err == nil && isText
}

// uniqueValues returns the unique values of a document.
func (t *table) uniqueValues(k keys) (out []uniqueValue) {
	single := 0
	for i := range t.indexes {
		ix := &t.indexes[i]
		if ix.multi {
			continue
		}
		if text, ok := k.single[single].(string); ok && ix.unique {
			out = append(out, uniqueValue{i, text})
		}
		single++
	}
	return out
}

// Remember caches a document that the transaction has inserted, after the commit. If link is not nil, the document is cached with the
// information that no relation of the link references it.
func Remember[T any](c Collection[T], tx *Tx, doc Doc[T], p Prepared[T], link *Link) {
	t := c.core()
	cache := t.written(tx)
	if cache == nil {
		return
	}
	r := row{
		id: doc.ID, seq: doc.seq, rev: doc.Rev, created: doc.Created.UnixMilli(), updated: doc.Updated.UnixMilli(), text: p.encoded.text,
		hasLink: link != nil && textKey(doc.ID) == doc.ID,
	}
	t.remember(tx, cache, &r, t.uniqueValues(p.encoded.keys))
}

// remember caches a row after the commit.
func (t *table) remember(tx *Tx, cache *rowcache.Cache, r *row, unique []uniqueValue) {
	t.cacheable(cache, r, unique, func(keys []rowcache.Key, text []byte) { tx.sql.Remember(cache.Pack(keys, text)) })
}

// renew caches the new row of a revision after the commit, if the row before it is cached. The new row has the relations of that row, which
// a revision does not change, and its unique values, if they are the same. The cache does not store the row if another update of the same
// commit changes the document or its relations.
func (t *table) renew(tx *Tx, r row, v *revision) {
	cache := t.written(tx)
	if cache == nil {
		return
	}
	var unique []uniqueValue
	buf := rowBuffers.Get().(*rowBuffer)
	old := &buf.row
	old.id = r.id
	found := cache.Get(cache.Key(keyID, r.id), buf.text[:0], func(text []byte) bool {
		flags, b := t.cachedColumns(old, text)
		if old.id != r.id {
			return false
		}
		b.linked(&r, flags&cachedLink != 0)
		if !v.unique {
			b.unique(func(index int, key []byte) { unique = append(unique, uniqueValue{index, string(key)}) })
		}
		return len(b) > 0
	})
	giveRowBuffer(buf)
	if !found {
		return
	}
	r.text = v.text
	t.remember(tx, cache, &r, unique)
}

// recallGaps is the number of documents of a page that are read by one statement each, between documents that are cached.
const recallGaps = 4

// recallPage calls each for up to n next documents. It ends when two successive documents are not cached, after recallGaps documents that
// are not cached, or immediately if the first document is not cached.
func (w *walk) recallPage(ctx context.Context, q Reader, n int, each func(*row) error) (read int, err error) {
	c := w.t.rows(q)
	if c == nil {
		return 0, nil
	}
	for range recallGaps {
		got, err := w.recallNumbers(c, n-read, each)
		if read += got; err != nil || got == 0 || read == n {
			return read, err
		}
		at, keep := c.Now()
		got, err = w.stepRows(ctx, q, 0, 1, func(r *row) error {
			if keep {
				w.t.keep(c, at, r, nil)
			}
			return each(r)
		})
		if read += got; err != nil || got == 0 {
			return read, err
		}
	}
	return read, nil
}

// recallNumbers calls each for the cached documents with the next numbers, at most n, until one is not cached.
func (w *walk) recallNumbers(c *rowcache.Cache, n int, each func(*row) error) (read int, err error) {
	buf := rowBuffers.Get().(*rowBuffer)
	defer giveRowBuffer(buf)
	with := columns{link: w.link, longest: w.longest}
	kind, seq := keySeq+w.t.name, int64(0)
	if w.pos != nil {
		seq = w.pos.Seq
	}
	r := &buf.row
	c.View(func(get func(rowcache.Key, []byte, func([]byte) bool) bool) {
		for ; read < n && err == nil; read++ {
			seq++
			if !get(c.NumberKey(kind, seq), buf.text[:0], func(text []byte) bool {
				return w.t.readCached(r, text, with, nil) && r.seq == seq
			}) {
				seq--
				return
			}
			err = each(r)
		}
	})
	if read > 0 {
		w.pos = newCursor(nil, seq)
	}
	return read, err
}
