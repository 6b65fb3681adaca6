package scimstore

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/docstore/filtersql"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scimserver"
)

// scanPage is the number of documents of a scan that are in memory at the same time.
const scanPage = 200

// Scan implements scimserver.Store.
func (s *Store) Scan(ctx context.Context, typ string, f filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
	return func(yield func(*scimserver.Record, error) bool) {
		k, err := s.layout.kind(typ)
		if err != nil {
			yield(nil, err)
			return
		}
		where, _, err := s.condition(ctx, k, f)
		if err != nil {
			yield(nil, err)
			return
		}
		from := docstore.Position{Seq: after}
		for {
			page, err := k.docs.Query(ctx, s.docs.Reader(), docstore.Query[document]{Where: where, From: &from, Limit: scanPage})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, doc := range page.Docs {
				if !yield(recordOf(k, doc), nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			from.Seq = page.Docs[len(page.Docs)-1].Seq()
		}
	}
}

// Select implements scimserver.Selector.
func (s *Store) Select(ctx context.Context, q scimserver.Query) (scimserver.Selection, bool, error) {
	k, err := s.layout.kind(q.Type)
	if err != nil {
		return scimserver.Selection{}, false, err
	}
	where, exact, err := s.condition(ctx, k, q.Filter)
	if err != nil || !exact {
		return scimserver.Selection{}, false, err
	}
	query := docstore.Query[document]{Where: where, Desc: q.Reverse, Offset: q.Offset, Limit: q.Limit}
	if q.Groups {
		query.Link = k.groups
	}
	if !k.order(&query, q) {
		return scimserver.Selection{}, false, nil
	}
	var out scimserver.Selection
	if q.Limit > 0 {
		page, err := k.docs.Query(ctx, s.docs.Reader(), query)
		if err != nil {
			return scimserver.Selection{}, false, err
		}
		if out.Records, err = s.records(ctx, k, page.Docs); err != nil {
			return scimserver.Selection{}, false, err
		}
		if page.Next == "" && (len(page.Docs) > 0 || q.Offset == 0) { // this is the last page: no count query needed
			out.Total = q.Offset + len(page.Docs)
			return out, true, nil
		}
	}
	if q.After == nil {
		out.Total, err = k.docs.Count(ctx, s.docs.Reader(), where)
	}
	return out, true, err
}

// order sets the order and the start of a query. It returns false if no index has that order, or if the start is not a position in the
// index.
func (k *kind) order(query *docstore.Query[document], q scimserver.Query) bool {
	column := filtersql.Column{}
	if !q.SortBy.IsZero() {
		var ok bool
		if column, ok = k.column(q.SortBy); !ok || k.multi(column.Index) {
			return false
		}
		query.OrderBy = column.Index
	}
	if q.After == nil {
		return true
	}
	query.From = &docstore.Position{Seq: q.After.Order}
	if key := q.After.Key; key != nil {
		query.From.Key = *key
		if len(*key) >= scimserver.MaxSortKey {
			return false // the server has truncated the key, so its position in the index, which contains the whole value, is not known
		}
		if column.Kind == filtersql.Time {
			t, err := time.Parse(scimserver.SortTime, *key)
			if err != nil {
				return false
			}
			query.From.Key = t
		}
	}
	return true
}

// multi reports whether an index may have several values for one resource.
func (k *kind) multi(name string) bool {
	return slices.ContainsFunc(k.indexes, func(ix index) bool { return ix.name == name && ix.multi })
}

// condition translates a filter. If exact is false, the condition also selects resources that the filter does not match.
func (s *Store) condition(ctx context.Context, k *kind, f filter.Expr) (where docstore.Cond, exact bool, err error) {
	if f == nil {
		return nil, true, nil
	}
	if and, ok := f.(filter.And); ok {
		x, exactX, err := s.condition(ctx, k, and.X)
		if err != nil {
			return nil, false, err
		}
		y, exactY, err := s.condition(ctx, k, and.Y)
		return docstore.All(x, y), exactX && exactY, err
	}
	if member, ok := memberNamed(k, f); ok {
		return s.hasMember(ctx, member)
	}
	where, exact = filtersql.Compile(f, k.column)
	return where, exact, nil
}

// memberNamed returns the id in a filter on a group's members: members.value eq "id", members eq "id" or members[value eq "id"].
func memberNamed(k *kind, f filter.Expr) (id string, ok bool) {
	if k.Schema.ID != scim.GroupSchema {
		return "", false
	}
	path := scim.AttrPath{}
	value := any(nil)
	switch f := f.(type) {
	case filter.Compare:
		if f.Op == filter.Eq {
			path, value = f.Path, f.Value
		}
	case filter.ValuePath:
		inner, _ := f.Filter.(filter.Compare)
		if f.Op == "" && inner.Op == filter.Eq && inner.Path.Equal(scim.AttrPath{Name: "value"}) {
			path, value = f.Path, inner.Value
			path.Sub = "value"
		}
	}
	r, resolved := k.Resolve(path)
	if !resolved || r.Attribute == nil || r.Path.Name != "members" || r.Path.Sub != "" && r.Path.Sub != "value" {
		return "", false
	}
	id, ok = value.(string)
	return id, ok
}

// hasMember returns the condition for the groups that have a member.
func (s *Store) hasMember(ctx context.Context, member string) (docstore.Cond, bool, error) {
	var groups []string
	err := s.eachMembership(ctx, docstore.Eq(byMember, member), func(m membership) { groups = append(groups, m.Group) })
	if err != nil || len(groups) > docstore.MaxList {
		return nil, false, err
	}
	return docstore.IDs(groups...), true, nil
}

// column returns the index of an attribute for filtersql.
func (k *kind) column(path scim.AttrPath) (filtersql.Column, bool) {
	r, ok := k.Resolve(path)
	if !ok || r.Attribute == nil {
		return filtersql.Column{}, false
	}
	switch r.Path {
	case scim.AttrPath{Name: "id"}:
		return filtersql.Column{Index: docstore.ID}, true
	case scim.AttrPath{Name: "meta", Sub: "created"}:
		return filtersql.Column{Index: docstore.Created, Kind: filtersql.Time, Whole: true}, true
	case scim.AttrPath{Name: "meta", Sub: "lastModified"}:
		return filtersql.Column{Index: docstore.Updated, Kind: filtersql.Time, Whole: true}, true
	}
	for _, ix := range k.indexes {
		if ix.text && ix.path.Equal(r.Path) {
			return filtersql.Column{Index: ix.name, Fold: ix.fold}, true
		}
	}
	return filtersql.Column{}, false
}
