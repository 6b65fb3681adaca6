package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is the JSON type of a member.
type kind int

const (
	kindAny kind = iota + 1
	kindText
	kindBool
	kindInteger
	kindNumber
	kindTime
	kindArray
	kindMap
	kindObject
	kindVerbatim // any JSON value, unchanged: json.RawMessage
	kindStream   // a body of lines that the operation reads itself: Stream
)

// shape describes a Go type as JSON, for decoding, validation and the OpenAPI document.
type shape struct {
	kind   kind
	typ    reflect.Type // without pointers
	elem   *shape       // shape of the elements of an array or a map
	fields []field      // members of an object, in the order of declaration
}

// field is a member of an object or a parameter of a request.
type field struct {
	name       string
	index      []int // for reflect.Value.FieldByIndex
	shape      *shape
	pointer    bool
	omit       bool // omitted from responses if empty
	doc        string
	format     string
	enum       []string
	min, max   *float64
	required   bool
	readOnly   bool
	writeOnly  bool
	clamp      bool
	emptyGone  bool
	fallback   string
	hasDefault bool
}

var (
	stdTime  = reflect.TypeFor[time.Time]()
	wireTime = reflect.TypeFor[Time]()
	verbatim = reflect.TypeFor[json.RawMessage]()
	stream   = reflect.TypeFor[Stream]()
)

// shaper compiles types to shapes. The map contains the compiled types, so that types may be recursive.
type shaper struct {
	known map[reflect.Type]*shape
	words Words
}

func newShaper(words Words) shaper { return shaper{known: map[reflect.Type]*shape{}, words: words} }

