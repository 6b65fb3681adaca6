package docstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Cond is a condition on the indexes of a collection. Nil is true for every document.
//
// Values have the types that the index accepts. A condition on a Multi index is true if it is true for any of the document's values; each
// condition is evaluated separately. For a document without a value in the index, a condition on the index is false. A condition with a
// string that is not valid UTF-8 is false, because no document can contain the string.
type Cond interface {
	// write appends SQL that is true for the documents that match the condition; NULL counts as false.
	write(b *builder) error
}

// builder collects a WHERE clause and its arguments.
type builder struct {
	table   *table
	sql     strings.Builder
	args    []any
	inexact bool // see Exact
}

var errInexact = errors.New("the string is too long for this condition to be exact: see docstore.Exact")

func (b *builder) add(sql string, args ...any) {
	b.sql.WriteString(sql)
	b.args = append(b.args, args...)
}

// MaxList is the maximum number of values of In and IDs.
const MaxList = 10_000

type (
	compare struct {
		index, op string
		value     any
	}
	in struct {
		index  string
		values []any
	}
	prefix  struct{ index, prefix string }
	notNull struct{ index string }
	allOf   []Cond
	anyOf   []Cond
	not     struct{ cond Cond }
)

// Eq is true if the index has the value. A nil value equals nothing.
func Eq(index string, value any) Cond { return compare{index, "=", value} }

// Gt is true if the index has a greater value.
func Gt(index string, value any) Cond { return compare{index, ">", value} }

// Ge is true if the index has this value or a greater one.
func Ge(index string, value any) Cond { return compare{index, ">=", value} }

// Lt is true if the index has a smaller value.
func Lt(index string, value any) Cond { return compare{index, "<", value} }

// Le is true if the index has this value or a smaller one.
func Le(index string, value any) Cond { return compare{index, "<=", value} }

// In is true if the index has one of the values. More than MaxList values are an error of the query.
func In(index string, values ...any) Cond { return in{index, values} }

// Prefix is true if the index, of kind Text, has a value that starts with text. An empty text matches every value.
func Prefix(index, text string) Cond { return prefix{index, text} }

// NotNull is true if the index has a value.
func NotNull(index string) Cond { return notNull{index} }

// All is true if every condition is true, and for an empty list.
func All(conds ...Cond) Cond { return allOf(conds) }

// Any is true if at least one condition is true, and false for an empty list.
func Any(conds ...Cond) Cond { return anyOf(conds) }

// Not is true if the condition is false. A comparison is false for a document without a value in the index, so its negation is true.
func Not(cond Cond) Cond { return not{cond} }

// IDs is true for the documents with these ids. More than MaxList ids are an error of the query.
func IDs(ids ...string) Cond {
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	return in{ID, values}
}

const (
	always = "1=1"
	never  = "1=0"
)

func (c compare) write(b *builder) error {
	col, err := b.table.column(c.index)
	if err != nil {
		return err
	}
	key, err := col.operand(c.value)
	if err != nil {
		return err
	}
	if key == nil {
		b.add(never)
		return nil
	}
	op := c.op
	if id, ok := key.(string); ok && c.index == ID && op == "=" {
		where, args := b.table.byID(id)
		b.add("("+where+")", args...)
		return nil
	}
	if text, _, _ := textValue(c.value); col.kind == Text && !col.raw && op != "=" && !Exact(text) {
		b.inexact = true
		from, to := keyRange(text)
		switch {
		case op == ">" || op == ">=":
			op, key = ">=", from
		case to == "":
			return notNull{c.index}.write(b)
		default:
			op, key = "<", to
		}
	}
	col.where(b, func(value string) { b.add(value+" "+op+" ?", key) })
	return nil
}

// lookup reports whether a condition compares one column for equality with a value. The index of the column then returns the documents in
// insertion order without a sort.
func (t *table) lookup(cond Cond) bool {
	c, ok := cond.(compare)
	if !ok || c.op != "=" || c.index == Created || c.index == Updated {
		return false
	}
	col, err := t.column(c.index)
	return err == nil && !col.multi
}

