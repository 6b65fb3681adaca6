package mappings

import (
	"context"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// Slice serves the mappings, and creates and deletes them with their applications.
type Slice struct{ model.Deps }

// New returns the slice and registers its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	model.On(d.Feed, s.appChanged)
	return s
}

const tag = "Profile mappings"

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.profileMappings.read"}, []string{"svc.profileMappings.manage"}
	return []rest.Route{
		rest.Op[listRequest, rest.Page[Listed]]{
			ID: "listProfileMappings", Route: "GET /api/v1/mappings", Tag: tag, Scopes: read,
			Summary: "Lists the profile mappings, without their rules", Do: s.list,
		},
		rest.Op[target, Mapping]{
			ID: "getProfileMapping", Route: "GET /api/v1/mappings/{mappingId}", Tag: tag, Scopes: read,
			Summary: "Reads a profile mapping", Find: lookup.InView(s.Store, s.find, (*target).self), Do: s.get,
		},
		rest.Op[updateRequest, Mapping]{
			ID: "updateProfileMapping", Route: "POST /api/v1/mappings/{mappingId}", Tag: tag, Scopes: write,
			Summary: "Changes rules of a profile mapping",
			Description: "A rule in the body replaces the rule for its attribute, null removes it, and other rules stay. The users of " +
				"the application are updated in the background.",
			Find: lookup.InView(s.Store, s.find, (*updateRequest).self), Check: checkUpdate, Do: s.update,
		},
		s.previewRoute(),
	}
}

// appChanged creates the mappings of a new application, and deletes those of a deleted one.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return s.CompleteMappings(ctx, tx, e.App)
	}
	_, err := s.Mappings.DeleteWhere(ctx, tx, docstore.Eq(model.MappingByApp, e.App))
	return err
}

// Listed is a mapping in a list.
type Listed struct {
	ID     string     `json:"id" readOnly:"true" doc:"Id of the mapping."`
	Source End        `json:"source" readOnly:"true" doc:"Profile that values are read from."`
	Target End        `json:"target" readOnly:"true" doc:"Profile that values are written to."`
	Links  rest.Links `json:"_links" readOnly:"true" doc:"Links to the mapping."`
}

// End is one of the two profiles that a mapping connects.
type End struct {
	ID    string     `json:"id" readOnly:"true" doc:"Id of the user type or application."`
	Name  string     `json:"name" readOnly:"true" doc:"Name of the user type or application."`
	Type  string     `json:"type" readOnly:"true" enum:"user,appuser" doc:"Type of the profile."`
	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the user type or application, and to its schema."`
}

// Mapping is a mapping with its rules.
type Mapping struct {
	Listed
	Properties map[string]Rule `json:"properties" readOnly:"true" doc:"The rules by target attribute."`
}

// Rule derives the value of an attribute.
type Rule struct {
	Expression string           `json:"expression" readOnly:"true" doc:"Expression over the attributes of the source."`
	PushStatus model.PushStatus `json:"pushStatus" readOnly:"true"`
}

// MoreTags implements rest.Described.
func (Rule) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"pushStatus": `enum:"PUSH,DONT_PUSH" doc:"PUSH sets the value at creation and at every update, DONT_PUSH only at creation."`,
	}
}

// ends holds the user type and the application that a mapping connects.
type ends struct {
	userType docstore.Doc[model.UserType]
	app      docstore.Doc[model.App]
}

func (s *Slice) ends(ctx context.Context, q docstore.Reader, m *model.Mapping) (e ends, err error) {
	if e.userType, err = s.UserTypes.Get(ctx, q, m.UserType); err != nil {
		return e, err
	}
	e.app, err = s.Apps.Get(ctx, q, m.App)
	return e, err
}

