package search

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Sorting holds the query parameters of a list for the page and the order.
type Sorting struct {
	After     string `query:"after" doc:"Cursor from the link to the next page."`
	SortBy    string `query:"sortBy" doc:"Attribute that a search is sorted by."`
	SortOrder string `query:"sortOrder" doc:"asc or desc; other values count as asc."`
}

// Request holds the search parameters of a list. At most one of Search, Filter and Q may be set.
type Request struct {
	Search, Filter, Q string
	Limit             int // page size; 0 means the default
	Sorting
}

// Sorted reports whether the list is a sorted search, which takes several reads.
func (r *Request) Sorted() bool { return r.Search != "" && r.SortBy != "" }

// check returns an error if more than one search parameter is set.
func (r *Request) check() error {
	given := 0
	for _, expression := range []string{r.Search, r.Filter, r.Q} {
		if expression != "" {
			given++
		}
	}
	if given > 1 {
		return rest.Fail(rest.CodeQueryAndFilter)
	}
	return nil
}

// List is a collection that can be searched by the parameter filter, by the parameter search, or by the prefix of a name.
type List[T any] struct {
	Collection docstore.Collection[T]
	// Present matches the documents that are listed without an expression. Nil matches all documents.
	Present docstore.Cond
	// Visible reports whether the caller can read a document. Nil means all.
	Visible func(id string) bool
	// Filter is the language of the parameter filter. Search returns the language of the parameter search.
	Filter Language[T]
	Search func(ctx context.Context, q docstore.Reader) (Language[T], error)
	// Quick returns the condition and the order of the parameter q.
	Quick func(text string) (where docstore.Cond, orderBy string)
	// PageSize is the default page size. QuickSize is the default page size with the parameter q.
	PageSize, QuickSize int
}

// Read returns a page of the list.
func (l List[T]) Read(ctx context.Context, q docstore.Reader, r *Request) (docstore.Page[T], error) {
	if err := r.check(); err != nil {
		return docstore.Page[T]{}, err
	}
	query := docstore.Query[T]{Where: l.Present, After: r.After, Limit: r.Limit, Match: l.visible(nil)}
	if query.Limit == 0 {
		query.Limit = l.PageSize
	}
	switch {
	case r.Q != "":
		if r.Limit == 0 {
			query.Limit = l.QuickSize
		}
		query.After = ""
		query.Where, query.OrderBy = l.Quick(r.Q)
		page, err := Page(ctx, l.Collection, q, query)
		page.Next = ""
		return page, err
	case r.Filter != "":
		compiled, err := l.Filter.Compile(r.Filter)
		if err != nil {
			return docstore.Page[T]{}, err
		}
		query.Where, query.Match = compiled.Where, l.visible(compiled.Match)
	case r.Search != "":
		language, err := l.Search(ctx, q)
		if err != nil {
			return docstore.Page[T]{}, err
		}
		compiled, err := language.Compile(r.Search)
		if err != nil {
			return docstore.Page[T]{}, err
		}
		compiled.Match = l.visible(compiled.Match)
		if r.SortBy != "" {
			by := Sort{By: r.SortBy, Descending: strings.EqualFold(r.SortOrder, "desc")}
			return language.Sorted(ctx, l.Collection, q, compiled, by, r.After, query.Limit)
		}
		query.Where, query.Match = compiled.Where, compiled.Match
	}
	return Page(ctx, l.Collection, q, query)
}

// visible restricts match to the documents that the caller can read. A nil match matches all documents.
func (l List[T]) visible(match func(*docstore.Doc[T]) bool) func(*docstore.Doc[T]) bool {
	if l.Visible == nil {
		return match
	}
	return func(doc *docstore.Doc[T]) bool { return l.Visible(doc.ID) && (match == nil || match(doc)) }
}
