package search

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// The usual sets of operators.
var (
	Equality = []filter.Op{"eq"}
	Ordering = []filter.Op{"eq", "gt", "ge", "lt", "le"}
	Searches = []filter.Op{"eq", "sw", "gt", "ge", "lt", "le", "pr"}
	Contains = []filter.Op{"eq", "sw", "co", "gt", "ge", "lt", "le", "pr"}
	Moments  = []filter.Op{"eq", "gt", "ge", "lt", "le", "pr"}
)

// Attribute is an attribute that expressions can compare.
type Attribute[T any] struct {
	// Operators lists the allowed operators.
	Operators []filter.Op
	// Normal converts a string to the form for comparisons. Nil compares strings unchanged.
	Normal func(string) string
	// Same converts a string to the form for the operator eq. Default: Normal.
	Same func(string) string
	// Time is true if the attribute is a timestamp. Values then returns time.Time values.
	Time bool
	// Number and Boolean are true if the attribute is compared with a number, or with true and false. Values then returns float64 or bool
	// values.
	Number, Boolean bool
	// Index is the index that supports the comparison, empty if none does. Its values are the results of Key for strings, or the times.
	Index string
	// Key converts a string to the value in the index. Default: Normal.
	Key func(string) string
	// Values returns the values of a document, none if the attribute is missing. They are strings unless Time, Number or Boolean is set. Zero
	// times and empty strings count as missing.
	Values func(*docstore.Doc[T]) []any
}

// Of returns an attribute with values of the kind. It is for the attributes of profiles, which the program reads from a schema. Strings are
// compared ignoring case. For an array, kind is the type of the elements, and the expression is compared with each element. value returns
// the value of a document, or nil.
func Of[T any](kind expression.Kind, value func(*docstore.Doc[T]) any) Attribute[T] {
	a := Attribute[T]{Operators: Searches, Normal: filter.Fold, Values: func(d *docstore.Doc[T]) []any {
		if list, ok := value(d).([]any); ok {
			return list
		}
		return []any{value(d)}
	}}
	switch kind {
	case expression.Number, expression.Integer:
		a.Number, a.Operators = true, Moments
	case expression.Boolean:
		a.Boolean, a.Operators = true, []filter.Op{"eq", "pr"}
	}
	return a
}

// Language maps the attribute names in expressions ("status", "profile.login") to attributes. Names are case-sensitive.
type Language[T any] map[string]Attribute[T]

// Query is a compiled expression. Match is exact. Where selects a superset and may be nil.
type Query[T any] struct {
	Where docstore.Cond
	Match func(*docstore.Doc[T]) bool
	// Exact is true if Where alone is exact too, provided that the indexes hold no values that count as missing. The database then returns
	// exactly the matching documents.
	Exact bool
}

// Compile parses and checks an expression. Errors are *rest.Error with rest.CodeFilter.
func (l Language[T]) Compile(expression string) (Query[T], error) {
	return l.CompileWith(expression, filter.Options{})
}

// CompileWith is Compile with options for the grammar.
func (l Language[T]) CompileWith(expression string, o filter.Options) (Query[T], error) {
	expr, err := filter.ParseWith(expression, o)
	if err != nil {
		detail := err.Error()
		if e, ok := err.(*scim.Error); ok { //nolint:errorlint // the parser returns nothing else
			detail = e.Detail
		}
		return Query[T]{}, &rest.Error{Code: rest.CodeFilter, Summary: "Invalid search criteria. " + detail, Err: err}
	}
	return l.compile(expr)
}

func (l Language[T]) compile(expr filter.Expr) (Query[T], error) {
	switch e := expr.(type) {
	case filter.And:
		x, y, err := l.both(e.X, e.Y)
		return Query[T]{
			Where: docstore.All(x.Where, y.Where),
			Match: func(d *docstore.Doc[T]) bool { return x.Match(d) && y.Match(d) },
			Exact: x.Exact && y.Exact,
		}, err
	case filter.Or:
		x, y, err := l.both(e.X, e.Y)
		q := Query[T]{Match: func(d *docstore.Doc[T]) bool { return x.Match(d) || y.Match(d) }}
		if x.Where != nil && y.Where != nil {
			q.Where, q.Exact = docstore.Any(x.Where, y.Where), x.Exact && y.Exact
		}
		return q, err
	case filter.Compare:
		return l.compare(e.Path, e.Op, e.Value)
	case filter.Present:
		a, err := l.attribute(e.Path, "pr")
		q := Query[T]{Match: func(d *docstore.Doc[T]) bool { return len(present(a.Values(d))) > 0 }}
		if err == nil && a.Index != "" {
			q.Where, q.Exact = docstore.NotNull(a.Index), true
		}
		return q, err
	case filter.Not:
		return Query[T]{}, invalid("the operator 'not' is not supported")
	default:
		return Query[T]{}, invalid("value paths are not supported")
	}
}

