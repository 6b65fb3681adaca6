// Package rowcache caches rows of an SQLite database in memory, and proves without a query that they are current.
//
// The proof is the one of SQLite's own page cache: the header of the WAL index, which is shared memory, changes with each commit of any
// process. A Source reads it. The cached rows are those of one committed state of the database; they are used only while the header is that
// of this state.
//
// A commit of the process itself does not invalidate all rows: the writer passes the keys of the rows that it changes, before the commit is
// visible, and states afterwards that no other process has committed meanwhile. A commit of another process removes all rows.
//
// The rows are compressed (lz.go, which also has the comparison with a library) and in segments of fixed size (arena.go), without pointers
// that a garbage collection would follow.
package rowcache

import (
	"hash/maphash"
	"slices"
	"sync"
)

// State is the header of the WAL index. It differs after each commit.
type State [12]uint32

// Source reads the state of a database.
type Source interface {
	// State returns the current state. ok is false while a commit is changing the state.
	State() (s State, ok bool)
	// Close releases the source. State is not called afterwards.
	Close() error
}

// Key identifies a row, or a value by which a row is found. Two keys may be equal by chance.
type Key uint32

// Stamp is a point in the sequence of commits.
type Stamp uint64

// MaxBytes is the usual size of a cache.
const MaxBytes = 16 << 20

// kept is the number of recent changes that Put can compare with its stamp.
const kept = 64

// Cache is a cache of rows. It is safe for concurrent use. The methods of a nil Cache do nothing.
type Cache struct {
	seed maphash.Seed

	mu         sync.RWMutex
	source     Source // nil after Close
	known      State  // the state to which the rows belong
	usable     bool   // known is set
	committing bool
	now        Stamp
	flushed    Stamp // rows that were read before are not accepted
	changes    [kept]change
	arena      arena
}

// change is a change of rows at a stamp.
type change struct {
	at   Stamp
	keys []Key
}

// New returns a cache of at most that many bytes. Close closes the source.
func New(source Source, maxBytes int) *Cache {
	return &Cache{seed: maphash.MakeSeed(), source: source, arena: newArena(maxBytes)}
}

// Close empties the cache and closes the source.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source == nil {
		return nil
	}
	source := c.source
	c.source = nil
	c.flush()
	return source.Close()
}

// Key returns the key for a kind of value.
func (c *Cache) Key(kind, value string) Key {
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(kind)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(value)
	return Key(h.Sum64() >> 32)
}

// NumberKey returns the key for a kind of number.
func (c *Cache) NumberKey(kind string, number int64) Key {
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(kind)
	var b [9]byte
	for i := range 8 {
		b[i+1] = byte(number >> (8 * i))
	}
	_, _ = h.Write(b[:])
	return Key(h.Sum64() >> 32)
}

// state returns the state of the database.
func (c *Cache) state() (s State, ok bool) {
	if c.source == nil {
		return s, false
	}
	return c.source.State()
}

// current reports whether the rows are those of the current state of the database.
func (c *Cache) current() bool {
	if !c.usable {
		return false
	}
	s, ok := c.state()
	return ok && s == c.known
}