// single reports whether at most one document matches a condition: it compares the id or a unique index for equality with a value.
func (t *table) single(cond Cond) bool {
	c, ok := cond.(compare)
	if !ok || c.op != "=" {
		return false
	}
	return c.index == ID || slices.ContainsFunc(t.indexes, func(ix index) bool { return ix.name == c.index && ix.unique && !ix.multi })
}

func (c in) write(b *builder) error {
	col, err := b.table.column(c.index)
	if err != nil {
		return err
	}
	if len(c.values) > MaxList {
		return fmt.Errorf("%s: more than %d values", c.index, MaxList)
	}
	keys := make([]any, 0, len(c.values))
	for _, value := range c.values {
		key, err := col.operand(value)
		if err != nil {
			return err
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		b.add(never)
		return nil
	}
	if c.index == ID {
		b.writeIDs(keys)
		return nil
	}
	keys = padList(keys)
	col.where(b, func(value string) { b.add(value+" IN ("+placeholders(len(keys))+")", keys...) })
	return nil
}

// padList repeats the last value up to the next power of two: lists of all lengths then share few SQL statements, which the databases keep
// prepared.
func padList(keys []any) []any {
	n := 1
	for n < len(keys) {
		n *= 2
	}
	last := keys[len(keys)-1]
	keys = slices.Grow(keys, n-len(keys))
	for len(keys) < n {
		keys = append(keys, last)
	}
	return keys
}

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func (c prefix) write(b *builder) error {
	col, err := b.table.column(c.index)
	if err != nil {
		return err
	}
	if col.kind != Text {
		return fmt.Errorf("%s: Prefix is for indexes of kind Text", c.index)
	}
	key, err := col.operand(c.prefix)
	switch {
	case err != nil:
		return err
	case key == nil:
		b.add(never)
		return nil
	case c.prefix == "":
		return notNull{c.index}.write(b)
	}
	from, to := keyRange(c.prefix)
	if col.raw {
		from, to = c.prefix, successor(c.prefix)
	} else if !Exact(c.prefix) {
		b.inexact = true
	}
	col.where(b, func(value string) {
		b.add(value+" >= ?", from)
		if to != "" {
			b.add(" AND "+value+" < ?", to)
		}
	})
	return nil
}

func (c notNull) write(b *builder) error {
	col, err := b.table.column(c.index)
	if err != nil {
		return err
	}
	col.where(b, func(value string) { b.add(value + " IS NOT NULL") })
	return nil
}

func (c allOf) write(b *builder) error { return writeList(b, c, " AND ", always) }
func (c anyOf) write(b *builder) error { return writeList(b, c, " OR ", never) }

func writeList(b *builder, conds []Cond, operator, empty string) error {
	if len(conds) == 0 {
		b.add(empty)
		return nil
	}
	b.add("(")
	for i, cond := range conds {
		if i > 0 {
			b.add(operator)
		}
		if err := writeCond(b, cond); err != nil {
			return err
		}
	}
	b.add(")")
	return nil
}

func writeCond(b *builder, cond Cond) error {
	if cond == nil {
		b.add(always)
		return nil
	}
	return cond.write(b)
}

func (c not) write(b *builder) error {
	before := b.inexact
	b.inexact = false
	b.add("(")
	if err := writeCond(b, c.cond); err != nil {
		return err
	}
	if b.inexact { // the SQL also selects documents that do not match the condition; its negation would omit them
		return errInexact
	}
	b.inexact = before
	b.add(") IS NOT TRUE")
	return nil
}

// where writes a test of the column: test receives the SQL of the value. Values of a Multi index are searched in the side table, so that
// the query uses the side table's index.
func (c *column) where(b *builder, test func(value string)) {
	if !c.multi {
		b.add("(")
		test(c.quoted)
		b.add(")")
		return
	}
	b.add("seq IN (SELECT m.seq FROM " + c.side + " m WHERE ")
	test("m." + c.quoted)
	b.add(")")
}
