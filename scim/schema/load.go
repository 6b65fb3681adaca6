package schema

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Load reads the schema and resource type documents in a directory and returns the resource types to serve: User and Group, followed by the
// types that the documents define. Each file *.json contains one document in the form that /Schemas/{id} or /ResourceTypes/{id} returns. A
// document for User or Group replaces the built-in type, for example to add extensions.
//
// Resource types may refer to schemas of the directory and to the built-in ones (User, Group, EnterpriseUser). Load rejects documents that
// [Parse] rejects, two documents with the same id, name or endpoint, missing schemas and unused schemas. Errors name the file.
func Load(dir fs.FS) ([]*ResourceType, error) {
	files, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, err
	}
	l := loader{schemas: map[string]*Schema{}, file: map[string]string{}, used: map[string]bool{}}
	var types []*scim.Object
	var typeFiles []string
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, err
		}
		doc, err := scim.DecodeResource(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case doc.HasSchema(scim.ResourceTypeSchema):
			types, typeFiles = append(types, &doc.Object), append(typeFiles, file)
		case doc.HasSchema(scim.SchemaSchema):
			if err := l.addSchema(file, data); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		default:
			return nil, fmt.Errorf("%s: schemas names neither %s nor %s", file, scim.SchemaSchema, scim.ResourceTypeSchema)
		}
	}
	loaded := make([]*ResourceType, len(types))
	for i, doc := range types {
		if loaded[i], err = l.resourceType(doc); err != nil {
			return nil, fmt.Errorf("%s: %w", typeFiles[i], err)
		}
		for _, other := range loaded[:i] {
			if tableName(other.Name) == tableName(loaded[i].Name) || other.Endpoint == loaded[i].Endpoint {
				return nil, fmt.Errorf("%s: another resource type has this name or endpoint", typeFiles[i])
			}
		}
	}
	for id, file := range l.file {
		if !l.used[id] {
			return nil, fmt.Errorf("%s: no resource type uses this schema", file)
		}
	}
	out := []*ResourceType{UserType(), GroupType()}
	for i, rt := range loaded {
		same := func(o *ResourceType) bool { return o.Name == rt.Name }
		taken := func(o *ResourceType) bool {
			return !same(o) && (o.Endpoint == rt.Endpoint || tableName(o.Name) == tableName(rt.Name))
		}
		switch k := slices.IndexFunc(out[:2], same); {
		case slices.ContainsFunc(out[:2], taken):
			return nil, fmt.Errorf("%s: a built-in resource type has this name or endpoint", typeFiles[i])
		case k >= 0:
			out[k] = rt
		default:
			out = append(out, rt)
		}
	}
	return out, nil
}

// tableName returns the part of a resource type's name that stores use in table names. This part must be unique among the types.
func tableName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// loader contains the schemas of a directory by their ids in lower case.
type loader struct {
	schemas map[string]*Schema
	file    map[string]string
	used    map[string]bool
}

func (l *loader) addSchema(file string, data []byte) error {
	s, err := Parse(data)
	if err != nil {
		return err
	}
	id := strings.ToLower(s.ID)
	if other := l.file[id]; other != "" {
		return fmt.Errorf("%s has the same id", other)
	}
	l.schemas[id], l.file[id] = s, file
	return nil
}

// schema returns the schema with the id. A document has precedence over a built-in schema.
func (l *loader) schema(id string) (*Schema, error) {
	if s := l.schemas[strings.ToLower(id)]; s != nil {
		l.used[strings.ToLower(id)] = true
		return s, nil
	}
	for _, s := range []*Schema{User(), Group(), EnterpriseUser()} {
		if scim.EqualName(s.ID, id) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("schema %q not found", id)
}

func (l *loader) resourceType(doc *scim.Object) (*ResourceType, error) {
	r := reader{o: doc}
	rt := &ResourceType{ID: r.text("id"), Name: r.text("name"), Endpoint: r.text("endpoint"), Description: r.text("description")}
	base := r.text("schema")
	if r.err != nil {
		return nil, r.err
	}
	if tableName(rt.Name) == "" {
		return nil, fmt.Errorf("the name %q has no letter and no digit", rt.Name)
	}
	if rt.Endpoint == "" || rt.Endpoint != path.Clean(rt.Endpoint) || strings.LastIndex(rt.Endpoint, "/") != 0 || len(rt.Endpoint) == 1 ||
		strings.ContainsAny(rt.Endpoint, "?#%*. ") {
		return nil, fmt.Errorf("the endpoint %q is not a slash and one path segment", rt.Endpoint)
	}
	var err error
	if rt.Schema, err = l.schema(base); err != nil {
		return nil, err
	}
	for i, v := range doc.Array("schemaExtensions") {
		o, ok := v.(*scim.Object)
		if !ok {
			return nil, fmt.Errorf("schemaExtensions[%d] is not an object", i)
		}
		r := reader{o: o}
		ext := Extension{Required: r.bool("required")}
		id := r.text("schema")
		if r.err != nil {
			return nil, fmt.Errorf("schemaExtensions[%d]: %w", i, r.err)
		}
		if ext.Schema, err = l.schema(id); err != nil {
			return nil, fmt.Errorf("schemaExtensions[%d]: %w", i, err)
		}
		if scim.EqualName(id, base) || rt.Extension(id) != nil {
			return nil, fmt.Errorf("schemaExtensions[%d]: the schema is named twice", i)
		}
		rt.Extensions = append(rt.Extensions, ext)
	}
	return rt, nil
}
