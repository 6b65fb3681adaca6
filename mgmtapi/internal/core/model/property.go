package model

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// PropertyType is the type of the values of an attribute.
type PropertyType string

// The types of attributes. An integer is between -(2^53-1) and 2^53-1, so that every JSON parser can represent it.
const (
	PropertyString  PropertyType = "string"
	PropertyBoolean PropertyType = "boolean"
	PropertyNumber  PropertyType = "number"
	PropertyInteger PropertyType = "integer"
	PropertyArray   PropertyType = "array"
)

const maxInteger = 1<<53 - 1

// Mutability determines what callers may do with the values of an attribute.
type Mutability string

// The mutabilities.
const (
	ReadWrite Mutability = "READ_WRITE"
	ReadOnly  Mutability = "READ_ONLY"
	Immutable Mutability = "IMMUTABLE"  // an existing value cannot change
	WriteOnly Mutability = "WRITE_ONLY" // responses omit the value
)

// Unique and NotUnique determine whether two users of a type can have the same value of an attribute.
const (
	Unique    = "UNIQUE_VALIDATED"
	NotUnique = "NOT_UNIQUE"
)

// Property describes an attribute of a profile. It is stored in the shape that it has in JSON. The tags are those of internal/rest.
type Property struct {
	Title       string       `json:"title,omitempty" max:"255" doc:"Human-readable name of the attribute."`
	Description string       `json:"description,omitempty" max:"1024" doc:"Purpose of the attribute."`
	Type        PropertyType `json:"type,omitempty" empty:"absent" enum:"string,boolean,number,integer,array" doc:"Type of the values."`
	Items       *Items       `json:"items,omitempty" doc:"Elements of an array."`
	Format      Format       `json:"format,omitempty" empty:"absent" doc:"Format of a string."`
	Required    *bool        `json:"required,omitempty" doc:"Every user needs a value. The next update of a user without a value is rejected."`
	Mutability  Mutability   `json:"mutability,omitempty" empty:"absent" doc:"What callers may do with values."`
	Scope       string       `json:"scope,omitempty" empty:"absent" enum:"NONE,SELF" doc:"SELF for a value that belongs to the user alone."`
	Enum        []any        `json:"enum,omitempty" doc:"Accepted values."`
	OneOf       []Choice     `json:"oneOf,omitempty" doc:"Accepted values with their titles."`
	MinLength   *int         `json:"minLength,omitempty" min:"0" doc:"Minimum number of characters of a string."`
	MaxLength   *int         `json:"maxLength,omitempty" min:"1" doc:"Maximum number of characters of a string."`
	Minimum     *float64     `json:"minimum,omitempty" doc:"Smallest number."`
	Maximum     *float64     `json:"maximum,omitempty" doc:"Largest number."`
	Pattern     *string      `json:"pattern,omitempty" max:"255"`

	Unique string `json:"unique,omitempty" empty:"absent" enum:"UNIQUE_VALIDATED,NOT_UNIQUE" doc:"Whether values are unique within the type."`

	Permissions []Permission `json:"permissions,omitempty" doc:"What users may do with their own value."`
	Master      *Master      `json:"master,omitempty" doc:"Source of the values."`
	// ExternalName is the name of an attribute of an application in its target. An attribute without one is not sent.
	ExternalName      string `json:"externalName,omitempty" empty:"absent" max:"255"`
	ExternalNamespace string `json:"externalNamespace,omitempty" empty:"absent" max:"255"`
}

// MoreTags implements rest.Described.
func (Property) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"format":     `enum:"email,uri,date-time,country-code,language-code,locale,timezone"`,
		"mutability": `enum:"READ_WRITE,READ_ONLY,IMMUTABLE,WRITE_ONLY"`,
		"pattern": `doc:"Regular expression that a login must match as a whole, instead of being an email address. An empty string ` +
			`restores the email address."`,
		"externalName": `doc:"Path of the attribute on the target of the application, such as name.honorificPrefix. An attribute without ` +
			`one is not sent."`,
		"externalNamespace": `doc:"URN of the schema of the attribute on the target. Default: that of users."`,
	}
}

// Items describes the elements of an array.
type Items struct {
	Type  PropertyType `json:"type" enum:"string,number,integer" doc:"Type of the elements."`
	Enum  []any        `json:"enum,omitempty" doc:"Accepted elements."`
	OneOf []Choice     `json:"oneOf,omitempty" doc:"Accepted elements with their titles."`
}

// Choice is an accepted value with its title.
type Choice struct {
	Const any    `json:"const" doc:"The value."`
	Title string `json:"title" doc:"Human-readable name of the value."`
}

// Permission determines what a principal may do with a value.
type Permission struct {
	Principal string `json:"principal" required:"true" enum:"SELF" doc:"Always SELF: the user."`
	Action    string `json:"action" required:"true" enum:"HIDE,READ_ONLY,READ_WRITE" doc:"What the principal may do."`
}

// Master is the source of the values of an attribute.
type Master struct {
	Type string `json:"type" required:"true" enum:"PROFILE_MASTER,SVC,OVERRIDE" doc:"Source of the values."`
}

