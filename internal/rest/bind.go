package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
)

// input is the input of an operation.
type input struct {
	request *http.Request
	vars    map[string]string // unescaped
	limit   int64             // maximum size of the body, in bytes
}

func (s *requestShape) bindPath(to reflect.Value, vars map[string]string) {
	for _, f := range s.path {
		f.of(to).SetString(vars[f.name])
	}
}

// bind fills the request from headers, cookies, query and body. It returns an error if the body cannot be read, and records all other
// errors in causes.
func (s *requestShape) bind(to reflect.Value, in *input, causes *Causes) error {
	streamed := s.body != nil && s.body.shape.kind == kindStream
	var body any
	var err error
	if streamed {
		err = s.bindStream(to, in.request)
	} else {
		body, err = s.readBody(in)
	}
	if err != nil {
		return err
	}
	for _, f := range s.header {
		if value := in.request.Header.Get(f.name); value != "" {
			f.of(to).SetString(value)
		}
	}
	for _, f := range s.cookie {
		if cookie, err := in.request.Cookie(f.name); err == nil {
			f.of(to).SetString(cookie.Value)
		}
	}
	query := in.request.URL.Query()
	if err := checkParameters(query); err != nil {
		return err
	}
	for _, f := range s.query {
		f.bindText(f.of(to), query.Get(f.name), causes)
	}
	if s.body != nil && body != nil {
		s.body.bindJSON(s.body.of(to), body, "", causes)
	}
	return s.bindForm(to, in, causes)
}

// readBody returns the decoded JSON object or array of the body of a POST, PUT or PATCH. It returns nil for other methods, for forms, for
// an empty body, and if the operation takes no body. In the last case, it still checks the media type of the body.
func (s *requestShape) readBody(in *input) (any, error) {
	if m := in.request.Method; m != http.MethodPost && m != http.MethodPut && m != http.MethodPatch || len(s.form) > 0 {
		return nil, nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, in.request.Body, in.limit))
	if err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, Failf(CodeBody, "The request body is larger than %d bytes.", tooLarge.Limit)
		}
		return nil, &Error{Code: CodeBody, Summary: "The request body could not be read.", Err: err}
	}
	data = bytes.TrimSpace(data)
	if len(data) > 0 {
		if media, _, err := mime.ParseMediaType(in.request.Header.Get("Content-Type")); err != nil || media != "application/json" {
			return nil, Fail(CodeMediaType)
		}
	}
	if len(data) == 0 || string(data) == "null" { // generated clients send null if the caller sets no body
		if s.bodyRequired {
			return nil, Failf(CodeBody, textNoBody)
		}
		return nil, nil
	}
	if s.body == nil {
		return nil, nil
	}
	value, err := parse(data)
	if err != nil {
		return nil, err
	}
	if s.body.shape.kind == kindVerbatim {
		return json.RawMessage(data), nil
	}
	if _, isArray := value.([]any); isArray != (s.body.shape.kind == kindArray) {
		return nil, Failf(CodeBody, "The request body is not a JSON %s.", s.body.shape.kind.container())
	}
	return value, nil
}

// container returns the JSON name of the body's kind.
func (k kind) container() string {
	if k == kindArray {
		return "array"
	}
	return "object"
}

// parse reads a JSON object or array. It rejects duplicate members, because JSON parsers differ in which of them they use. It rejects
// U+0000 in strings, which a database or a target may reject or treat as the end of the string.
func parse(data []byte) (any, error) {
	value, err := scim.DecodeValue(data)
	if syntax, ok := errors.AsType[*scim.SyntaxError](err); ok {
		return nil, &Error{Code: CodeBody, Summary: fmt.Sprintf("The request body is not valid JSON: %s.", syntax), Err: err}
	}
	switch value.(type) {
	case map[string]any, []any:
	default:
		return nil, Failf(CodeBody, "The request body is neither a JSON object nor an array.")
	}
	if hasNUL(value) {
		var causes Causes
		causes.addNUL("", value)
		return nil, causes.err()
	}
	return value, nil
}

