package schemas

import (
	"context"
	"iter"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the schemas.
type Slice struct{ model.Deps }

// New returns the slice and registers its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, s.appChanged)
	return s
}

const tag = "Schemas"

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.schemas.read"}, []string{"svc.schemas.manage"}
	return []rest.Route{
		rest.Op[userTarget, Schema]{
			ID: "getUserSchema", Route: "GET /api/v1/meta/schemas/user/{schemaId}", Tag: tag, Scopes: read,
			Summary: "Reads the schema of a user type", Find: lookup.In(s.Store, s.findUser, (*userTarget).self), Do: s.getUser,
		},
		rest.Op[userRequest, Schema]{
			ID: "updateUserSchema", Route: "POST /api/v1/meta/schemas/user/{schemaId}", Tag: tag, Scopes: write,
			Summary: "Adds, changes and removes properties of a user type",
			Description: "A property in the body replaces the one with its name; null removes it, and its values from all users of the type. " +
				"Of a base property, only these members can change: the permissions; required of firstName and lastName; the pattern of login.",
			Find: lookup.In(s.Store, s.findUser, (*userRequest).self), Check: checkUser, Do: s.updateUser,
		},
		rest.Op[groupTarget, Schema]{
			ID: "getGroupSchema", Route: "GET /api/v1/meta/schemas/group/default", Tag: tag, Scopes: read,
			Summary: "Reads the schema of groups", Find: lookup.In(s.Store, s.findGroup, (*groupTarget).self), Do: s.getGroup,
		},
		rest.Op[groupRequest, Schema]{
			ID: "updateGroupSchema", Route: "POST /api/v1/meta/schemas/group/default", Tag: tag, Scopes: write,
			Summary:     "Adds, changes and removes properties of groups",
			Description: "A property in the body replaces the one with its name; null removes it, and its values from all groups.",
			Find:        lookup.In(s.Store, s.findGroup, (*groupRequest).self), Check: checkGroup, Do: s.updateGroup,
		},
		rest.Op[appTarget, Schema]{
			ID: "getApplicationUserSchema", Route: "GET /api/v1/meta/schemas/apps/{appId}/default", Tag: tag, Scopes: read,
			Summary: "Reads the schema of the users of an application", Find: lookup.InView(s.Store, s.findApp, (*appTarget).self), Do: s.getApp,
		},
		rest.Op[appRequest, Schema]{
			ID: "updateApplicationUserProfile", Route: "POST /api/v1/meta/schemas/apps/{appId}/default", Tag: tag, Scopes: write,
			Summary: "Adds, changes and removes properties of the users of an application",
			Description: "A property in the body replaces the one with its name; null removes it, its values and its rule in the mappings. The " +
				"users of the application are updated in the background.",
			Find: lookup.InView(s.Store, s.findApp, (*appRequest).self), Check: checkApp, Do: s.updateApp,
		},
	}
}

// Schema is a schema in the API.
type Schema struct {
	ID          string      `json:"id" readOnly:"true" doc:"URL of the schema."`
	Dialect     string      `json:"$schema" readOnly:"true" doc:"Always JSON Schema draft 4."`
	Name        string      `json:"name" readOnly:"true" doc:"Name of the schema."`
	Title       string      `json:"title" readOnly:"true" doc:"Human-readable name of the schema."`
	Description string      `json:"description,omitempty" readOnly:"true" doc:"Purpose of the schema."`
	Created     rest.Time   `json:"created" readOnly:"true" doc:"When the schema was created."`
	LastUpdated rest.Time   `json:"lastUpdated" readOnly:"true" doc:"When the schema was last changed."`
	Definitions Definitions `json:"definitions" readOnly:"true" doc:"The properties."`
	Type        string      `json:"type" readOnly:"true" doc:"Always object."`
	Properties  Properties  `json:"properties" readOnly:"true" doc:"The members of an object: its profile."`
	Links       rest.Links  `json:"_links" readOnly:"true" doc:"Links to the schema and its user type or application."`
}

