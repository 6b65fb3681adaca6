package usertypes

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the user types.
type Slice struct{ model.Deps }

// New returns the slice.
func New(d model.Deps) *Slice { return &Slice{Deps: d} }

const tag = "User types"

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.userTypes.read"}, []string{"svc.userTypes.manage"}
	return []rest.Route{
		rest.Op[createRequest, UserType]{
			ID: "createUserType", Route: "POST /api/v1/meta/types/user", Tag: tag, Scopes: write,
			Summary: "Creates a user type with the base schema", Check: checkCreate, Do: s.create,
		},
		rest.Op[struct{}, rest.Page[UserType]]{
			ID: "listUserTypes", Route: "GET /api/v1/meta/types/user", Tag: tag, Scopes: read,
			Summary: "Lists all user types", Do: s.list,
		},
		rest.Op[target, UserType]{
			ID: "getUserType", Route: "GET /api/v1/meta/types/user/{typeId}", Tag: tag, Scopes: read,
			Summary: "Reads a user type", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.get,
		},
		rest.Op[updateRequest, UserType]{
			ID: "updateUserType", Route: "POST /api/v1/meta/types/user/{typeId}", Tag: tag, Scopes: write,
			Summary: "Changes the members of a user type that are sent", Find: lookup.In(s.Store, s.find, (*updateRequest).self), Check: checkUpdate,
			Do: s.update,
		},
		rest.Op[replaceRequest, UserType]{
			ID: "replaceUserType", Route: "PUT /api/v1/meta/types/user/{typeId}", Tag: tag, Scopes: write,
			Summary: "Replaces a user type", Find: lookup.In(s.Store, s.find, (*replaceRequest).self), Check: checkReplace, Do: s.replace,
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteUserType", Route: "DELETE /api/v1/meta/types/user/{typeId}", Tag: tag, Scopes: write,
			Summary: "Deletes a user type without users", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
	}
}

// UserType is a user type in the API.
type UserType struct {
	ID          string    `json:"id" readOnly:"true" doc:"Id of the type."`
	Name        string    `json:"name" readOnly:"true" doc:"Name of the type, in the syntax of a variable name."`
	DisplayName string    `json:"displayName" readOnly:"true" doc:"Human-readable name of the type."`
	Description *string   `json:"description" readOnly:"true" doc:"Purpose of the type."`
	Default     bool      `json:"default" readOnly:"true" doc:"Whether users created without a type get this one."`
	Created     rest.Time `json:"created" readOnly:"true" doc:"When the type was created."`

	CreatedBy string `json:"createdBy" readOnly:"true" doc:"Id of the user who created the type; of the organization for the default one."`

	LastUpdated   rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the type was last changed."`
	LastUpdatedBy string     `json:"lastUpdatedBy" readOnly:"true" doc:"Id of the user who last changed the type."`
	Links         rest.Links `json:"_links" readOnly:"true" doc:"Links to the type and its schema."`
}

func (s *Slice) render(ctx context.Context, org model.Org, doc docstore.Doc[model.UserType]) UserType {
	t := doc.Value
	link := func(rel string, segments ...string) rest.Link {
		return rest.Link{Rel: rel, Href: rest.URL(ctx, append([]string{"api", "v1", "meta"}, segments...)...), Method: "GET"}
	}
	out := UserType{
		ID: doc.ID, Name: t.Name, DisplayName: t.DisplayName, Default: t.Default,
		Created: rest.TimeOf(doc.Created), CreatedBy: t.CreatedBy, LastUpdated: rest.TimeOf(doc.Updated), LastUpdatedBy: t.UpdatedBy,
		Links: rest.Links{
			"self":   link("self", "types", "user", doc.ID),
			"schema": link("schema", "schemas", "user", model.UserSchemaID(doc.ID)),
		},
	}
	if t.Description != "" {
		out.Description = &t.Description
	}
	for _, by := range []*string{&out.CreatedBy, &out.LastUpdatedBy} {
		if *by == "" {
			*by = org.ID
		}
	}
	return out
}

// target is the user type that a path names.
type target struct {
	TypeID string `path:"typeId" doc:"Id of the type, or default."`

	found docstore.Doc[model.UserType]
	org   model.Org
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	if t.org, err = s.Org(ctx, q); err != nil {
		return err
	}
	id := t.TypeID
	if id == "default" {
		id = t.org.UserType
	}
	t.found, err = s.UserTypes.Get(ctx, q, id)
	return rest.Missing(err, "UserType", t.TypeID)
}

func (s *Slice) get(ctx context.Context, t *target) (UserType, error) {
	return s.render(ctx, t.org, t.found), nil
}

func (s *Slice) list(ctx context.Context, _ *struct{}) (rest.Page[UserType], error) {
	q := s.Store.Reader()
	org, err := s.Org(ctx, q)
	if err != nil {
		return rest.Page[UserType]{}, err
	}
	found, err := s.UserTypes.Query(ctx, q, docstore.Query[model.UserType]{Limit: MaxTypes})
	if err != nil {
		return rest.Page[UserType]{}, err
	}
	page := rest.Page[UserType]{}
	for _, doc := range found.Docs {
		page.Items = append(page.Items, s.render(ctx, org, doc))
	}
	return page, nil
}
