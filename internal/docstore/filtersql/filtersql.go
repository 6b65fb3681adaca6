// Package filtersql compiles SCIM filters (RFC 7644 section 3.4.2.2) to conditions on the indexes of a docstore collection. The database
// then selects the few documents that filter.Eval still has to check, or exactly the documents that match.
//
// A condition never misses a document that the filter matches. The package does not parse or check filters and defines no attributes: the
// caller maps attributes to indexes.
package filtersql

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// Kind is the type of the attribute of a column.
type Kind int

const (
	// Text is the kind of strings, references and similar attributes.
	Text Kind = iota
	// Boolean is the kind of boolean attributes. Their index has the kind docstore.Int and the values 0 and 1, as docstore stores bool.
	Boolean
	// Integer is the kind of integer attributes. Their index has the kind docstore.Int.
	Integer
	// Time is the kind of dateTime attributes. Their index has the kind docstore.Int and stores Unix milliseconds, rounded down.
	Time
)

// Column maps an attribute to an index. For each value of the attribute in a document, the index has exactly one value; for a string, that
// value is the result of Fold. A multi-valued attribute has a Multi index, with one value for each element. The index has no other values.
// The attribute must be defined for the type and must not be one with returned=never, since filter.Eval finds such attributes in no
// document.
type Column struct {
	Index string
	// Kind is the type of the attribute. Default: Text.
	Kind Kind
	// Fold is the folding of strings in the index: filter.Fold for attributes that are not caseExact. Default: none.
	Fold func(string) string
	// Whole guarantees that no dateTime has a fraction of a millisecond.
	Whole bool
}

// Columns returns the column of an attribute, as spelled in the filter; ok is false if no index has it. Paths inside a value filter,
// emails[type eq "work"], are passed as emails.type.
type Columns func(path scim.AttrPath) (column Column, ok bool)

// Compile returns a condition that is true for every document that the filter matches; nil is true for all. If exact is true, the condition
// is false for all other documents; otherwise the caller must evaluate the filter on the documents that the condition selects.
func Compile(e filter.Expr, columns func(scim.AttrPath) (Column, bool)) (cond docstore.Cond, exact bool) {
	r := compile(e, columns)
	return r.cond, r.exact
}

// result is a condition. The zero value selects all documents and is not exact.
type result struct {
	cond  docstore.Cond
	exact bool
}

func exactly(cond docstore.Cond) result { return result{cond, true} }
func roughly(cond docstore.Cond) result { return result{cond, false} }

func compile(e filter.Expr, columns Columns) result {
	switch e := e.(type) {
	case filter.And:
		return and(compile(e.X, columns), compile(e.Y, columns))
	case filter.Or:
		return or(compile(e.X, columns), compile(e.Y, columns))
	case filter.Not:
		return not(compile(e.X, columns))
	case filter.Compare:
		return compare(e, columns)
	case filter.Present:
		if column, ok := columns(e.Path); ok {
			return exactly(column.present())
		}
	case filter.ValuePath:
		return valuePath(e, columns)
	}
	return result{}
}

func and(x, y result) result {
	switch {
	case x.cond == nil:
		return roughly(y.cond)
	case y.cond == nil:
		return roughly(x.cond)
	}
	return result{docstore.All(x.cond, y.cond), x.exact && y.exact}
}

func or(x, y result) result {
	if x.cond == nil || y.cond == nil {
		return result{}
	}
	return result{docstore.Any(x.cond, y.cond), x.exact && y.exact}
}

func not(x result) result {
	if !x.exact {
		// The condition also selects documents that do not match the filter; its negation would exclude these documents, although they match the
		// negated filter.
		return result{}
	}
	return exactly(docstore.Not(x.cond))
}

// valuePath compiles conditions on one element of an attribute. If the filter combines several comparisons, the condition also selects
// documents in which different elements match the comparisons.
func valuePath(e filter.ValuePath, columns Columns) result {
	r := element(e.Filter, e.Path, columns)
	if e.Op == "" {
		return r
	}
	sub := filter.Compare{Path: scim.AttrPath{Name: e.Sub}, Op: e.Op, Value: e.Value}
	both := and(r, element(sub, e.Path, columns))
	return roughly(both.cond)
}