// Definitions are the two parts of a schema: the base properties and the custom ones.
type Definitions struct {
	Custom Definition `json:"custom" readOnly:"true" doc:"Custom properties."`
	Base   Definition `json:"base" readOnly:"true" doc:"Built-in properties."`
}

// Definition is one of the two parts of a schema.
type Definition struct {
	ID         string                    `json:"id" readOnly:"true" doc:"#custom or #base."`
	Type       string                    `json:"type" readOnly:"true" doc:"Always object."`
	Properties map[string]model.Property `json:"properties" readOnly:"true" doc:"The properties by name."`
	Required   []string                  `json:"required" readOnly:"true" doc:"Names of the properties that require a value."`
}

// Properties is the JSON Schema of a user, group or app user: an object with the member profile.
type Properties struct {
	Profile Profile `json:"profile" readOnly:"true" doc:"The profile."`
}

// Profile is the JSON Schema of a profile. It refers to the base properties and the custom ones.
type Profile struct {
	AllOf []Reference `json:"allOf" readOnly:"true" doc:"References to both parts."`
}

// Reference refers to one of the two parts of the schema.
type Reference struct {
	Ref string `json:"$ref" readOnly:"true" doc:"The part."`
}

// definition returns a part of a schema without properties.
func definition(id string) *Definition {
	return &Definition{ID: "#" + id, Type: "object", Properties: map[string]model.Property{}, Required: []string{}}
}

func (d *Definition) add(name string, p model.Property) {
	d.Properties[name] = p
	if p.IsRequired() {
		d.Required = append(d.Required, name)
	}
}

const dialect = "http://json-schema.org/draft-04/schema#"

func allOf() Properties {
	return Properties{Profile: Profile{AllOf: []Reference{{Ref: "#/definitions/custom"}, {Ref: "#/definitions/base"}}}}
}

// userTarget is the schema of a user type that a path names.
type userTarget struct {
	SchemaID string `path:"schemaId" doc:"Id of the schema, or default."`

	found    docstore.Doc[model.UserSchema]
	userType docstore.Doc[model.UserType]
}

func (t *userTarget) self() *userTarget { return t }

func (s *Slice) findUser(ctx context.Context, q docstore.Reader, t *userTarget) error {
	id := t.SchemaID
	if id == "default" {
		org, err := s.Org(ctx, q)
		if err != nil {
			return err
		}
		id = model.UserSchemaID(org.UserType)
	}
	var err error
	if t.found, err = s.UserSchemas.Get(ctx, q, id); err != nil {
		return rest.Missing(err, "Schema", t.SchemaID)
	}
	t.userType, err = s.UserTypes.Get(ctx, q, t.found.Value.Type)
	return err
}

func (s *Slice) getUser(ctx context.Context, t *userTarget) (Schema, error) {
	return renderUser(ctx, t), nil
}

func renderUser(ctx context.Context, t *userTarget) Schema {
	self := rest.URL(ctx, "api", "v1", "meta", "schemas", "user", t.found.ID)
	out := Schema{
		ID: self, Dialect: dialect, Name: t.userType.Value.Name, Title: t.userType.Value.DisplayName, Description: t.userType.Value.Description,
		Created: rest.TimeOf(t.found.Created), LastUpdated: rest.TimeOf(t.found.Updated), Type: "object", Properties: allOf(),
		Links: rest.Links{
			"self": rest.Link{Rel: "self", Href: self, Method: "GET"},
			"type": rest.Link{Rel: "type", Href: rest.URL(ctx, "api", "v1", "meta", "types", "user", t.userType.ID), Method: "GET"},
		},
	}
	out.define(t.found.Value.All(), userKind)
	return out
}

// define adds each property to the base part or to the custom part of the schema.
func (s *Schema) define(all iter.Seq2[string, model.Property], k kind) {
	base, custom := definition("base"), definition("custom")
	for name, p := range all {
		if k.base(name) {
			base.add(name, p)
		} else {
			custom.add(name, p)
		}
	}
	s.Definitions = Definitions{Custom: *custom, Base: *base}
}

// at returns the path of a member of a request.
func at(names ...string) string { return strings.Join(names, ".") }
