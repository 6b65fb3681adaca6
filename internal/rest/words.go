package rest

import (
	"fmt"
	"reflect"
	"slices"
)

// Words describe types of packages that do not use the tags of this package.
type Words map[reflect.Type]Word

// Word describes a struct type.
type Word struct {
	// Name of the type in the OpenAPI document. Default: as for other types, the name of the Go type.
	Name string
	// Served means that the type occurs in responses only: every member is readOnly.
	Served bool
	// Members are the tags of each member, by its JSON name. The tag shape:"any" describes the value as any JSON value.
	Members map[string]reflect.StructTag
}

// Described is implemented by struct types with members whose struct tags do not fit on a line.
type Described interface {
	// MoreTags returns further struct tags of members, by the JSON name of the member. If the field's own tag has the same key, its value is
	// used.
	MoreTags() map[string]reflect.StructTag
}

// moreTags returns the further tags of the members of a type, including those of an embedded Described type.
func moreTags(t reflect.Type) map[string]reflect.StructTag {
	if d, ok := reflect.Zero(t).Interface().(Described); ok {
		return d.MoreTags()
	}
	return nil
}

// checkMoreTags returns an error if a further tag of a type has the name of none of its fields.
func checkMoreTags(t reflect.Type, fields []field) error {
	for name := range moreTags(t) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("type %s: MoreTags has the member %s, which the type does not have", t, name)
		}
	}
	return nil
}

// tags returns the tags of a member of a type: those in Words if it contains the type, otherwise those of the field.
func (w Words) tags(t reflect.Type, name string, own reflect.StructTag) (reflect.StructTag, error) {
	word, ok := w[t]
	if !ok {
		return own, nil
	}
	tags, ok := word.Members[name]
	if !ok {
		return "", fmt.Errorf("type %s: member %s has no tags in Words", t, name)
	}
	if word.Served {
		tags = `readOnly:"true" ` + tags
	}
	return tags, nil
}
