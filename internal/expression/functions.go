package expression

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// aFunction is one function of the language. A null argument makes the result null, unless nulls is set.
type aFunction struct {
	name    string
	types   []any // pointers to the Go types of its overloads; the first that matches the arguments determines the type of the result
	do      func(args []any) any
	nulls   bool // do handles null arguments
	context bool // the first argument of do is the *context
	hidden  bool // the function implements an operator
}

func (f aFunction) run(args ...any) (any, error) {
	for i, a := range args {
		args[i] = normal(a)
		if args[i] == nil && !f.nulls {
			return nil, nil
		}
	}
	out := f.do(args)
	if err, failed := out.(error); failed {
		return nil, err
	}
	return out, nil
}

func function(name string) (aFunction, bool) {
	i := slices.IndexFunc(functions, func(f aFunction) bool { return f.name == name })
	if i < 0 {
		return aFunction{}, false
	}
	return functions[i], true
}

// The types of functions, for the checker.
type (
	s1    = func(string) string
	s2    = func(string, string) string
	sBool = func(string, string) bool
)

func str(args []any, i int) string { return text(args[i]) }

var functions = []aFunction{
	{name: "String.append", types: []any{new(s2)}, nulls: true, do: func(a []any) any { return str(a, 0) + str(a, 1) }},
	{name: "String.join", types: []any{new(func(string, ...any) string)}, nulls: true, do: join},
	{name: "String.len", types: []any{new(func(string) int)}, do: func(a []any) any { return len([]rune(str(a, 0))) }},
	{name: "String.removeSpaces", types: []any{new(s1)}, do: func(a []any) any { return strings.Join(strings.Fields(str(a, 0)), "") }},
	{name: "String.replace", types: []any{new(func(string, string, string) string)}, do: func(a []any) any {
		return replace(str(a, 0), str(a, 1), str(a, 2), -1)
	}},
	{name: "String.replaceFirst", types: []any{new(func(string, string, string) string)}, do: func(a []any) any {
		return replace(str(a, 0), str(a, 1), str(a, 2), 1)
	}},
	{name: "String.startsWith", types: []any{new(sBool)}, do: func(a []any) any { return strings.HasPrefix(str(a, 0), str(a, 1)) }},
	{name: "String.stringContains", types: []any{new(sBool)}, do: func(a []any) any { return strings.Contains(str(a, 0), str(a, 1)) }},
	{name: "String.stringSwitch", types: []any{new(func(string, string, ...string) string)}, nulls: true, do: stringSwitch},
	{name: "String.substring", types: []any{new(func(string, int) string), new(func(string, int, int) string)}, do: substring},
	{name: "String.substringAfter", types: []any{new(s2)}, do: substringAfter},
	{name: "String.substringBefore", types: []any{new(s2)}, do: substringBefore},
	{name: "fn_substringAfter", types: []any{new(s2)}, do: substringAfter},
	{name: "fn_substringBefore", types: []any{new(s2)}, nulls: true, do: wholeOrBefore},
	{name: "String.toLowerCase", types: []any{new(s1)}, do: func(a []any) any { return strings.ToLower(str(a, 0)) }},
	{name: "String.toUpperCase", types: []any{new(s1)}, do: func(a []any) any { return strings.ToUpper(str(a, 0)) }},

	{name: "Arrays.add", types: []any{new(func([]any, any) []any)}, nulls: true, do: func(a []any) any {
		return append(slices.Clone(list(a[0])), a[1])
	}},
	{name: "Arrays.clear", types: []any{new(func([]any) []any)}, nulls: true, do: func([]any) any { return []any{} }},
	{name: "Arrays.contains", types: []any{new(func([]any, any) bool)}, nulls: true, do: func(a []any) any {
		return slices.ContainsFunc(list(a[0]), func(v any) bool { return equal(v, a[1]) })
	}},
	{name: "Arrays.flatten", types: []any{new(func(...any) []any)}, nulls: true, do: func(a []any) any { return flatten(nil, a) }},
	{name: "Arrays.get", types: []any{new(func([]any, int) any)}, do: func(a []any) any {
		if i, l := whole(a[1]), list(a[0]); i >= 0 && i < len(l) {
			return l[i]
		}
		return nil
	}},
	{name: "Arrays.isEmpty", types: []any{new(func([]any) bool)}, nulls: true, do: func(a []any) any { return len(list(a[0])) == 0 }},
	{name: "Arrays.remove", types: []any{new(func([]any, any) []any)}, nulls: true, do: func(a []any) any {
		return slices.DeleteFunc(slices.Clone(list(a[0])), func(v any) bool { return equal(v, a[1]) })
	}},
	{name: "Arrays.size", types: []any{new(func([]any) int)}, nulls: true, do: func(a []any) any { return len(list(a[0])) }},
	{name: "Arrays.toCsvString", types: []any{new(func([]any) string)}, do: func(a []any) any { return csv(list(a[0])) }},

	{name: "Convert.toInt", types: []any{new(func(any) int)}, do: func(a []any) any {
		if f, ok := number(a[0]); ok && math.Abs(f) < 1<<53 {
			return int(math.Round(f))
		}
		return nil
	}},
	{name: "Convert.toNum", types: []any{new(func(any) float64)}, do: func(a []any) any {
		if f, ok := number(a[0]); ok {
			return f
		}
		return nil
	}},

	{name: "Time.now", types: []any{new(func() string), new(func(string) string)}, do: now},
	{name: "Time.fromWindowsToIso8601", types: []any{new(func(any) string)}, do: fromWindows},

	{name: "isMemberOfGroup", context: true, types: []any{new(func(*context, string) bool)},
		do: inGroup(func(g Group, v string) bool { return g.ID == v })},
	{name: "isMemberOfAnyGroup", context: true, types: []any{new(func(*context, ...string) bool)},
		do: inGroup(func(g Group, v string) bool { return g.ID == v })},
	{name: "isMemberOfGroupName", context: true, types: []any{new(func(*context, string) bool)},
		do: inGroup(func(g Group, v string) bool { return g.Name == v })},
	{name: "isMemberOfGroupNameStartsWith", context: true, types: []any{new(func(*context, string) bool)},
		do: inGroup(func(g Group, v string) bool { return strings.HasPrefix(g.Name, v) })},
	{name: "isMemberOfGroupNameContains", context: true, types: []any{new(func(*context, string) bool)},
		do: inGroup(func(g Group, v string) bool { return strings.Contains(g.Name, v) })},
	{name: "isMemberOfGroupNameRegex", context: true, types: []any{new(func(*context, string) bool)}, do: groupRegex},
	{name: "Groups.startsWith", context: true, types: []any{new(func(*context, string, string, int) []any)},
		do: groupNames(strings.HasPrefix)},
	{name: "Groups.contains", context: true, types: []any{new(func(*context, string, string, int) []any)}, do: groupNames(strings.Contains)},
	{name: "Groups.endsWith", context: true, types: []any{new(func(*context, string, string, int) []any)}, do: groupNames(strings.HasSuffix)},

	{name: "truth", hidden: true, nulls: true, types: []any{new(func(bool) bool)}, do: func(a []any) any {
		switch v := a[0].(type) {
		case bool:
			return v
		case nil:
			return false
		default:
			return fmt.Errorf("%v is not true or false", v)
		}
	}},
	{name: "add", hidden: true, nulls: true, types: []any{
		new(func(int, int) int), new(func(float64, float64) float64), new(func(int, float64) float64), new(func(float64, int) float64),
		new(func(any, any) string),
	}, do: add},
	{name: "equal", hidden: true, nulls: true, types: []any{new(func(any, any) bool)}, do: func(a []any) any { return equal(a[0], a[1]) }},
	{name: "unequal", hidden: true, nulls: true, types: []any{new(func(any, any) bool)}, do: func(a []any) any { return !equal(a[0], a[1]) }},
	{name: "less", hidden: true, nulls: true, types: ordered, do: order(func(c int) bool { return c < 0 })},
	{name: "lessOrEqual", hidden: true, nulls: true, types: ordered, do: order(func(c int) bool { return c <= 0 })},
	{name: "greater", hidden: true, nulls: true, types: ordered, do: order(func(c int) bool { return c > 0 })},
	{name: "greaterOrEqual", hidden: true, nulls: true, types: ordered, do: order(func(c int) bool { return c >= 0 })},
}

