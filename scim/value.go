package scim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim/internal/jsonlit"
)

// TimeFormat is the format in which this module writes timestamps: xsd:dateTime with milliseconds (RFC 7643 section 2.3.5).
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// Value converts a Go value to a stored kind (see [Object]): integers and floats to json.Number, slices to []any, maps to objects sorted by
// key, a time.Time to a string in [TimeFormat] in UTC. A value of any other type is encoded as JSON and decoded again. A value of a stored
// kind is returned unchanged, not copied. Value returns an error for a value that JSON cannot represent.
func Value(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string:
		return value, nil
	case *Object:
		if v == nil {
			return nil, nil
		}
		return v, nil
	case *Resource:
		if v == nil {
			return nil, nil
		}
		return &v.Object, nil
	case json.Number:
		if end, err := jsonlit.Number(string(v), 0); err != nil || end != len(v) {
			return nil, fmt.Errorf("%q is not a JSON number", string(v))
		}
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a JSON number", v)
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64)), nil
	case time.Time:
		return v.UTC().Format(TimeFormat), nil
	case []any:
		if v != nil && !slices.ContainsFunc(v, notStored) {
			return value, nil // return value, not v: the conversion of v to an interface would allocate memory
		}
		return values(v)
	case []string:
		return convert(v)
	case []*Object:
		return convert(v)
	case map[string]any:
		o := &Object{members: make([]Member, 0, len(v))}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if i := o.find(name); i >= 0 {
				return nil, fmt.Errorf("a map has two names that differ only in case: %q and %q", o.members[i].Name, name)
			}
			e, err := Value(v[name])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o.members = append(o.members, Member{Name: name, Value: e})
		}
		return o, nil
	default:
		return viaJSON(v)
	}
}

// values normalizes the elements and copies the slice only if one of them changes.
func values(in []any) (any, error) {
	if in == nil {
		return []any{}, nil
	}
	out, copied := in, false
	for i, e := range in {
		if stored(e) {
			continue
		}
		v, err := Value(e)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if !copied {
			out, copied = slices.Clone(in), true
		}
		out[i] = v
	}
	return out, nil
}

func stored(v any) bool {
	switch v := v.(type) {
	case nil, bool, string:
		return true
	case *Object:
		return v != nil
	}
	return false
}

func notStored(v any) bool { return !stored(v) }

func convert[T any](in []T) (any, error) {
	out := make([]any, len(in))
	for i, e := range in {
		v, err := Value(e)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

func viaJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := decoder{s: string(data), maxDepth: MaxDepth, maxMembers: MaxMembers}
	return d.value()
}

// Equal compares two stored values deeply. The order of an object's members and the case of their names are ignored; the order of array
// elements is not. Numbers are equal by value: 1 equals 1.0 and 1e0.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		if a == b {
			return true
		}
		for i, m := range a.members {
			// The order of members is compared first, because representations of the same resource usually have the same order.
			v := b.members[i].Value
			if !EqualName(m.Name, b.members[i].Name) {
				if v, ok = b.Get(m.Name); !ok {
					return false
				}
			}
			if !Equal(m.Value, v) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || CompareNumbers(a, b) == 0)
	default:
		switch b.(type) {
		case []any, *Object:
			return false
		}
		return a == b
	}
}

// CompareNumbers compares two JSON numbers by value, without rounding: -1, 0 or +1.
func CompareNumbers(a, b json.Number) int {
	x, y := parseDecimal(string(a)), parseDecimal(string(b))
	switch {
	case x.sign != y.sign:
		return cmp.Compare(x.sign, y.sign)
	case x.exp != y.exp:
		return x.sign * cmp.Compare(x.exp, y.exp)
	default:
		// Both are 0.digits times ten to the same power. A missing digit is a zero, and the shorter one sorts first.
		return x.sign * cmp.Compare(x.digits, y.digits)
	}
}

// IsInteger reports whether the number is an integer in any notation, such as 1.0 or 1e3 (RFC 7643 section 2.3.4 does not allow a
// fraction).
func IsInteger(n json.Number) bool {
	d := parseDecimal(string(n))
	return int64(len(d.digits)) <= max(d.exp, 0)
}

// decimal is the number sign * 0.digits * 10^exp. digits has no zero at either end and is empty for the number zero. Exponents outside the
// range of int64 become its minimum or maximum, because such numbers are only compared with others.
type decimal struct {
	sign   int
	digits string
	exp    int64
}

func parseDecimal(s string) decimal {
	d := decimal{sign: 1}
	if s != "" && s[0] == '-' {
		d.sign, s = -1, s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil || e > math.MaxInt64/2 || e < math.MinInt64/2 {
			e = math.MaxInt64 / 2
			if s[i+1] == '-' {
				e = -e
			}
		}
		d.exp, s = e, s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.digits = whole + fraction
	d.exp += int64(len(whole))
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exp -= int64(len(d.digits) - len(trimmed))
	if d.digits = strings.TrimRight(trimmed, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}
