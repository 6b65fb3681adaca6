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
	// Served says that no request has the type: every member is readOnly.
	Served bool
	// Members has the tags of each member, by its name in JSON. The tag shape:"any" describes the value as any JSON value.
	Members map[string]reflect.StructTag
}

// Described is implemented by struct types that have members whose tags do not fit on a line.
type Described interface {
	// MoreTags returns further tags of members, by their names. A tag that the field has too is that of the field.
	MoreTags() map[string]reflect.StructTag
}

// moreTags returns the further tags of the members of a type. A type that embeds a Described type has the tags of that one.
func moreTags(t reflect.Type) map[string]reflect.StructTag {
	if d, ok := reflect.Zero(t).Interface().(Described); ok {
		return d.MoreTags()
	}
	return nil
}

// checkMoreTags returns an error for a further tag of a type that belongs to none of its fields.
func checkMoreTags(t reflect.Type, fields []field) error {
	for name := range moreTags(t) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("type %s: MoreTags has the member %s, which the type has not", t, name)
		}
	}
	return nil
}

// tags returns the tags of a member of a type: those in the words if the type is there, otherwise those of the field.
func (w Words) tags(t reflect.Type, name string, own reflect.StructTag) (reflect.StructTag, error) {
	word, ok := w[t]
	if !ok {
		return own, nil
	}
	tags, ok := word.Members[name]
	if !ok {
		return "", fmt.Errorf("type %s: member %s is not described", t, name)
	}
	if word.Served {
		tags = `readOnly:"true" ` + tags
	}
	return tags, nil
}