// ordered are the types that can be compared: numbers and strings, but not booleans or lists. A number cannot be compared with a string.
var ordered = []any{
	new(func(string, string) bool), new(func(int, int) bool), new(func(float64, float64) bool), new(func(int, float64) bool),
	new(func(float64, int) bool),
}

// normal converts a value to one of the types that Eval returns.
func normal(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int, float64, []any, map[string]any, *context:
		return v
	case json.Number:
		if i, err := strconv.Atoi(string(v)); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return nil
		}
		return f
	case int64:
		return int(v)
	case float32:
		return float64(v)
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.000Z")
	default:
		return v
	}
}

// text returns the string of a value in a concatenation. Null is empty.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		return csv(v)
	default:
		return fmt.Sprint(v)
	}
}

func csv(l []any) string {
	texts := make([]string, len(l))
	for i, v := range l {
		texts[i] = text(v)
	}
	return strings.Join(texts, ",")
}

// list converts a single value to a list with one element, and null to an empty list.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// whole converts an index to an integer; any other value becomes -1, which is before every element.
func whole(v any) int {
	if f, ok := number(v); ok && math.Abs(f) < 1<<31 {
		return int(f)
	}
	return -1
}

func numeric(v any) bool {
	switch v.(type) {
	case int, float64:
		return true
	default:
		return false
	}
}

