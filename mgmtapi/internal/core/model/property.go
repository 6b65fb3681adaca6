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

// The types of attributes. An integer lies between -(2^53-1) and 2^53-1, so that every reader of JSON can hold it.
const (
	PropertyString  PropertyType = "string"
	PropertyBoolean PropertyType = "boolean"
	PropertyNumber  PropertyType = "number"
	PropertyInteger PropertyType = "integer"
	PropertyArray   PropertyType = "array"
)

const maxInteger = 1<<53 - 1

// Mutability says what callers may do to the values of an attribute.
type Mutability string

// The mutabilities.
const (
	ReadWrite Mutability = "READ_WRITE"
	ReadOnly  Mutability = "READ_ONLY"
	Immutable Mutability = "IMMUTABLE"  // it cannot change after it got a value
	WriteOnly Mutability = "WRITE_ONLY" // it is never shown
)

// Unique and NotUnique say whether two users of a type can have the same value of an attribute.
const (
	Unique    = "UNIQUE_VALIDATED"
	NotUnique = "NOT_UNIQUE"
)

// Property describes an attribute of a profile. It is stored in the shape that it has on the wire; the tags are those of
// internal/rest.
type Property struct {
	Title       string       `json:"title,omitempty" max:"255" doc:"Name of the attribute for people."`
	Description string       `json:"description,omitempty" max:"1024" doc:"What the attribute is for."`
	Type        PropertyType `json:"type,omitempty" empty:"absent" enum:"string,boolean,number,integer,array" doc:"Type of the values."`
	Items       *Items       `json:"items,omitempty" doc:"Elements of an array."`
	Format      Format       `json:"format,omitempty" empty:"absent" doc:"What a text holds."`
	Required    *bool        `json:"required,omitempty" doc:"Every user needs a value. Users that have none are refused at their next update."`
	Mutability  Mutability   `json:"mutability,omitempty" empty:"absent" doc:"What callers may do to values."`
	Scope       string       `json:"scope,omitempty" empty:"absent" enum:"NONE,SELF" doc:"Whether the value belongs to the user alone."`
	Enum        []any        `json:"enum,omitempty" doc:"Accepted values."`
	OneOf       []Choice     `json:"oneOf,omitempty" doc:"Accepted values with their titles."`
	MinLength   *int         `json:"minLength,omitempty" min:"0" doc:"Fewest characters of a text."`
	MaxLength   *int         `json:"maxLength,omitempty" min:"1" doc:"Most characters of a text."`
	Minimum     *float64     `json:"minimum,omitempty" doc:"Smallest number."`
	Maximum     *float64     `json:"maximum,omitempty" doc:"Largest number."`
	Pattern     *string      `json:"pattern,omitempty" max:"255"`

	Unique string `json:"unique,omitempty" empty:"absent" enum:"UNIQUE_VALIDATED,NOT_UNIQUE" doc:"Whether values are unique within the type."`

	Permissions []Permission `json:"permissions,omitempty" doc:"What users may do to their own value."`
	Master      *Master      `json:"master,omitempty" doc:"Where values come from."`
	// What an attribute of an application is called in its target. Without a name it stays here.
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
	Title string `json:"title" doc:"Name of the value for people."`
}

// Permission says what a principal may do to a value.
type Permission struct {
	Principal string `json:"principal" required:"true" enum:"SELF" doc:"Always SELF: the user."`
	Action    string `json:"action" required:"true" enum:"HIDE,READ_ONLY,READ_WRITE" doc:"What the principal may do."`
}

// Master says where the values of an attribute come from.
type Master struct {
	Type string `json:"type" required:"true" enum:"PROFILE_MASTER,SVC,OVERRIDE" doc:"Source of the values."`
}

// The sources of values: imports, the service alone, or one that is named.
const (
	MasterImport   = "PROFILE_MASTER"
	MasterService  = "SVC"
	MasterOverride = "OVERRIDE"
)

// IsRequired says whether users need a value.
func (p *Property) IsRequired() bool { return p.Required != nil && *p.Required }

// IsUnique says whether no two users of a type may have the same value.
func (p *Property) IsUnique() bool { return p.Unique == Unique }

// NoValue says that the value is none for the attribute: an empty array is one only where there are no arrays, and wrong there.
func (p *Property) NoValue(value any) bool {
	_, list := value.([]any)
	return NoValue(value) && (!list || p.Type == PropertyArray)
}

// Problem says what is wrong with a value, "" for nothing. Values are as PlainValue makes them.
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

// CompilePattern compiles the pattern of a login, which has to match as a whole. It is a regular expression of RE2.
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

// typeProblem says why a value is not of the type, "" when it is. Values are as PlainValue makes them.
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

// ChoicesProblem says what is wrong with the accepted values of a type and their titles, "" for nothing.
func ChoicesProblem(t PropertyType, enum []any, oneOf []Choice) string {
	for i, value := range enum {
		if problem := typeProblem(t, value); problem != "" {
			return fmt.Sprintf("Element %d: %s", i, problem)
		}
		if slices.ContainsFunc(enum[:i], func(other any) bool { return reflect.DeepEqual(other, value) }) {
			return fmt.Sprintf("Element %d: The value is there twice", i)
		}
	}
	same := len(enum) == len(oneOf)
	for _, choice := range oneOf {
		same = same && choice.Title != "" && slices.ContainsFunc(enum, func(value any) bool { return reflect.DeepEqual(choice.Const, value) })
	}
	if !same {
		return "Every value of enum needs one element of oneOf with the value as const, and a title"
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

// PlainValue returns a JSON value as reading it again from the store gives it: numbers are float64. A number that is too large
// for that stays what it is, and fits no type.
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

// NoValue says that an attribute with the value has none: it is null, empty text or an empty array.
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
