package schemas

import (
	"context"
	"maps"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// groupTarget is the schema of groups, which exists once.
type groupTarget struct {
	found *docstore.Doc[model.GroupSchema] // nil if the schema was never changed
	org   docstore.Doc[model.Org]
}

func (t *groupTarget) self() *groupTarget { return t }

func (t *groupTarget) schema() model.GroupSchema {
	if t.found == nil {
		return model.GroupSchema{}
	}
	return t.found.Value
}

func (s *Slice) findGroup(ctx context.Context, q docstore.Reader, t *groupTarget) (err error) {
	if t.org, err = s.Orgs.Get(ctx, q, model.OrgDocument); err != nil {
		return err
	}
	t.found, err = model.Optional(ctx, q, s.GroupSchemas, model.GroupSchemaDocument)
	return err
}

func (s *Slice) getGroup(ctx context.Context, t *groupTarget) (Schema, error) {
	return t.render(ctx), nil
}

func (t *groupTarget) render(ctx context.Context) Schema {
	self := rest.URL(ctx, "api", "v1", "meta", "schemas", "group", "default")
	out := Schema{
		ID: self, Dialect: dialect, Name: "group", Title: "Group", Description: "Profile of groups",
		Created: rest.TimeOf(t.org.Created), LastUpdated: rest.TimeOf(t.org.Created), Type: "object", Properties: allOf(),
		Links: rest.Links{"self": rest.Link{Rel: "self", Href: self, Method: "GET"}},
	}
	if t.found != nil {
		out.LastUpdated = rest.TimeOf(t.found.Updated)
	}
	schema := t.schema()
	out.define(schema.All(), groupKind)
	return out
}

type groupRequest struct {
	groupTarget
	Body body `body:"required"`
}

// checkGroup validates the properties against the schema as it was read.
func checkGroup(_ context.Context, r *groupRequest, causes *rest.Causes) error {
	r.apply(causes)
	return nil
}

func (r *groupRequest) apply(causes *rest.Causes) model.GroupSchema {
	old := r.schema()
	base := map[string]model.Property{}
	for name, p := range old.All() {
		if groupKind.base(name) {
			base[name] = p
		}
	}
	r.Body.Definitions.Base.rejectChanges(func(name string) (model.Property, bool) { p, ok := base[name]; return p, ok }, causes)
	return model.GroupSchema{Custom: r.Body.Definitions.Custom.apply(old.Custom, groupKind, causes)}
}

func (s *Slice) updateGroup(ctx context.Context, r *groupRequest) (Schema, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findGroup(ctx, tx, &r.groupTarget); err != nil {
			return err
		}
		var causes rest.Causes
		before, after := r.schema(), r.apply(&causes)
		if err := causes.Err(); err != nil {
			return err
		}
		var doc docstore.Doc[model.GroupSchema]
		var err error
		if r.found == nil {
			doc, err = s.GroupSchemas.Insert(ctx, tx, model.GroupSchemaDocument, after)
		} else {
			doc, err = s.GroupSchemas.Update(ctx, tx, r.found.ID, r.found.Rev, after)
		}
		if err != nil {
			return err
		}
		r.found = &doc
		if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.UserSchemaUpdate, Targets: []model.LogParty{audit.GroupSchema()}}); err !=
			nil {
			return err
		}
		return s.deleteValues(ctx, tx, removedNames(before.Custom, after.Custom))
	})
	if err != nil {
		return Schema{}, err
	}
	return r.render(ctx), nil
}

// deleteValues deletes the values of removed properties from all groups.
func (s *Slice) deleteValues(ctx context.Context, tx *docstore.Tx, removed []string) error {
	if len(removed) == 0 {
		return nil
	}
	return model.Each(ctx, tx, s.Groups, nil, func(doc docstore.Doc[model.Group]) error {
		profile := without(doc.Value.Profile, removed)
		if len(profile) == len(doc.Value.Profile) {
			return nil
		}
		doc.Value.Profile, doc.Value.LastUpdated = profile, s.Now()
		_, err := s.Groups.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		return err
	})
}

// without returns a profile without some of its attributes.
func without(profile map[string]any, names []string) map[string]any {
	out := maps.Clone(profile)
	for _, name := range names {
		delete(out, name)
	}
	return out
}