func equal(a, b any) bool {
	if numeric(a) && numeric(b) {
		x, _ := number(a)
		y, _ := number(b)
		return x == y
	}
	if l, isList := a.([]any); isList {
		m, alike := b.([]any)
		return alike && slices.EqualFunc(l, m, equal)
	}
	switch a.(type) {
	case nil, bool, string:
		return a == b
	default:
		return false
	}
}

func add(a []any) any {
	if numeric(a[0]) && numeric(a[1]) {
		x, xInt := a[0].(int)
		y, yInt := a[1].(int)
		if xInt && yInt {
			return x + y
		}
		f, _ := number(a[0])
		g, _ := number(a[1])
		return f + g
	}
	return text(a[0]) + text(a[1])
}

func order(holds func(int) bool) func([]any) any {
	return func(a []any) any {
		switch {
		case a[0] == nil, a[1] == nil:
			return false
		case numeric(a[0]) && numeric(a[1]):
			x, _ := number(a[0])
			y, _ := number(a[1])
			return holds(cmp.Compare(x, y))
		}
		x, xText := a[0].(string)
		y, yText := a[1].(string)
		if !xText || !yText {
			return fmt.Errorf("%v and %v cannot be compared", a[0], a[1])
		}
		return holds(cmp.Compare(x, y))
	}
}

func join(a []any) any {
	var parts []string
	for _, v := range flatten(nil, a[1:]) {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, str(a, 0))
}

func flatten(into, l []any) []any {
	for _, v := range l {
		if inner, ok := v.([]any); ok {
			into = flatten(into, inner)
		} else if v != nil {
			into = append(into, v)
		}
	}
	return into
}

// replace with an empty old returns s unchanged, unlike strings.Replace.
func replace(s, old, with string, n int) any {
	if old == "" {
		return s
	}
	if grows := strings.Count(s, old) * len(with); grows > maxMemory {
		return errors.New("the result would be too long")
	}
	return strings.Replace(s, old, with, n)
}

// stringSwitch takes an input, a default and pairs of a key and a value. It returns the value of the first key that equals the input. If no
// key does, or the input is null, it returns the default.
func stringSwitch(a []any) any {
	for i := 2; i+1 < len(a); i += 2 {
		if a[0] != nil && str(a, 0) == str(a, i) {
			return a[i+1]
		}
	}
	return a[1]
}

// substring counts characters; bounds outside the string are clamped.
func substring(a []any) any {
	r := []rune(str(a, 0))
	from, to := whole(a[1]), len(r)
	if len(a) > 2 {
		to = min(max(whole(a[2]), 0), len(r))
	}
	from = min(max(from, 0), len(r))
	if from >= to {
		return ""
	}
	return string(r[from:to])
}

func substringAfter(a []any) any {
	if _, after, found := strings.Cut(str(a, 0), str(a, 1)); found {
		return after
	}
	return ""
}

// wholeOrBefore returns the part of a string before the separator. It returns the whole string if the separator does not occur: the user
// name of a login without "@" is the whole login.
func wholeOrBefore(a []any) any {
	whole, separator := str(a, 0), str(a, 1)
	if separator == "" {
		return whole
	}
	before, _, _ := strings.Cut(whole, separator)
	return before
}

func substringBefore(a []any) any {
	if before, _, found := strings.Cut(str(a, 0), str(a, 1)); found {
		return before
	}
	return ""
}

// now returns the time in ISO 8601 format, in UTC or the given time zone.
func now(a []any) any {
	if len(a) == 0 {
		return time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	}
	zone, err := time.LoadLocation(str(a, 0))
	if err != nil {
		return nil
	}
	return time.Now().In(zone).Format("2006-01-02T15:04:05.000Z07:00")
}

// windowsEpoch is 1601-01-01 in Unix seconds, the start of Windows time, which counts units of 100 ns.
const windowsEpoch = -11644473600

func fromWindows(a []any) any {
	n, err := strconv.ParseInt(text(a[0]), 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return time.Unix(windowsEpoch+n/1e7, n%1e7*100).UTC().Format("2006-01-02T15:04:05.000Z")
}

func inGroup(matches func(Group, string) bool) func([]any) any {
	return func(a []any) any {
		for _, g := range a[0].(*context).groups {
			for _, v := range a[1:] {
				if matches(g, text(v)) {
					return true
				}
			}
		}
		return false
	}
}

func groupRegex(a []any) any {
	pattern, err := regexp.Compile(str(a, 1))
	if err != nil {
		return nil
	}
	return slices.ContainsFunc(a[0].(*context).groups, func(g Group) bool { return pattern.MatchString(g.Name) })
}

// groupNames returns the names of groups of one source; an empty source selects all.
func groupNames(matches func(name, text string) bool) func([]any) any {
	return func(a []any) any {
		out := []any{}
		for _, g := range a[0].(*context).groups {
			if len(out) >= whole(a[3]) {
				break
			}
			if app := str(a, 1); (app == "" || strings.EqualFold(app, g.App)) && matches(g.Name, str(a, 2)) {
				out = append(out, g.Name)
			}
		}
		return out
	}
}
