package rest

import (
	"fmt"
	"reflect"
)

// Words describe types of packages that do not use the tags of this package.
type Words map[reflect.Type]Word

// Word describes a struct type.
type Word struct {
	// Name of the type in the OpenAPI document. Default: as for other types, the name of the Go type.
	Name string
	// Served means that no request has the type: every member is readOnly.
	Served bool
	// Members are the tags of each member, by its JSON name. The tag shape:"any" describes the value as any JSON value.
	Members map[string]reflect.StructTag
}

// tags returns the tags of a member of a type: those in Words if it contains the type, otherwise those of the field.
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
