// Package storetest is the conformance suite that docstore must pass on every supported database. It is for the tests of package docstore,
// not for programs that use docstore.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Opener opens a separate empty database for a test, which is closed at the end of the test.
type Opener func(t *testing.T) *sqldb.DB

// Run runs the whole suite.
func Run(t *testing.T, open Opener) {
	for _, suite := range []struct {
		name string
		run  func(t *testing.T, open Opener)
	}{
		{"documents", testDocuments},
		{"revisions", testRevisions},
		{"many documents at once", testMany},
		{"unique indexes", testUnique},
		{"conditions", testConditions},
		{"hostile text", testHostileText},
		{"links", testLinks},
		{"raw", testRaw},
		{"pages", testPages},
		{"pages during inserts and deletes", testMovingPages},
		{"cursors", testCursors},
		{"sizes", testSizes},
		{"schema", testSchema},
		{"concurrency", testConcurrency},
		{"reads are still valid at the commit", testSkew},
		{"outbox", testOutbox},
		{"cached collections", testCached},
		{"versions", testVersions},
		{"positions", testPositions},
		{"numbered ids", testNumbered},
	} {
		t.Run(suite.name, func(t *testing.T) { suite.run(t, open) })
	}
}

// person is the document of the suite: one index of each sort.
type person struct {
	Login  string   `json:"login"`
	Mails  []string `json:"mails,omitempty"`
	Badge  string   `json:"badge,omitempty"`
	Age    *int     `json:"age,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

func newPeople() docstore.Collection[person] {
	return docstore.NewCollection("people", peopleIndexes()...)
}

func peopleIndexes() []docstore.Index[person] {
	return []docstore.Index[person]{
		{Name: "login", Unique: true, Values: func(p *person) []any { return []any{fold(p.Login)} }},
		{Name: "badge", Unique: true, Multi: true, Values: func(p *person) []any { return optional(p.Badge) }},
		{Name: "mails", Multi: true, Values: func(p *person) []any { return list(p.Mails, fold) }},
		{Name: "groups", Multi: true, Values: func(p *person) []any { return list(p.Groups, same) }},
		{Name: "age", Kind: docstore.Int, Values: func(p *person) []any { return []any{p.Age} }},
		{Name: "plain", Values: func(p *person) []any { return []any{p.Login} }},
	}
}

func optional(s string) []any {
	if s == "" {
		return nil
	}
	return []any{s}
}

func list(values []string, key func(string) string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = key(v)
	}
	return out
}

// clock advances by 1s per call of Now.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

// fixture is an open store of people.
type fixture struct {
	testing.TB
	store  *docstore.Store
	people docstore.Collection[person]
}

func newFixture(t *testing.T, open Opener) *fixture {
	t.Helper()
	f := &fixture{TB: t, people: newPeople()}
	var err error
	f.store, err = docstore.Open(t.Context(), open(t), newClock().Now, f.people)
	require.NoError(t, err)
	return f
}

// ctx returns a context that outlives the test's own, so that cleanups can use it.
func (f *fixture) ctx() context.Context { return context.WithoutCancel(f.Context()) }

func (f *fixture) update(fn func(tx *docstore.Tx) error) {
	f.Helper()
	require.NoError(f, f.store.Update(f.ctx(), fn))
}

func (f *fixture) insert(id string, p person) docstore.Doc[person] {
	f.Helper()
	doc, err := f.tryInsert(id, p)
	require.NoError(f, err)
	return doc
}

func (f *fixture) tryInsert(id string, p person) (doc docstore.Doc[person], err error) {
	err = f.store.Update(f.ctx(), func(tx *docstore.Tx) error {
		doc, err = f.people.Insert(f.ctx(), tx, id, p)
		return err
	})
	return doc, err
}

func (f *fixture) delete(id string) {
	f.Helper()
	f.update(func(tx *docstore.Tx) error { return f.people.Delete(f.ctx(), tx, id) })
}

func (f *fixture) query(q docstore.Query[person]) docstore.Page[person] {
	f.Helper()
	page, err := f.people.Query(f.ctx(), f.store.Reader(), q)
	require.NoError(f, err)
	return page
}

// walk follows the cursors to the last page and returns all ids.
func (f *fixture) walk(q docstore.Query[person]) []string {
	f.Helper()
	got := []string{}
	for pages := 0; ; pages++ {
		require.Less(f, pages, 1000, "the pages do not end")
		page := f.query(q)
		got = append(got, idsOf(page.Docs)...)
		if page.Next == "" {
			return got
		}
		require.NotEmpty(f, page.Docs, "an empty page has no cursor")
		q.After, q.Offset = page.Next, 0
	}
}

func idsOf[T any](docs []docstore.Doc[T]) []string {
	out := []string{}
	for _, doc := range docs {
		out = append(out, doc.ID)
	}
	return out
}

func (f *fixture) equal(want, got any, what string) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(docstore.Doc[person]{}), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