// View calls fn if the rows in the cache are current, with a function that reads the row with a key: it appends the row to buf and returns
// the result of accept, which must check the row, because another one may have the same key. All rows are those of one committed state.
func (c *Cache) View(fn func(get func(key Key, buf []byte, accept func(row []byte) bool) bool)) {
	if c == nil {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.current() {
		fn(c.arena.get)
	}
}

// Get is View for one row.
func (c *Cache) Get(key Key, buf []byte, accept func(row []byte) bool) bool {
	if c == nil {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.current() && c.arena.get(key, buf, accept)
}

// Now returns the stamp for Put of a row that the caller is about to read. ok is false if the row cannot be cached.
func (c *Cache) Now() (at Stamp, ok bool) {
	if c == nil {
		return 0, false
	}
	c.mu.RLock()
	at, ok = c.now, c.current()
	idle := !c.committing && c.source != nil
	c.mu.RUnlock()
	if ok || !idle {
		return at, ok
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.committing && !c.current() { // another process has committed
		c.resume()
	}
	return c.now, c.current()
}

// Row is a row in the form in which a cache stores it.
type Row struct {
	keys   []Key // by each of them the row is found; the first one is that for Commits
	text   []byte
	length int         // of the row, if text is compressed, otherwise 0
	dict   *dictionary // with which text is compressed
}

// Pack returns the row that is found by any of the keys, for Committed. The first key is that of the row for Commits. Pack copies the row,
// but not the keys.
func (c *Cache) Pack(keys []Key, row []byte) Row {
	if c == nil || len(row) > maxRow {
		return Row{}
	}
	var space [packedSpace]byte
	r := c.pack(space[:0], keys, row)
	r.text = slices.Clone(r.text)
	return r
}

const packedSpace = 512 // bytes; enough for most compressed rows

// pack is Pack, without a copy of a row that is not compressed. It uses space for a compressed one.
func (c *Cache) pack(space []byte, keys []Key, row []byte) Row {
	c.mu.RLock()
	d := c.arena.dictionary()
	c.mu.RUnlock()
	if d != nil {
		if packed, ok := d.compress(space, row); ok {
			return Row{keys, packed, len(row), d}
		}
	}
	return Row{keys: keys, text: row}
}

// Put stores a row that was read after the stamp at. The row is found by any of the keys, of which the first is that of the row for
// Commits. The row is not stored if it may have changed since.
func (c *Cache) Put(at Stamp, keys []Key, row []byte) {
	if c == nil || len(row) > maxRow {
		return
	}
	var space [packedSpace]byte
	r := c.pack(space[:0], keys, row)
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := keys[0]
	if c.source == nil || !c.usable || at < c.flushed || c.changedSince(at, changed) {
		return
	}
	if c.committing && slices.Contains(c.changes[c.now%kept].keys, changed) {
		return
	}
	if !c.store(r) {
		c.arena.put(keys, row, 0)
	}
}

// store stores a row. It returns false if the row is compressed with another dictionary than the current one.
func (c *Cache) store(r Row) bool {
	if r.length != 0 && c.arena.dictionary() != r.dict {
		return false
	}
	c.arena.put(r.keys, r.text, r.length)
	return true
}

// changedSince reports whether the key may have changed after the stamp.
func (c *Cache) changedSince(at Stamp, key Key) bool {
	if c.now-at >= kept {
		return true // the changes after the stamp are no longer stored
	}
	for s := at + 1; s <= c.now; s++ {
		if slices.Contains(c.changes[s%kept].keys, key) {
			return true
		}
	}
	return false
}

// Began is called when the process has the write lock of the database. It removes all rows if another process has committed.
func (c *Cache) Began() {
	if c == nil {
		return
	}
	c.mu.RLock()
	current := c.current()
	c.mu.RUnlock()
	if current {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.current() {
		c.resume()
	}
}

// Commits is called before the process commits or otherwise changes the state. The keys are those of the rows that change; all means that
// any row may change.
func (c *Cache) Commits(keys []Key, all bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committing = true
	if all {
		c.flush()
		return
	}
	c.record(slices.Clone(keys))
	for _, key := range keys {
		c.arena.remove(key)
	}
}

// Committed is called after Commits, when the new state is visible. The function exact reports whether no other process has committed since
// Began. The rows are some of those that the commit has written. A row whose key Commits had more than once is not stored, because it may
// have been written twice.
func (c *Cache) Committed(exact func() bool, rows []Row) {
	if c == nil {
		return
	}
	c.mu.RLock()
	state, ok := c.state()
	c.mu.RUnlock()
	ok = ok && exact() // called after the state was read, so that exact applies to it
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committing = false
	if !ok || !c.usable {
		c.resume()
		return
	}
	changed := c.changes[c.now%kept].keys
	c.record(changed) // a reader that began in between may have read either state
	c.known = state
	if len(rows) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(changed))
	for _, r := range rows {
		if len(r.keys) > 0 && once(sorted, r.keys[0]) {
			c.store(r)
		}
	}
}

// once reports whether sorted keys contain a key exactly once.
func once(sorted []Key, key Key) bool {
	i, found := slices.BinarySearch(sorted, key)
	return found && (i+1 == len(sorted) || sorted[i+1] != key)
}

// record adds a change at a new stamp.
func (c *Cache) record(keys []Key) {
	c.now++
	c.changes[c.now%kept] = change{c.now, keys}
}

// resume removes all rows and continues with the current state.
func (c *Cache) resume() {
	c.flush()
	c.known, c.usable = c.state()
}

// flush removes all rows, and makes the cache unusable until the state is known again.
func (c *Cache) flush() {
	c.arena.reset()
	c.usable = false
	c.record(nil)
	c.flushed = c.now
}

// Size returns the number of bytes of the cache.
func (c *Cache) Size() int {
	if c == nil {
		return 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.arena.size()
}