func (l Language[T]) both(x, y filter.Expr) (qx, qy Query[T], err error) {
	if qx, err = l.compile(x); err != nil {
		return qx, qy, err
	}
	qy, err = l.compile(y)
	return qx, qy, err
}

func (l Language[T]) attribute(path scim.AttrPath, op filter.Op) (Attribute[T], error) {
	a, ok := l[path.String()]
	if !ok {
		return a, invalid("unknown attribute '%s'", path)
	}
	if !slices.Contains(a.Operators, op) {
		return a, invalid("the attribute '%s' does not support the operator '%s'", path, op)
	}
	return a, nil
}

func (l Language[T]) compare(path scim.AttrPath, op filter.Op, value any) (Query[T], error) {
	a, err := l.attribute(path, op)
	if err != nil {
		return Query[T]{}, err
	}
	switch {
	case a.Number:
		literal, ok := value.(json.Number)
		n, err := literal.Float64()
		if !ok || err != nil {
			return Query[T]{}, invalid("the attribute '%s' must be compared with a number", path)
		}
		return compareWith(a, func(v any) bool { have, ok := v.(float64); return ok && op.Holds(cmp.Compare(have, n)) }), nil
	case a.Boolean:
		want, ok := value.(bool)
		if !ok {
			return Query[T]{}, invalid("the attribute '%s' must be compared with true or false", path)
		}
		return compareWith(a, func(v any) bool { return v == want }), nil
	}
	text, ok := value.(string)
	if !ok {
		return Query[T]{}, invalid("the attribute '%s' must be compared with a string in double quotes", path)
	}
	if a.Time {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return Query[T]{}, invalid("the attribute '%s' must be compared with an RFC 3339 timestamp", path)
		}
		return a.compareTime(op, t), nil
	}
	return a.compareText(op, text), nil
}

// compareWith returns a query that matches the documents for which match returns true for at least one value of the attribute a.
func compareWith[T any](a Attribute[T], match func(any) bool) Query[T] {
	return Query[T]{Match: func(d *docstore.Doc[T]) bool { return slices.ContainsFunc(present(a.Values(d)), match) }}
}

func (a Attribute[T]) compareTime(op filter.Op, t time.Time) Query[T] {
	q := Query[T]{Match: func(d *docstore.Doc[T]) bool {
		return slices.ContainsFunc(present(a.Values(d)), func(v any) bool {
			at, ok := v.(time.Time)
			return ok && op.Holds(at.Truncate(time.Second).Compare(t))
		})
	}}
	if a.Index == "" {
		return q
	}
	// The index has milliseconds, the compared values have seconds.
	from, to := t.Truncate(time.Second), t.Truncate(time.Second).Add(time.Second)
	whole := from.Equal(t)
	upTo := to // the first second that is not before t
	if whole {
		upTo = from
	}
	q.Exact = true
	switch op {
	case "eq":
		q.Where, q.Exact = docstore.All(docstore.Ge(a.Index, from), docstore.Lt(a.Index, to)), whole
	case "gt":
		q.Where = docstore.Ge(a.Index, to)
	case "ge":
		q.Where = docstore.Ge(a.Index, upTo)
	case "lt":
		q.Where = docstore.Lt(a.Index, upTo)
	case "le":
		q.Where = docstore.Lt(a.Index, to)
	}
	return q
}

func (a Attribute[T]) compareText(op filter.Op, text string) Query[T] {
	normal := a.Normal
	if op == "eq" && a.Same != nil {
		normal = a.Same
	}
	if normal == nil {
		normal = func(s string) string { return s }
	}
	want := normal(text)
	q := Query[T]{Match: func(d *docstore.Doc[T]) bool {
		return slices.ContainsFunc(present(a.Values(d)), func(v any) bool {
			have, ok := v.(string)
			return ok && matches(op, normal(have), want)
		})
	}}
	// ids are compared only with eq: their order in the index differs from the order of strings
	if a.Index == "" || a.Index == docstore.ID && op != "eq" {
		return q
	}
	key := a.Key
	if key == nil {
		key = normal
	}
	switch op {
	case "eq":
		q.Where, q.Exact = docstore.Eq(a.Index, key(text)), a.Key == nil && text != ""
	case "sw":
		q.Where = docstore.Prefix(a.Index, key(text))
	case "gt", "ge":
		q.Where = docstore.Ge(a.Index, key(text))
	case "lt", "le":
		q.Where = docstore.Le(a.Index, key(text))
	}
	return q
}

func matches(op filter.Op, have, want string) bool {
	return op.Finds(have, want) || op.Holds(cmp.Compare(have, want))
}

// present omits values that count as missing.
func present(values []any) []any {
	return slices.DeleteFunc(slices.Clone(values), func(v any) bool {
		t, isTime := v.(time.Time)
		return v == nil || v == "" || isTime && t.IsZero()
	})
}

func invalid(format string, args ...any) error {
	return rest.Failf(rest.CodeFilter, "Invalid search criteria: "+format+".", args...)
}
