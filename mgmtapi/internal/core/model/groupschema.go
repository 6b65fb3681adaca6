package model

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
)

// GroupSchema holds the additions to the profile schema of groups. At most one document exists, GroupSchemaDocument.
type GroupSchema struct {
	Custom map[string]Property `json:"custom,omitempty"`
}

// GroupSchemaDocument is the id of the one document of the collection GroupSchemas.
const GroupSchemaDocument = "default"

func groupSchemaCollection() docstore.Collection[GroupSchema] {
	return docstore.NewCollection[GroupSchema]("group_schemas").Cached()
}

// Length limits of the base attributes of groups, in characters.
const (
	maxGroupName        = 255
	maxGroupDescription = 1024
)

// groupBase lists the names of the base attributes of groups. groupBaseProperties holds their properties.
var (
	groupBase           = []string{"name", "description"}
	groupBaseProperties = func() map[string]Property {
		name := Property{Title: "Name", Type: PropertyString, Required: new(true), MaxLength: new(maxGroupName)}
		description := Property{Title: "Description", Type: PropertyString, MaxLength: new(maxGroupDescription)}
		name.FillIn()
		description.FillIn()
		return map[string]Property{"name": name, "description": description}
	}()
)

// GroupAttribute reports whether the name is a base attribute of groups.
func GroupAttribute(name string) bool {
	_, ok := groupBaseProperties[name]
	return ok
}

// All iterates over the properties by name: the base properties in their own order, then the custom ones.
func (s *GroupSchema) All() iter.Seq2[string, Property] {
	return func(yield func(string, Property) bool) {
		for _, name := range groupBase {
			if !yield(name, groupBaseProperties[name]) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Custom)) {
			if !yield(name, s.Custom[name]) {
				return
			}
		}
	}
}

// GroupSchema reads the profile schema of groups.
func (d Deps) GroupSchema(ctx context.Context, q docstore.Reader) (GroupSchema, error) {
	doc, err := d.GroupSchemas.Get(ctx, q, GroupSchemaDocument)
	if errors.Is(err, docstore.ErrNotFound) {
		return GroupSchema{}, nil
	}
	return doc.Value, err
}

// AppSchema reads the profile schema of the users of an application.
func (d Deps) AppSchema(ctx context.Context, q docstore.Reader, app string) (AppSchema, error) {
	doc, err := d.AppSchemas.Get(ctx, q, app)
	if errors.Is(err, docstore.ErrNotFound) {
		return AppSchema{}, nil
	}
	return doc.Value, err
}