// element compiles a value filter of the attribute at path.
func element(e filter.Expr, path scim.AttrPath, columns Columns) result {
	switch e := e.(type) {
	case filter.And:
		return roughly(and(element(e.X, path, columns), element(e.Y, path, columns)).cond)
	case filter.Or:
		return or(element(e.X, path, columns), element(e.Y, path, columns))
	case filter.Compare:
		if e.Op == filter.Ne || e.Value == nil {
			return result{} // the filter matches elements without the sub-attribute, but the index has no value for such an element
		}
		if p, ok := within(path, e.Path); ok {
			return compare(filter.Compare{Path: p, Op: e.Op, Value: e.Value}, columns)
		}
	case filter.Present:
		if p, ok := within(path, e.Path); ok {
			return compile(filter.Present{Path: p}, columns)
		}
	}
	return result{}
}

// within returns the path of a sub-attribute that a value filter names.
func within(path, sub scim.AttrPath) (scim.AttrPath, bool) {
	if path.Sub != "" || sub.URN != "" || sub.Sub != "" {
		return scim.AttrPath{}, false
	}
	return scim.AttrPath{URN: path.URN, Name: path.Name, Sub: sub.Name}, true
}

func compare(e filter.Compare, columns Columns) result {
	column, ok := columns(e.Path)
	if !ok {
		return result{}
	}
	if e.Value == nil {
		switch e.Op {
		case filter.Eq:
			return exactly(docstore.Not(column.present()))
		case filter.Ne:
			return exactly(column.present())
		}
		return result{}
	}
	if e.Op == filter.Ne {
		e.Op = filter.Eq
		return not(column.compare(e.Op, e.Value))
	}
	return column.compare(e.Op, e.Value)
}

// present compiles the operator pr. An empty string has an index value but is not present.
func (c Column) present() docstore.Cond {
	if c.Kind == Text {
		return docstore.Gt(c.Index, "")
	}
	return docstore.NotNull(c.Index)
}

// compare compiles the operators other than ne with an operand that is not null. If the type of the operand is not the type of the column,
// the condition selects all documents.
func (c Column) compare(op filter.Op, operand any) result {
	switch operand := operand.(type) {
	case string:
		switch c.Kind {
		case Text:
			return c.compareText(op, operand)
		case Time:
			return c.compareTime(op, operand)
		}
	case bool:
		if c.Kind == Boolean && op == filter.Eq {
			return exactly(docstore.Eq(c.Index, operand))
		}
	case json.Number:
		if c.Kind != Integer {
			break
		}
		if n, err := strconv.ParseInt(operand.String(), 10, 64); err == nil {
			return c.order(op, n, n)
		}
	}
	return result{}
}

func (c Column) compareText(op filter.Op, operand string) result {
	if !utf8.ValidString(operand) {
		return result{}
	}
	if c.Fold != nil {
		operand = c.Fold(operand)
	}
	switch op {
	case filter.Eq:
		return exactly(docstore.Eq(c.Index, operand))
	case filter.Sw:
		return result{docstore.Prefix(c.Index, operand), docstore.Exact(operand)}
	case filter.Co, filter.Ew:
		return roughly(docstore.NotNull(c.Index))
	}
	r := c.order(op, operand, operand)
	r.exact = r.exact && docstore.Exact(operand)
	return r
}

func (c Column) compareTime(op filter.Op, operand string) result {
	t, err := schema.ParseDateTime(operand)
	if err != nil {
		return result{}
	}
	floor := time.UnixMilli(t.UnixMilli())
	if !c.Whole {
		// The index stores the millisecond that contains the value.
		switch op {
		case filter.Gt:
			op = filter.Ge
		case filter.Lt:
			op = filter.Le
		}
		return roughly(c.order(op, floor, floor).cond)
	}
	ceiling := floor
	if floor.Before(t) {
		ceiling = floor.Add(time.Millisecond)
		if op == filter.Eq {
			return exactly(docstore.Any())
		}
	}
	return c.order(op, floor, ceiling)
}

// order compares the index with an operand that lies between two neighboring values of the index, floor and ceiling. If the operand is a
// value of the index, floor and ceiling are both equal to the operand.
func (c Column) order(op filter.Op, floor, ceiling any) result {
	switch op {
	case filter.Eq:
		return exactly(docstore.Eq(c.Index, floor))
	case filter.Gt:
		return exactly(docstore.Gt(c.Index, floor))
	case filter.Ge:
		return exactly(docstore.Ge(c.Index, ceiling))
	case filter.Lt:
		return exactly(docstore.Lt(c.Index, ceiling))
	case filter.Le:
		return exactly(docstore.Le(c.Index, floor))
	}
	return result{}
}