// of returns the field's value in the struct, without following pointers.
func (f *field) of(object reflect.Value) reflect.Value { return object.FieldByIndex(f.index) }

// indirect follows pointers, allocating them if nil, and returns the value that can be set.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	return v
}

// bindText binds a parameter. An empty string is an absent parameter.
func (f *field) bindText(to reflect.Value, text string, causes *Causes) {
	if text == "" {
		f.bindDefault(to, causes, f.name)
		return
	}
	value, err := f.scalar(text)
	if err != nil {
		causes.Add(f.name, "%s", f.expected())
		return
	}
	f.set(to, value, f.name, causes)
}

func (f *field) bindDefault(to reflect.Value, causes *Causes, path string) {
	if f.required {
		causes.Blank(path)
	}
	if f.hasDefault {
		value, err := f.scalar(f.fallback)
		if err == nil { // always nil: fieldsOf has validated the default
			f.set(to, value, path, causes)
		}
	}
}

// expected returns the error message for a value of the wrong type.
func (f *field) expected() string {
	switch f.shape.kind {
	case kindText:
		return "The value must be a string"
	case kindBool:
		return "The value must be true or false"
	case kindInteger:
		if f.min != nil && *f.min == 1 {
			return "The value must be a positive integer"
		}
		return "The value must be an integer"
	case kindNumber:
		return "The value must be a number"
	case kindTime:
		return "The value must be an RFC 3339 timestamp"
	case kindArray:
		return "The value must be an array"
	default:
		return "The value must be an object"
	}
}

// set checks a scalar against the tags and stores it.
func (f *field) set(to reflect.Value, value any, path string, causes *Causes) {
	switch v := value.(type) {
	case string:
		if len(f.enum) > 0 && !slices.Contains(f.enum, v) {
			causes.Add(path, "The value must be one of: %s", strings.Join(f.enum, ", "))
			return
		}
		if !f.inBounds(float64(utf8.RuneCountInString(v))) {
			causes.Add(path, "The field must have %s characters", f.bounds())
			return
		}
		indirect(to).SetString(v)
	case bool:
		indirect(to).SetBool(v)
	case int64:
		if f.clamp && f.max != nil && float64(v) > *f.max {
			v = int64(*f.max)
		}
		if !f.inBounds(float64(v)) {
			if f.max == nil || f.clamp {
				causes.Add(path, "%s", f.expected())
			} else {
				causes.Add(path, "The value must be %s", f.bounds())
			}
			return
		}
		target := indirect(to)
		if target.OverflowInt(v) {
			causes.Add(path, "%s", f.expected())
			return
		}
		target.SetInt(v)
	case float64:
		if !f.inBounds(v) {
			causes.Add(path, "The value must be %s", f.bounds())
			return
		}
		indirect(to).SetFloat(v)
	}
}

func (f *field) inBounds(n float64) bool {
	return (f.min == nil || n >= *f.min) && (f.max == nil || n <= *f.max)
}

func (f *field) bounds() string {
	number := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	switch {
	case f.max == nil:
		return "at least " + number(f.min)
	case f.min == nil || *f.min == 0 && f.shape.kind == kindText:
		return "at most " + number(f.max)
	default:
		return "between " + number(f.min) + " and " + number(f.max)
	}
}

// bindObject binds a JSON object to a struct or a map.
func bindObject(to reflect.Value, s *shape, object map[string]any, path string, causes *Causes) {
	target := indirect(to)
	if s.kind == kindMap {
		bindMap(target, s, object, path, causes)
		return
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.readOnly {
			continue
		}
		at := f.name
		if path != "" {
			at = path + "." + f.name
		}
		f.bindJSON(f.of(target), object[f.name], at, causes)
	}
}