func (s shaper) shapeOf(t reflect.Type) (*shape, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known, ok := s.known[t]; ok {
		return known, nil
	}
	out := &shape{typ: t}
	s.known[t] = out
	if t == stdTime || t == wireTime {
		out.kind = kindTime
		return out, nil
	}
	if t == verbatim {
		out.kind = kindVerbatim
		return out, nil
	}
	if t == stream {
		out.kind = kindStream
		return out, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() != 0 {
			return nil, fmt.Errorf("type %s has no OpenAPI schema", t)
		}
		out.kind = kindAny
	case reflect.String:
		out.kind = kindText
	case reflect.Bool:
		out.kind = kindBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		out.kind = kindInteger
	case reflect.Float64:
		out.kind = kindNumber
	case reflect.Slice:
		out.kind = kindArray
		out.elem, err = s.shapeOf(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("type %s has no OpenAPI schema: the keys of a map must be strings", t)
		}
		out.kind = kindMap
		out.elem, err = s.shapeOf(t.Elem())
	case reflect.Struct:
		out.kind = kindObject
		out.fields, err = s.fieldsOf(t, "json", nil)
		out.fields = outermost(out.fields)
		if err == nil {
			err = checkMoreTags(t, out.fields)
		}
	default:
		return nil, fmt.Errorf("type %s has no OpenAPI schema", t)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// fieldsOf returns the exported fields of a struct that have the tag, with embedded structs flattened.
func (s shaper) fieldsOf(t reflect.Type, tag string, at []int) ([]field, error) {
	var fields []field
	more := moreTags(t)
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(slices.Clone(at), i)
		if sf.Anonymous && sf.Tag.Get(tag) == "" && sf.Type.Kind() == reflect.Struct {
			inner, err := s.fieldsOf(sf.Type, tag, index)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
			continue
		}
		value, ok := sf.Tag.Lookup(tag)
		if !ok || !sf.IsExported() {
			if tag == "json" && sf.IsExported() {
				return nil, fmt.Errorf("type %s: field %s has no json tag", t, sf.Name)
			}
			continue
		}
		name, options, _ := strings.Cut(value, ",")
		if name == "-" {
			continue
		}
		f := field{
			name: name, index: index, pointer: sf.Type.Kind() == reflect.Pointer,
			omit: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"),
		}
		tags, err := s.words.tags(t, name, sf.Tag)
		if err != nil {
			return nil, err
		}
		tags += " " + more[name]
		if tags.Get("shape") == "any" {
			f.shape = &shape{kind: kindAny, typ: reflect.TypeFor[any]()}
		} else if f.shape, err = s.shapeOf(sf.Type); err != nil {
			return nil, fmt.Errorf("field %s: %w", sf.Name, err)
		}
		if err := f.readTags(tags); err != nil {
			return nil, fmt.Errorf("type %s: field %s: %w", t, sf.Name, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// outermost removes the members of embedded structs whose names are also names of members of the embedding struct, as encoding/json does.
func outermost(fields []field) []field {
	depth := map[string]int{}
	for _, f := range fields {
		if d, ok := depth[f.name]; !ok || len(f.index) < d {
			depth[f.name] = len(f.index)
		}
	}
	return slices.DeleteFunc(fields, func(f field) bool { return len(f.index) > depth[f.name] })
}

func (f *field) readTags(tag reflect.StructTag) (err error) {
	f.doc, f.format = tag.Get("doc"), tag.Get("format")
	if enum, ok := tag.Lookup("enum"); ok {
		f.enum = strings.Split(enum, ",")
	}
	for name, to := range map[string]**float64{"min": &f.min, "max": &f.max} {
		if text, ok := tag.Lookup(name); ok {
			bound, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("tag %s: %w", name, err)
			}
			*to = &bound
		}
	}
	for name, to := range map[string]*bool{"required": &f.required, "readOnly": &f.readOnly, "writeOnly": &f.writeOnly, "clamp": &f.clamp} {
		if text, ok := tag.Lookup(name); ok {
			if *to, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("tag %s: %w", name, err)
			}
		}
	}
	if text, ok := tag.Lookup("empty"); ok {
		if text != "absent" {
			return fmt.Errorf("tag empty: %q is not \"absent\"", text)
		}
		f.emptyGone = true
	}
	if f.fallback, f.hasDefault = tag.Lookup("default"); f.hasDefault {
		if _, err := f.scalar(f.fallback); err != nil {
			return fmt.Errorf("tag default: %w", err)
		}
	}
	return nil
}

// scalar parses a string as the kind of the field: string, bool, int64 or float64.
func (f *field) scalar(text string) (any, error) {
	switch f.shape.kind {
	case kindText:
		return text, nil
	case kindBool:
		switch strings.ToLower(text) { // strconv.ParseBool also accepts 0, 1, t and f
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", text)
	case kindInteger:
		return strconv.ParseInt(text, 10, 64)
	case kindNumber:
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("type %s is not a scalar", f.shape.typ)
}

// parameterKinds lists the allowed kinds of each type of parameter.
var parameterKinds = map[string][]kind{
	"path":   {kindText},
	"header": {kindText},
	"cookie": {kindText},
	"query":  {kindText, kindBool, kindInteger, kindNumber},
	"form":   {kindText},
}

// requestShape is a compiled request type.
type requestShape struct {
	path, query, header, cookie, form []field
	body                              *field
	bodyRequired                      bool
}

func shapeOfRequest(t reflect.Type, words Words) (*requestShape, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("request type %s is not a struct", t)
	}
	s := newShaper(words)
	out := &requestShape{}
	var err error
	for tag, to := range map[string]*[]field{"path": &out.path, "header": &out.header, "cookie": &out.cookie, "query": &out.query,
		"form": &out.form} {
		if *to, err = s.fieldsOf(t, tag, nil); err != nil {
			return nil, err
		}
		for _, f := range *to {
			if !slices.Contains(parameterKinds[tag], f.shape.kind) {
				return nil, fmt.Errorf("%s parameter %s cannot be a %s", tag, f.name, f.shape.typ)
			}
		}
	}
	if err := checkMoreTags(t, slices.Concat(out.path, out.query, out.header, out.cookie, out.form)); err != nil {
		return nil, err
	}
	bodies, err := s.fieldsOf(t, "body", nil)
	if err != nil {
		return nil, err
	}
	if len(bodies) > 0 && len(out.form) > 0 {
		return nil, fmt.Errorf("request type %s has a body and a form", t)
	}
	if len(bodies) > 1 {
		return nil, fmt.Errorf("request type %s has %d bodies", t, len(bodies))
	}
	for _, body := range bodies {
		switch body.name {
		case "required":
			out.bodyRequired = true
		case "optional":
		default:
			return nil, fmt.Errorf("request type %s: body is neither required nor optional", t)
		}
		if k := body.shape.kind; k != kindObject && k != kindMap && k != kindArray && k != kindVerbatim && k != kindStream {
			return nil, fmt.Errorf("request type %s: the body is neither an object nor an array", t)
		}
		out.body = &body
	}
	return out, nil
}

// matchesPath returns an error if the variables of the template and the path parameters of the request differ.
func (s *requestShape) matchesPath(template string) error {
	variables := pathVariables(template)
	for _, f := range s.path {
		if !slices.Contains(variables, f.name) {
			return fmt.Errorf("path %s has no variable %q", template, f.name)
		}
	}
	for _, name := range variables {
		if !slices.ContainsFunc(s.path, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("path %s: the request does not take variable %q", template, name)
		}
	}
	return nil
}

func pathVariables(template string) []string {
	var names []string
	for segment := range strings.SplitSeq(template, "/") {
		if name, ok := variable(segment); ok {
			names = append(names, name)
		}
	}
	return names
}

// variable returns the name if the segment of a template is a {variable}.
func variable(segment string) (string, bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}
