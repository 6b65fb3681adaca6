package syslog

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// predicate reports whether an event, in the form of members, satisfies an expression.
type predicate func(event any) bool

// members returns the JSON members of an event for filter expressions.
func members(event LogEvent) any {
	data, err := json.Marshal(event)
	if err != nil {
		return nil // cannot happen: an event contains only strings, numbers and maps
	}
	var out any
	_ = json.Unmarshal(data, &out) // cannot fail: json.Marshal has generated the JSON
	return out
}

// compile parses an expression. An invalid expression is a rest.CodeLogFilter error.
func compile(expression string) (predicate, error) {
	expr, err := filter.ParseWith(expression, filter.Options{DeepPaths: true})
	if err != nil {
		detail := err.Error()
		if e, ok := err.(*scim.Error); ok { //nolint:errorlint // the parser returns nothing else
			detail = e.Detail
		}
		return nil, bad("%s", detail)
	}
	return translate(expr)
}

func bad(format string, args ...any) error {
	return rest.Failf(rest.CodeLogFilter, "Invalid filter: "+format+".", args...)
}

func translate(expr filter.Expr) (predicate, error) {
	switch e := expr.(type) {
	case filter.And:
		return both(e.X, e.Y, func(x, y bool) bool { return x && y })
	case filter.Or:
		return both(e.X, e.Y, func(x, y bool) bool { return x || y })
	case filter.Not:
		x, err := translate(e.X)
		return func(event any) bool { return !x(event) }, err
	case filter.Present:
		names, _, err := find(e.Path)
		return func(event any) bool {
			return anyOf(event, names, func(value any) bool { return value != "" })
		}, err
	case filter.Compare:
		return compare(e)
	default:
		return nil, bad("value paths are not supported")
	}
}

func both(x, y filter.Expr, join func(x, y bool) bool) (predicate, error) {
	px, err := translate(x)
	if err != nil {
		return nil, err
	}
	py, err := translate(y)
	return func(event any) bool { return join(px(event), py(event)) }, err
}

// scalar is the type of the values of a member.
type scalar int

const (
	text scalar = iota
	number
	moment
	truth
)

// find returns the names in a path of a filter, and the type of the values of the member that the path leads to. It rejects a path that
// LogEvent does not have, or that leads to an object. A map has every member, with string values.
func find(path scim.AttrPath) (names []string, kind scalar, err error) {
	names = strings.Split(path.String(), ".")
	t := reflect.TypeFor[LogEvent]()
	for i, name := range names {
		field, ok := member(t, name)
		if !ok {
			return nil, 0, bad("unknown attribute '%s'", path)
		}
		if strings.Join(names[:i+1], ".") == "published" {
			kind = moment
		}
		for t = field; t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice; {
			t = t.Elem()
		}
		if t.Kind() == reflect.Interface {
			t = reflect.TypeFor[string]()
		}
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return nil, 0, bad("the attribute '%s' is an object and has no value", path)
	case reflect.Int:
		kind = number
	case reflect.Bool:
		kind = truth
	}
	return names, kind, nil
}

// member returns the type of the member of t that has the JSON name.
func member(t reflect.Type, name string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for i := range t.NumField() {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
				return t.Field(i).Type, true
			}
		}
	}
	return nil, false
}

func compare(e filter.Compare) (predicate, error) {
	names, kind, err := find(e.Path)
	if err != nil {
		return nil, err
	}
	holds, err := comparison(e, kind)
	if err != nil {
		return nil, err
	}
	if e.Op == filter.Ne {
		// An array matches only if none of its values is equal. A missing member does not match.
		return func(event any) bool {
			return anyOf(event, names, holds) && !anyOf(event, names, func(v any) bool { return !holds(v) })
		}, nil
	}
	return func(event any) bool { return anyOf(event, names, holds) }, nil
}

// comparison returns a function that reports whether a value of the member, which is not null, satisfies the comparison.
func comparison(e filter.Compare, kind scalar) (func(value any) bool, error) {
	mismatch := bad("the attribute '%s' cannot be compared with this value", e.Path)
	switch want := e.Value.(type) {
	case nil:
		return nil, mismatch
	case bool:
		if kind != truth || e.Op != filter.Eq && e.Op != filter.Ne {
			return nil, mismatch
		}
		return func(value any) bool { return (value == want) == (e.Op == filter.Eq) }, nil
	case json.Number:
		n, err := want.Float64()
		if kind != number || err != nil || e.Op.Textual() {
			return nil, mismatch
		}
		return func(value any) bool {
			have, ok := value.(float64)
			return ok && e.Op.Holds(cmp.Compare(have, n))
		}, nil
	case string:
		return textComparison(e.Op, kind, want, mismatch)
	default:
		return nil, mismatch
	}
}

func textComparison(op filter.Op, kind scalar, want string, mismatch error) (func(value any) bool, error) {
	switch {
	case kind == moment && op.Textual() || kind == number || kind == truth:
		return nil, mismatch
	case kind == moment:
		at, err := time.Parse(time.RFC3339, want)
		if err != nil {
			return nil, mismatch
		}
		return func(value any) bool {
			have, _ := value.(string)
			t, err := time.Parse(time.RFC3339, have)
			return err == nil && op.Holds(t.Compare(at))
		}, nil
	}
	return func(value any) bool {
		have, ok := value.(string)
		if !ok {
			return false
		}
		switch {
		case op.Textual():
			return op.Finds(have, want)
		case op == filter.Eq, op == filter.Ne:
			return op.Holds(strings.Compare(have, want))
		default:
			return op.Holds(strings.Compare(strings.ToLower(have), strings.ToLower(want)))
		}
	}, nil
}

// anyOf reports whether any value at a path, through all elements of arrays, satisfies the condition. A null or missing member has no
// value.
func anyOf(value any, names []string, holds func(any) bool) bool {
	switch v := value.(type) {
	case nil:
		return false
	case []any:
		for _, element := range v {
			if anyOf(element, names, holds) {
				return true
			}
		}
		return false
	case map[string]any:
		return len(names) > 0 && anyOf(v[names[0]], names[1:], holds)
	default:
		return len(names) == 0 && holds(v)
	}
}
