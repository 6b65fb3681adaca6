package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
)

// testVersions checks that a version is current until the next write of its document.
func testVersions(t *testing.T, open Opener) {
	f := newFixture(t, open)
	current := func(versions ...docstore.Version) bool {
		t.Helper()
		var byTx bool
		byReader, err := docstore.Current(f.ctx(), f.store.Reader(), versions...)
		require.NoError(t, err)
		f.update(func(tx *docstore.Tx) (err error) {
			byTx, err = docstore.Current(f.ctx(), tx, versions...)
			return err
		})
		require.Equal(t, byReader, byTx)
		return byReader
	}
	version := func(id string) docstore.Version {
		t.Helper()
		doc, err := f.people.Get(f.ctx(), f.store.Reader(), id)
		require.NoError(t, err)
		return f.people.Version(doc)
	}
	require.True(t, current())
	f.insert("1", person{Login: "ann"})
	f.insert("2", person{Login: "bob"})
	ann, bob := version("1"), version("2")
	require.True(t, current(ann))
	require.True(t, current(ann, bob, ann))

	f.update(func(tx *docstore.Tx) error {
		_, err := f.people.Update(f.ctx(), tx, "1", 0, person{Login: "ann"}) // the same content is a new version
		return err
	})
	require.False(t, current(ann))
	require.False(t, current(bob, ann))
	require.True(t, current(bob, version("1")))

	f.delete("2")
	require.False(t, current(bob))
	f.insert("2", person{Login: "bob"})
	require.False(t, current(bob), "another document has the same id and revision")
	require.True(t, current(version("2")))

	err := f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
		doc, err := f.people.Update(f.ctx(), tx, "2", 0, person{Login: "eve"})
		require.NoError(t, err)
		now, err := docstore.Current(f.ctx(), tx, f.people.Version(doc))
		require.NoError(t, err)
		require.True(t, now, "a transaction sees its own changes")
		return errUndo
	})
	require.ErrorIs(t, err, errUndo)
	require.True(t, current(version("2")), "a change that was rolled back took effect")

	f.update(func(tx *docstore.Tx) error { _, err := f.store.Clear(f.ctx(), tx, f.people); return err })
	f.insert("1", person{Login: "ann"})
	require.False(t, current(ann), "Clear caused a reused Seq")

	var memory docstore.Cache[string]
	get := func() (string, bool) {
		t.Helper()
		value, ok, err := memory.Get(f.ctx(), f.store.Reader(), "key")
		require.NoError(t, err)
		return value, ok
	}
	_, ok := get()
	require.False(t, ok)
	memory.Put(f.store.Reader(), "key", "of ann", version("1"))
	value, ok := get()
	require.True(t, ok)
	require.Equal(t, "of ann", value)
	f.delete("1")
	_, ok = get()
	require.False(t, ok, "still cached although its document was deleted")
	f.insert("1", person{Login: "ann"})
	memory.Put(f.store.Reader(), "key", "of another ann", version("1"))
	value, ok = get()
	require.True(t, ok)
	require.Equal(t, "of another ann", value)

	f.update(func(tx *docstore.Tx) error {
		doc, err := f.people.Update(f.ctx(), tx, "1", 0, person{Login: "eve"})
		memory.Put(tx, "key", "of a transaction", f.people.Version(doc))
		return err
	})
	_, ok = get()
	require.False(t, ok, "a transaction that may be rolled back fills no cache")
}