func (e *ends) render(ctx context.Context, doc docstore.Doc[model.Mapping]) Listed {
	user := End{ID: e.userType.ID, Name: e.userType.Value.Name, Type: "user", Links: rest.Links{
		"self":   rest.To(rest.URL(ctx, "api", "v1", "meta", "types", "user", e.userType.ID)),
		"schema": rest.To(rest.URL(ctx, "api", "v1", "meta", "schemas", "user", model.UserSchemaID(e.userType.ID))),
	}}
	app := End{ID: e.app.ID, Name: e.app.Value.Name, Type: "appuser", Links: rest.Links{
		"self":   rest.To(rest.URL(ctx, "api", "v1", "apps", e.app.ID)),
		"schema": rest.To(rest.URL(ctx, "api", "v1", "meta", "schemas", "apps", e.app.ID, "default")),
	}}
	out := Listed{ID: doc.ID, Source: user, Target: app,
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "mappings", doc.ID), "GET", "POST")}}
	if doc.Value.Direction == model.ToUser {
		out.Source, out.Target = app, user
	}
	return out
}

type listRequest struct {
	SourceID string `query:"sourceId" doc:"Id of the user type or application that values are read from."`
	TargetID string `query:"targetId" doc:"Id of the user type or application that values are written to."`
	Limit    int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After    string `query:"after" doc:"Cursor from the link to the next page."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[Listed], err error) {
	var where []docstore.Cond
	if r.SourceID != "" {
		where = append(where, docstore.Eq(model.MappingBySource, r.SourceID))
	}
	if r.TargetID != "" {
		where = append(where, docstore.Eq(model.MappingByTarget, r.TargetID))
	}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Page(ctx, s.Mappings, q, docstore.Query[model.Mapping]{Where: docstore.All(where...), After: r.After, Limit: r.Limit})
		if err != nil {
			return err
		}
		out = rest.Page[Listed]{Next: page.Next}
		for _, doc := range page.Docs {
			e, err := s.ends(ctx, q, &doc.Value)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, e.render(ctx, doc))
		}
		return nil
	})
	return out, err
}

// target is the mapping that a path names, with the schemas that its rules refer to.
type target struct {
	MappingID string `path:"mappingId" doc:"Id of the mapping."`

	found      docstore.Doc[model.Mapping]
	ends       ends
	connection *model.Connection // nil if a connection was never configured
	provisions bool
	userSchema model.UserSchema
	appSchema  model.AppSchema
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	if t.found, err = s.Mappings.Get(ctx, q, t.MappingID); err != nil {
		return rest.Missing(err, "ProfileMapping", t.MappingID)
	}
	m := &t.found.Value
	if t.ends, err = s.ends(ctx, q, m); err != nil {
		return err
	}
	connection, err := model.Optional(ctx, q, s.Connections, m.App)
	if err != nil {
		return err
	}
	t.connection = nil
	if connection != nil {
		t.connection = &connection.Value
	}
	t.provisions = t.ends.app.Value.Provisions(t.connection)
	schema, err := s.UserSchemas.Get(ctx, q, model.UserSchemaID(m.UserType))
	if err != nil {
		return err
	}
	t.userSchema = schema.Value
	t.appSchema, err = s.AppSchema(ctx, q, m.App)
	return err
}

// rules returns the current rules, including the defaults.
func (t *target) rules() map[string]model.MappingRule {
	return appprofile.Rules(&t.ends.app.Value, t.connection, &t.found.Value)
}

// property returns an attribute of the target profile.
func (t *target) property(name string) (model.Property, bool) {
	if t.found.Value.Direction == model.ToApp {
		return t.appSchema.Property(name, t.provisions)
	}
	return t.userSchema.Property(name)
}

// source returns the attributes of the source profile for expressions.
func (t *target) source() map[string]expression.Kind {
	if t.found.Value.Direction == model.ToApp {
		return t.userSchema.Kinds()
	}
	return t.appSchema.Kinds(t.provisions)
}

func (s *Slice) get(ctx context.Context, t *target) (Mapping, error) { return t.render(ctx), nil }

func (t *target) render(ctx context.Context) Mapping {
	out := Mapping{Listed: t.ends.render(ctx, t.found), Properties: map[string]Rule{}}
	for name, rule := range t.rules() {
		out.Properties[name] = Rule{Expression: rule.Expression, PushStatus: rule.PushStatus}
	}
	return out
}