// The sources of values: imports, this service alone, or a named source.
const (
	MasterImport   = "PROFILE_MASTER"
	MasterService  = "SVC"
	MasterOverride = "OVERRIDE"
)

// IsRequired reports whether users need a value.
func (p *Property) IsRequired() bool { return p.Required != nil && *p.Required }

// IsUnique reports whether the value must be unique among the users of a type.
func (p *Property) IsUnique() bool { return p.Unique == Unique }

// NoValue reports whether the value counts as no value of the attribute. For attributes that are not arrays, an empty array is an invalid
// value.
func (p *Property) NoValue(value any) bool {
	_, list := value.([]any)
	return NoValue(value) && (!list || p.Type == PropertyArray)
}

// Problem returns why a value is invalid, "" if it is valid. The value must be a result of PlainValue.
func (p *Property) Problem(value any) string {
	if p.Type == PropertyArray {
		return p.arrayProblem(value)
	}
	if problem := typeProblem(p.Type, value); problem != "" {
		return problem
	}
	if problem := choiceProblem(p.Enum, value); problem != "" {
		return problem
	}
	switch v := value.(type) {
	case string:
		return p.textProblem(v)
	case float64:
		if p.Minimum != nil && v < *p.Minimum || p.Maximum != nil && v > *p.Maximum {
			return "The value must be " + bounds(p.Minimum, p.Maximum)
		}
	}
	return ""
}

func (p *Property) textProblem(text string) string {
	if n := utf8.RuneCountInString(text); p.MinLength != nil && n < *p.MinLength || p.MaxLength != nil && n > *p.MaxLength {
		return fmt.Sprintf("The field must have %s characters", bounds(p.MinLength, p.MaxLength))
	}
	if p.Pattern != nil {
		pattern, err := CompilePattern(*p.Pattern)
		if err != nil || !pattern.MatchString(text) {
			return "The value must match the pattern " + *p.Pattern
		}
	}
	return p.Format.Problem(text)
}

// CompilePattern compiles the pattern of a login. The pattern is an RE2 regular expression and must match the whole login.
func CompilePattern(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

func (p *Property) arrayProblem(value any) string {
	list, ok := value.([]any)
	if !ok {
		return "The value must be an array"
	}
	for i, element := range list {
		problem := typeProblem(p.Items.Type, element)
		if problem == "" {
			problem = choiceProblem(p.Items.Enum, element)
		}
		if problem != "" {
			return fmt.Sprintf("Element %d: %s", i, problem)
		}
	}
	return ""
}

// typeProblem returns why a value is not of the type, "" if it is. The value must be a result of PlainValue.
func typeProblem(t PropertyType, value any) string {
	ok, want := false, ""
	switch t {
	case PropertyString:
		_, ok = value.(string)
		want = "a string"
	case PropertyBoolean:
		_, ok = value.(bool)
		want = "true or false"
	case PropertyNumber:
		_, ok = value.(float64)
		want = "a number"
	case PropertyInteger:
		var n float64
		n, ok = value.(float64)
		ok = ok && n == math.Trunc(n) && math.Abs(n) <= maxInteger
		want = "an integer between -(2^53-1) and 2^53-1"
	}
	if ok {
		return ""
	}
	return "The value must be " + want
}

func choiceProblem(choices []any, value any) string {
	if len(choices) == 0 || slices.ContainsFunc(choices, func(c any) bool { return reflect.DeepEqual(c, value) }) {
		return ""
	}
	text, err := json.Marshal(choices)
	if err != nil {
		return "The value is not one of those accepted"
	}
	return "The value must be one of: " + string(text)
}

// ChoicesProblem returns why the accepted values of a type and their titles are invalid, "" if they are valid.
func ChoicesProblem(t PropertyType, enum []any, oneOf []Choice) string {
	for i, value := range enum {
		if problem := typeProblem(t, value); problem != "" {
			return fmt.Sprintf("Element %d: %s", i, problem)
		}
		if slices.ContainsFunc(enum[:i], func(other any) bool { return reflect.DeepEqual(other, value) }) {
			return fmt.Sprintf("Element %d: The value is a duplicate", i)
		}
	}
	same := len(enum) == len(oneOf)
	for _, choice := range oneOf {
		same = same && choice.Title != "" && slices.ContainsFunc(enum, func(value any) bool { return reflect.DeepEqual(choice.Const, value) })
	}
	if !same {
		return "Every value of enum requires one element of oneOf with the value as const, and a title"
	}
	return ""
}

func bounds[T int | float64](low, high *T) string {
	text := func(n *T) string { return strconv.FormatFloat(float64(*n), 'f', -1, 64) }
	switch {
	case high == nil:
		return "at least " + text(low)
	case low == nil:
		return "at most " + text(high)
	default:
		return "between " + text(low) + " and " + text(high)
	}
}

// PlainValue returns a JSON value as the store returns it: numbers are float64. A number that is too large for float64 is unchanged and
// matches no type.
func PlainValue(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Float64(); err == nil {
			return n
		}
	case int:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = PlainValue(element)
		}
		return out
	}
	return value
}

// NoValue reports whether a value counts as no value: null, an empty string or an empty array.
func NoValue(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}
