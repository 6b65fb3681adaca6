package schemas

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type userRequest struct {
	userTarget
	Body body `body:"required"`
}

// checkUser validates the properties against the schema as it was read.
func checkUser(_ context.Context, r *userRequest, causes *rest.Causes) error {
	r.Body.applyToUser(r.found.Value, causes)
	return nil
}

// applyToUser returns the schema with the changes of the body, and records errors in them.
func (b *body) applyToUser(old model.UserSchema, causes *rest.Causes) model.UserSchema {
	out := old
	out.Base = maps.Clone(old.Base)
	for _, name := range slices.Sorted(maps.Keys(b.Definitions.Base.Properties)) {
		path := at(basePath, name)
		before, ok := old.BaseProperty(name)
		p := b.Definitions.Base.Properties[name]
		switch {
		case !ok:
			causes.Add(path, "The base schema has no property with this name")
		case p == nil:
			causes.Add(path, "A base property cannot be removed")
		default:
			if after := changeBase(name, before, p, path, causes); !reflect.DeepEqual(before, after) {
				if out.Base == nil {
					out.Base = map[string]model.Property{}
				}
				out.Base[name] = after
			}
		}
	}
	out.Custom = b.Definitions.Custom.apply(old.Custom, userKind, causes)
	return out
}

// changeBase returns a base property with the changes of the body, and records an error for each change that is not allowed. Omitted
// members keep their values.
func changeBase(name string, before model.Property, p *model.Property, path string, causes *rest.Causes) model.Property {
	after := before
	if len(p.Permissions) > 0 {
		after.Permissions = p.Permissions
	}
	if p.Required != nil && *p.Required != before.IsRequired() {
		if name == "firstName" || name == "lastName" {
			after.Required = p.Required
		} else {
			causes.Add(at(path, "required"), "Only firstName and lastName can become optional")
		}
	}
	switch {
	case p.Pattern == nil:
	case *p.Pattern == "":
		after.Pattern = nil
	case name != "login":
		causes.Add(at(path, "pattern"), "Only login can have a pattern")
	default:
		if _, err := model.CompilePattern(*p.Pattern); err != nil {
			causes.Add(at(path, "pattern"), "The value must be a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		after.Pattern = p.Pattern
	}
	differences(before, p, path, causes)
	return after
}

// differences records an error for each immutable member of a base property that differs from the property.
func differences(before model.Property, p *model.Property, path string, causes *rest.Causes) {
	for _, m := range []struct {
		name  string
		other bool
	}{
		{"title", p.Title != "" && p.Title != before.Title},
		{"description", p.Description != "" && p.Description != before.Description},
		{"type", p.Type != "" && p.Type != before.Type},
		{"items", p.Items != nil},
		{"format", p.Format != "" && p.Format != before.Format},
		{"mutability", p.Mutability != "" && p.Mutability != before.Mutability},
		{"scope", p.Scope != "" && p.Scope != before.Scope},
		{"enum", len(p.Enum) > 0},
		{"oneOf", len(p.OneOf) > 0},
		{"minLength", p.MinLength != nil && !reflect.DeepEqual(p.MinLength, before.MinLength)},
		{"maxLength", p.MaxLength != nil && !reflect.DeepEqual(p.MaxLength, before.MaxLength)},
		{"minimum", p.Minimum != nil},
		{"maximum", p.Maximum != nil},
		{"unique", p.Unique != "" && p.Unique != model.NotUnique && p.Unique != before.Unique},
		{"master", p.Master != nil && !reflect.DeepEqual(p.Master, before.Master)},
		{"externalName", p.ExternalName != "" && p.ExternalName != before.ExternalName},
		{"externalNamespace", p.ExternalNamespace != "" && p.ExternalNamespace != before.ExternalNamespace},
	} {
		if m.other {
			causes.Add(at(path, m.name), unchangeable)
		}
	}
}

func (s *Slice) updateUser(ctx context.Context, r *userRequest) (Schema, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findUser(ctx, tx, &r.userTarget); err != nil {
			return err
		}
		var causes rest.Causes
		before, after := r.found.Value, r.Body.applyToUser(r.found.Value, &causes)
		if err := causes.Err(); err != nil {
			return err
		}
		var err error
		if r.found, err = s.UserSchemas.Update(ctx, tx, r.found.ID, r.found.Rev, after); err != nil {
			return err
		}
		target := []model.LogParty{audit.UserType(r.userType.ID, &r.userType.Value)}
		if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserSchemaUpdate, Targets: target}); err != nil {
			return err
		}
		return s.updateUsers(ctx, tx, &before, &after)
	})
	if err != nil {
		return Schema{}, err
	}
	return renderUser(ctx, &r.userTarget), nil
}

// updateUsers updates the users of the type after a change of its schema: it deletes the values of removed properties and updates which
// values are unique or hidden. Other constraints are checked when a user is next written.
func (s *Slice) updateUsers(ctx context.Context, tx *docstore.Tx, before, after *model.UserSchema) error {
	removed := map[string]bool{}
	stamped := false // whether the result of Stamp may have changed
	for name, old := range before.Custom {
		p, ok := after.Custom[name]
		removed[name] = !ok
		stamped = stamped || !ok || p.IsUnique() != old.IsUnique() || (p.Mutability == model.WriteOnly) != (old.Mutability == model.WriteOnly)
	}
	if !stamped {
		return nil
	}
	var causes rest.Causes
	holders := map[string]bool{} // unique values seen, as UserUniqueKey
	err := model.Each(ctx, tx, s.Users, docstore.Eq(model.UserByType, after.Type), func(doc docstore.Doc[model.User]) error {
		user := doc.Value
		user.Profile = maps.Clone(user.Profile)
		maps.DeleteFunc(user.Profile, func(name string, _ any) bool { return removed[name] })
		after.Stamp(&user)
		for _, name := range user.Unique {
			key := model.UserUniqueKey(&user, name)
			if holders[key] {
				causes.Add(at(customPath, name, "unique"), "Several users have the same value")
			}
			holders[key] = true
		}
		if reflect.DeepEqual(user, doc.Value) {
			return nil
		}
		if _, err := s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
			return err
		}
		if len(user.Profile) == len(doc.Value.Profile) {
			return nil
		}
		return s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
	})
	if err != nil {
		return err
	}
	return causes.Err()
}