func bindMap(target reflect.Value, s *shape, object map[string]any, path string, causes *Causes) {
	out := reflect.MakeMapWithSize(target.Type(), len(object))
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names) // so that causes come in a stable order
	for _, name := range names {
		element := reflect.New(target.Type().Elem()).Elem()
		f := field{name: name, shape: s.elem}
		f.bindJSON(element, object[name], path+"."+name, causes)
		out.SetMapIndex(reflect.ValueOf(name).Convert(target.Type().Key()), element)
	}
	target.Set(out)
}

// bindJSON binds a member of a body. A null counts as absent, unless the member accepts any value.
func (f *field) bindJSON(to reflect.Value, value any, path string, causes *Causes) {
	if f.shape.kind == kindAny && value != nil {
		to.Set(reflect.ValueOf(value))
		return
	}
	if text, ok := value.(string); ok && f.missing(text) {
		value = nil
	}
	if value == nil {
		f.bindDefault(to, causes, path)
		return
	}
	switch f.shape.kind {
	case kindVerbatim:
		raw, ok := value.(json.RawMessage) // the field is the whole body, which readBody returned unchanged
		if !ok {
			raw, _ = json.Marshal(value) // cannot fail: the value was parsed from JSON
		}
		to.Set(reflect.ValueOf(raw))
	case kindObject, kindMap:
		object, ok := value.(map[string]any)
		if !ok {
			causes.Add(path, "%s", f.expected())
			return
		}
		if f.shape.kind == kindMap && !f.inBounds(float64(len(object))) {
			causes.Add(path, "The field must have %s elements", f.bounds())
			return
		}
		bindObject(to, f.shape, object, path, causes)
	case kindArray:
		f.bindArray(to, value, path, causes)
	case kindTime:
		text, _ := value.(string)
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			causes.Add(path, "%s", f.expected())
			return
		}
		if target := indirect(to); target.Type() == wireTime {
			target.Set(reflect.ValueOf(Time{t}))
		} else {
			target.Set(reflect.ValueOf(t))
		}
	default:
		scalar, ok := f.scalarOf(value)
		if !ok {
			causes.Add(path, "%s", f.expected())
			return
		}
		f.set(to, scalar, path, causes)
	}
}

func (f *field) bindArray(to reflect.Value, value any, path string, causes *Causes) {
	elements, ok := value.([]any)
	if !ok {
		causes.Add(path, "%s", f.expected())
		return
	}
	if !f.inBounds(float64(len(elements))) {
		causes.Add(path, "The field must have %s elements", f.bounds())
		return
	}
	target := indirect(to)
	out := reflect.MakeSlice(target.Type(), len(elements), len(elements))
	for i, element := range elements {
		at := fmt.Sprintf("%s[%d]", path, i)
		ef := field{name: f.name, shape: f.shape.elem, enum: f.enum}
		if element == nil && ef.shape.kind != kindAny {
			causes.Add(at, "%s", ef.expected())
			continue
		}
		ef.bindJSON(out.Index(i), element, at, causes)
	}
	target.Set(out)
}

// missing reports whether a string in a body counts as absent.
func (f *field) missing(text string) bool {
	switch {
	case text == "":
		return f.emptyGone || f.required
	case f.writeOnly: // a secret may be any string
		return false
	}
	return f.required && strings.TrimSpace(text) == ""
}

// scalarOf converts a JSON scalar to the kind of the field.
func (f *field) scalarOf(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		return v, f.shape.kind == kindText
	case bool:
		return v, f.shape.kind == kindBool
	case json.Number:
		switch f.shape.kind {
		case kindInteger:
			if n, err := v.Int64(); err == nil {
				return n, true
			}
			// 1.0 and 1e3 are integers too.
			n, err := v.Float64()
			return int64(n), err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
		case kindNumber:
			n, err := v.Float64()
			return n, err == nil
		}
	}
	return nil, false
}
