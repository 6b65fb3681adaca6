package model

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// UserType is a type of users with its own profile schema.
type UserType struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
	// CreatedBy and UpdatedBy are ids of users, empty for the service itself.
	CreatedBy string `json:"createdBy,omitempty"`
	UpdatedBy string `json:"updatedBy,omitempty"`
}

// UserTypeByName is the index of the names of user types, unique.
const UserTypeByName = "name"

func userTypeCollection() docstore.Collection[UserType] {
	return docstore.NewCollection("user_types",
		docstore.Index[UserType]{Name: UserTypeByName, Unique: true, Values: func(t *UserType) []any { return []any{t.Name} }},
	).Cached()
}

// UserSchema is the profile schema of a user type. Its document id is UserSchemaID of the type's id.
type UserSchema struct {
	// Type is the id of the user type.
	Type string `json:"type"`
	// Base holds the base properties that were changed.
	Base map[string]Property `json:"base,omitempty"`
	// Custom holds the properties that were added.
	Custom map[string]Property `json:"custom,omitempty"`
}

func userSchemaCollection() docstore.Collection[UserSchema] {
	return docstore.NewCollection[UserSchema]("user_schemas").Cached()
}

// UserSchemaID returns the id of the schema of a user type: the id of the type with another prefix.
func UserSchemaID(userType string) string {
	return string(KindUserSchema) + strings.TrimPrefix(userType, string(KindUserType))
}

// The names of the default user type.
const (
	DefaultTypeName        = "user"
	DefaultTypeDisplayName = "User"
)

// SetUpDefaultType creates the default user type and its schema if they are missing.
func (d Deps) SetUpDefaultType(ctx context.Context, tx *docstore.Tx, org Org) error {
	found, err := Optional(ctx, tx, d.UserTypes, org.UserType)
	if err != nil || found != nil {
		return err
	}
	return d.InsertUserType(ctx, tx, org.UserType, UserType{Name: DefaultTypeName, DisplayName: DefaultTypeDisplayName, Default: true})
}

// InsertUserType stores a new user type with the initial schema.
func (d Deps) InsertUserType(ctx context.Context, tx *docstore.Tx, id string, t UserType) error {
	if _, err := d.UserTypes.Insert(ctx, tx, id, t); err != nil {
		return err
	}
	_, err := d.UserSchemas.Insert(ctx, tx, UserSchemaID(id), UserSchema{Type: id})
	return err
}

// BaseProperty returns a base property with the changes of this schema.
func (s *UserSchema) BaseProperty(name string) (Property, bool) {
	if p, ok := s.Base[name]; ok {
		return p, true
	}
	p, ok := baseProperties[name]
	return p, ok
}

// Property returns the property with the name.
func (s *UserSchema) Property(name string) (Property, bool) {
	if p, ok := s.BaseProperty(name); ok {
		return p, true
	}
	p, ok := s.Custom[name]
	return p, ok
}

// Names iterates over the names of the properties: the base properties in their own order, then the custom ones.
func (s *UserSchema) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range baseOrder {
			if !yield(name) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Custom)) {
			if !yield(name) {
				return
			}
		}
	}
}

// All iterates over the properties by name, in the order of Names.
func (s *UserSchema) All() iter.Seq2[string, Property] {
	return func(yield func(string, Property) bool) {
		for name := range s.Names() {
			if p, _ := s.Property(name); !yield(name, p) {
				return
			}
		}
	}
}

// Stamp sets the members of the user that are derived from its profile under the schema: the attributes whose values must be unique, and
// those that are not shown.
func (s *UserSchema) Stamp(u *User) {
	u.Unique, u.Hidden = nil, nil
	for _, name := range slices.Sorted(maps.Keys(s.Custom)) {
		p, value := s.Custom[name], u.Profile[name]
		if NoValue(value) {
			continue
		}
		if p.IsUnique() {
			u.Unique = append(u.Unique, name)
		}
		if p.Mutability == WriteOnly {
			u.Hidden = append(u.Hidden, name)
		}
	}
}

// UserUniqueKey returns the key by which the values of a unique attribute are compared, ignoring case. Its length does not depend on the
// value, so that every database can index it.
func UserUniqueKey(u *User, attribute string) string {
	text := ""
	switch v := u.Profile[attribute].(type) {
	case string:
		text = filter.Fold(v)
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	sum := sha256.Sum256([]byte(text))
	return u.Type + "/" + attribute + "/" + base64.RawURLEncoding.EncodeToString(sum[:])
}
