package rowcache_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// database is a database with numbered rows of one number each. Its state is the number of commits.
type database struct {
	mu      sync.Mutex
	rows    map[int]uint64
	commits atomic.Uint32
}

func newDatabase() *database { return &database{rows: map[int]uint64{}} }

func (d *database) State() (s rowcache.State, ok bool) {
	s[0] = d.commits.Load()
	return s, true
}

func (d *database) Close() error { return nil }

func (d *database) read(row int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rows[row]
}

func (d *database) write(rows ...int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range rows {
		d.rows[row]++
	}
	d.commits.Add(1)
}

// text returns the text of a row, which other rows have in large part.
func text(row int, value uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(row))
	b = binary.BigEndian.AppendUint64(b, value)
	return fmt.Appendf(b, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"user%d","externalId":"e-user%d",`+
		`"emails":[{"value":"user%d@example.com","type":"work","primary":true}],"title":"Title %d"}`, row, row, row, value)
}

func keysOf(c *rowcache.Cache, row int) []rowcache.Key {
	return []rowcache.Key{c.Key("id", fmt.Sprint(row)), c.NumberKey("seq", int64(row)), c.Key("name", fmt.Sprint(row))}
}

// get returns the cached value of a row, by one of its keys.
func get(t require.TestingT, c *rowcache.Cache, row, key int) (value uint64, ok bool) {
	ok = c.Get(keysOf(c, row)[key], nil, func(b []byte) bool {
		if binary.BigEndian.Uint64(b) != uint64(row) {
			return false
		}
		value = binary.BigEndian.Uint64(b[8:])
		require.Equal(t, string(text(row, value)), string(b))
		return true
	})
	return value, ok
}

// TestCache_NeverStale runs reads and commits of this process and of another one in any order, cut into their steps. A cached row must be
// that of the current state.
func TestCache_NeverStale(t *testing.T) {
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		db := newDatabase()
		c := rowcache.New(db, 1<<20)
		type read struct {
			row   int
			value uint64
			at    rowcache.Stamp
			ok    bool
			state int // 0 before the read, 1 after it
		}
		var reads []*read
		writing, foreign := 0, false // the step of a commit: 0 none, 1 after Began, 2 after Commits, 3 visible
		var changes []int
		const rows = 2
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1:
				r := &read{row: rapid.IntRange(0, rows-1).Draw(t, "row")}
				r.at, r.ok = c.Now()
				reads = append(reads, r)
			case 2, 3, 4:
				if len(reads) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(reads)-1).Draw(t, "read")
				r := reads[i]
				if r.state == 0 {
					r.value, r.state = db.read(r.row), 1
					continue
				}
				if keys := keysOf(c, r.row); r.ok {
					c.Put(r.at, keys[:rapid.IntRange(1, len(keys)).Draw(t, "keys")], text(r.row, r.value))
				}
				reads = append(reads[:i], reads[i+1:]...)
			case 5:
				if (writing == 0 || writing == 3) && rapid.IntRange(0, 3).Draw(t, "other") == 0 { // otherwise this process has the write lock
					db.write(rapid.IntRange(0, rows-1).Draw(t, "foreign"))
					foreign = true
				}
			default:
				switch writing {
				case 0:
					c.Began()
					foreign = false
					changes = rapid.SliceOfN(rapid.IntRange(0, rows-1), 0, 2).Draw(t, "changes")
				case 1:
					var keys []rowcache.Key
					for _, row := range changes {
						keys = append(keys, keysOf(c, row)[0])
					}
					c.Commits(keys, rapid.IntRange(0, 9).Draw(t, "all") == 0)
				case 2:
					if len(changes) > 0 {
						db.write(changes...)
					}
				case 3:
					var written []rowcache.Row
					for _, row := range changes {
						if rapid.Bool().Draw(t, "keep") && !foreign {
							written = append(written, c.Pack(keysOf(c, row), text(row, db.read(row))))
						}
					}
					c.Committed(func() bool { return !foreign }, written)
				}
				writing = (writing + 1) % 4
			}
			for row := range rows {
				for key := range 3 {
					if value, ok := get(t, c, row, key); ok {
						hits++
						require.Equal(t, db.read(row), value, "row %d by key %d", row, key)
					}
				}
			}
		}
	})
	require.Positive(t, hits)
}

// TestCache_Concurrent reads rows while this process and another one commit. A row that a reader finds must not be older than what was
// committed before.
func TestCache_Concurrent(t *testing.T) {
	db := newDatabase()
	c := rowcache.New(db, 1<<20)
	const rows = 50
	var committed [rows]atomic.Uint64
	var work sync.WaitGroup
	stop := make(chan struct{})
	var hits atomic.Int64
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				row := rand.IntN(rows)
				before := committed[row].Load()
				value, ok := get(t, c, row, rand.IntN(3))
				if ok {
					hits.Add(1)
					if value < before {
						t.Errorf("row %d: %d, %d was committed before", row, value, before)
					}
					continue
				}
				at, ok := c.Now()
				value = db.read(row)
				if keys := keysOf(c, row); ok {
					c.Put(at, keys, text(row, value))
				}
			}
		})
	}
	for i := 0; i < 3000 || hits.Load() < 100 && i < 3_000_000; i++ { // on a busy machine, the readers may run late
		row := rand.IntN(rows)
		if i%100 == 99 { // another process
			db.write(row)
			committed[row].Store(db.read(row))
			continue
		}
		c.Began()
		keys := keysOf(c, row)
		c.Commits(keys[:1], false)
		db.write(row)
		c.Committed(func() bool { return true }, []rowcache.Row{c.Pack(keys, text(row, db.read(row)))})
		committed[row].Store(db.read(row))
	}
	close(stop)
	work.Wait()
	require.Positive(t, hits.Load())
	require.NoError(t, c.Close())
	_, ok := get(t, c, 1, 0)
	require.False(t, ok, "a closed cache has no rows")
}

// TestCommitted_Rows checks that the rows of a commit are current after it, except one that it may have written twice.
func TestCommitted_Rows(t *testing.T) {
	db := newDatabase()
	c := rowcache.New(db, 1<<20)
	c.Began()
	once, twice := keysOf(c, 0), keysOf(c, 1)
	c.Commits([]rowcache.Key{once[0], twice[0], twice[0]}, false)
	db.write(0, 1)
	rows := []rowcache.Row{c.Pack(once, text(0, db.read(0))), c.Pack(twice, text(1, db.read(1))), c.Pack(keysOf(c, 2), make([]byte, 1<<20))}
	_, ok := get(t, c, 0, 0)
	require.False(t, ok, "before the end of the commit")
	c.Committed(func() bool { return true }, rows)
	for key := range 3 {
		value, ok := get(t, c, 0, key)
		require.True(t, ok)
		require.Equal(t, db.read(0), value)
		_, ok = get(t, c, 1, key)
		require.False(t, ok)
		_, ok = get(t, c, 2, key)
		require.False(t, ok, "too long")
	}
}

// TestPut_BoundsMemory puts more rows than the cache has space for. The cache must have most of the last ones, and no more bytes than
// permitted.
func TestPut_BoundsMemory(t *testing.T) {
	db := newDatabase()
	const most = 2 << 20
	c := rowcache.New(db, most)
	at, ok := c.Now()
	require.True(t, ok)
	const rows = 60_000
	for row := range rows {
		keys := keysOf(c, row)
		c.Put(at, keys, text(row, uint64(row%7)))
		require.LessOrEqual(t, c.Size(), most)
	}
	require.Greater(t, c.Size(), most/2)
	found := 0
	for row := rows - 10_000; row < rows; row++ {
		if value, ok := get(t, c, row, row%3); ok {
			require.Equal(t, uint64(row%7), value)
			found++
		}
	}
	require.Greater(t, found, 7_000)
	long := make([]byte, 1<<20)
	c.Put(at, keysOf(c, 1), long)
	_, ok = get(t, c, 1, 0)
	require.False(t, ok, "a long row is not cached")
}

// TestPut_AnyText puts random texts and reads them again.
// TestPut_KeepsRows fills a cache until nearly two thirds of its slots are used. As few slots are replaced, almost every row is found.
func TestPut_KeepsRows(t *testing.T) {
	c := rowcache.New(newDatabase(), rowcache.MaxBytes)
	const rows = 110_000 // with three keys each, in 524,288 slots
	for i := range rows {
		at, ok := c.Now()
		require.True(t, ok)
		keys := keysOf(c, i)
		c.Put(at, keys, binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	lost := 0
	for i := range rows {
		if !c.Get(c.Key("id", fmt.Sprint(i)), nil, func([]byte) bool { return true }) {
			lost++
		}
	}
	require.Less(t, lost, rows/200)
}

func TestPut_AnyText(t *testing.T) {
	db := newDatabase()
	c := rowcache.New(db, 1<<20)
	c.Began()
	at, _ := c.Now()
	word := rapid.SampledFrom([]string{"a", "aaaaaaaaaaaaaaaaaaaaaaa", "userName", `{"schemas":[`, "\x00", "\xff\xfe", "0123456789abcdef"})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		var row []byte
		for _, w := range rapid.SliceOfN(word, 1, 200).Draw(t, "words") {
			row = append(row, w...)
		}
		row = append(row, rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(t, "bytes")...)
		key := c.Key("any", fmt.Sprint(n))
		c.Put(at, []rowcache.Key{key}, row)
		found := c.Get(key, nil, func(b []byte) bool {
			require.Equal(t, row, b)
			return true
		})
		require.True(t, found || len(row) > 4096)
	})
}

func BenchmarkGet(b *testing.B) {
	db := newDatabase()
	c := rowcache.New(db, rowcache.MaxBytes)
	c.Began()
	at, _ := c.Now()
	const rows = 100_000
	for row := range rows {
		keys := keysOf(c, row)
		c.Put(at, keys, text(row, 1))
	}
	buf := make([]byte, 0, 8<<10)
	keys := make([]rowcache.Key, rows)
	for i := range keys {
		keys[i] = keysOf(c, rand.IntN(rows))[0]
	}
	i := 0
	for b.Loop() {
		c.Get(keys[i%rows], buf, func([]byte) bool { return true })
		i++
	}
}
