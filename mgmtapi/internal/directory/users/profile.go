package users

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/openapi"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Profile holds the attributes of a user, by name.
type Profile map[string]any

// alwaysShown lists the attributes that are null and not absent if they have no value.
var alwaysShown = []string{"login", "firstName", "lastName", "email", "secondEmail", "mobilePhone"}

// mandatory lists the attributes that every user of every type has.
var mandatory = []string{"login", "email", "locale"}

// checkNulls records an error for each attribute of a body that is null and has a default: null does not select the default.
func checkNulls(sent map[string]any, causes *rest.Causes) {
	for name := range model.DefaultAttributes() {
		if value, given := sent[name]; given && value == nil {
			causes.Blank(name)
		}
	}
}

// OpenAPISchema describes the base attributes. The schema of the user type defines custom ones.
func (Profile) OpenAPISchema() *openapi.Schema {
	schema := openapi.Object(map[string]*openapi.Schema{})
	schema.AdditionalProperties = openapi.Any()
	base := model.UserSchema{}
	for name, p := range base.All() {
		s := openapi.String()
		s.Title, s.Nullable = p.Title, !slices.Contains(mandatory, name)
		if p.Format == model.FormatEmail || p.Format == model.FormatURI {
			s.Format = string(p.Format)
		}
		if p.MaxLength != nil {
			s.MinLength, s.MaxLength = uint64(*p.MinLength), new(uint64(*p.MaxLength))
		}
		schema.Properties[name] = s
	}
	return schema
}

// shownProfile returns the profile for responses: with null for the attributes that are always shown, without those that are never shown.
func shownProfile(u *model.User) Profile {
	out := maps.Clone(Profile(u.Profile))
	if out == nil {
		out = Profile{}
	}
	for _, name := range alwaysShown {
		if _, ok := out[name]; !ok {
			out[name] = nil
		}
	}
	for _, name := range u.Hidden {
		delete(out, name)
	}
	return out
}

// merge returns the profile with the sent attributes. Null and the empty string remove an attribute, or restore its default.
func merge(profile, sent map[string]any) map[string]any {
	out := maps.Clone(profile)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range sent {
		if value == nil || value == "" {
			delete(out, name)
		} else {
			out[name] = model.PlainValue(value)
		}
	}
	model.CompleteProfile(out)
	return out
}

// retained returns the attributes that remain in the profile even if a replacement omits them: those that the caller cannot change or
// cannot see.
func retained(schema *model.UserSchema, profile map[string]any, replaces func(attribute string) bool) map[string]any {
	out := map[string]any{}
	for name, value := range profile {
		if !replaces(name) {
			out[name] = value
		}
	}
	for name, p := range schema.Custom {
		if value, ok := profile[name]; ok && p.Mutability != model.ReadWrite {
			out[name] = value
		}
	}
	return out
}

// schemaOf reads the profile schema of a user type.
func (s *Slice) schemaOf(ctx context.Context, q docstore.Reader, userType string) (*docstore.Doc[model.UserSchema], error) {
	doc, err := s.UserSchemas.Get(ctx, q, model.UserSchemaID(userType))
	return &doc, rest.Missing(err, "UserType", userType)
}

// schemaFor reads the profile schema for the type in a body. Without a type, it uses the fallback, and without that the default type.
func (s *Slice) schemaFor(ctx context.Context, q docstore.Reader, given *Type, fallback string) (*docstore.Doc[model.UserSchema], error) {
	switch {
	case given != nil:
		return s.schemaOf(ctx, q, given.ID)
	case fallback != "":
		return s.schemaOf(ctx, q, fallback)
	}
	org, err := s.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.schemaOf(ctx, q, org.UserType)
}

// checkProfile records errors in a complete profile under a schema.
func checkProfile(schema *model.UserSchema, profile map[string]any, causes *rest.Causes) {
	for name := range schema.Names() {
		value := profile[name]
		p, _ := schema.Property(name)
		switch {
		case model.NoValue(value) && p.IsRequired():
			causes.Blank(name)
		case value == nil:
		default:
			problem := p.Problem(value)
			if name == "login" && problem == "" {
				problem = loginProblem(value.(string), p.Pattern != nil)
			}
			if problem != "" {
				causes.Add(name, "%s", problem)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		if _, known := schema.Property(name); !known {
			causes.Add(name, "The attribute is not defined in the profile of the user")
		}
	}
}

func loginProblem(login string, pattern bool) string {
	switch {
	case strings.Contains(login, "/"):
		return "The value must not contain a slash"
	case !pattern && model.FormatEmail.Problem(login) != "":
		return "The value must look like an e-mail address"
	}
	return ""
}

// enforce validates the profile of a user against the schema, both as the transaction reads them. before is the stored profile; unseen
// lists attributes that count as changed.
func (s *Slice) enforce(
	ctx context.Context, tx *docstore.Tx, schema *model.UserSchema, id string, before map[string]any, user *model.User, unseen ...string,
) error {
	var causes rest.Causes
	checkProfile(schema, user.Profile, &causes)
	if err := causes.Err(); err != nil {
		return err
	}
	if err := checkMutability(schema, before, user.Profile, unseen...); err != nil {
		return err
	}
	return s.enforceValues(ctx, tx, schema, id, before, user)
}

// enforceValues is enforce without the check of mutability, for a profile that does not come from a client.
func (s *Slice) enforceValues(
	ctx context.Context, tx *docstore.Tx, schema *model.UserSchema, id string, before map[string]any, user *model.User,
) error {
	var causes rest.Causes
	checkProfile(schema, user.Profile, &causes)
	if err := causes.Err(); err != nil {
		return err
	}
	if err := model.CheckSize(before, user.Profile); err != nil {
		return err
	}
	schema.Stamp(user)
	return s.unique(ctx, tx, id, user)
}

// unique rejects unique values that other users have.
func (s *Slice) unique(ctx context.Context, tx *docstore.Tx, id string, user *model.User) error {
	var causes rest.Causes
	for _, name := range user.Unique {
		page, err := s.Users.Query(ctx, tx, docstore.Query[model.User]{
			Where: docstore.Eq(model.UserByUnique, model.UserUniqueKey(user, name)), Limit: 2,
		})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(page.Docs, func(other docstore.Doc[model.User]) bool { return other.ID != id }) {
			causes.NotUnique(name)
		}
	}
	return causes.Err()
}

// checkMutability rejects changes of attributes that clients cannot change. unseen lists attributes that count as changed.
func checkMutability(schema *model.UserSchema, before, after map[string]any, unseen ...string) error {
	var readOnly, immutable []string
	for _, name := range changedAttributes(before, after, unseen...) {
		switch schema.Custom[name].Mutability {
		case model.ReadOnly:
			readOnly = append(readOnly, name+": The attribute is read-only")
		case model.Immutable:
			if !model.NoValue(before[name]) {
				immutable = append(immutable, name+": The attribute has a value and is immutable")
			}
		}
	}
	switch {
	case len(readOnly) > 0:
		return rest.Fail(rest.CodeReadOnly, append(readOnly, immutable...)...)
	case len(immutable) > 0:
		return rest.Fail(rest.CodeImmutable, immutable...)
	}
	return nil
}
