package schemas

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// appTarget is the schema of the users of the application that a path names.
type appTarget struct {
	AppID string `path:"appId" doc:"Id of the application."`

	app        docstore.Doc[model.App]
	provisions bool
	found      *docstore.Doc[model.AppSchema] // nil if the schema was never changed
	leaving    []string                       // removed properties whose values are still being deleted
}

func (t *appTarget) self() *appTarget { return t }

func (t *appTarget) schema() model.AppSchema {
	if t.found == nil {
		return model.AppSchema{}
	}
	return t.found.Value
}

func (s *Slice) findApp(ctx context.Context, q docstore.Reader, t *appTarget) (err error) {
	if t.app, err = s.Apps.Get(ctx, q, t.AppID); err != nil {
		return rest.Missing(err, "AppInstance", t.AppID)
	}
	connection, err := model.Optional(ctx, q, s.Connections, t.AppID)
	if err != nil {
		return err
	}
	t.provisions = connection != nil || t.app.Value.Provisions(nil)
	following, err := model.Optional(ctx, q, s.Followings, t.AppID)
	if err != nil {
		return err
	}
	if t.leaving = nil; following != nil {
		t.leaving = following.Value.Removed
	}
	t.found, err = model.Optional(ctx, q, s.AppSchemas, t.AppID)
	return err
}

func (s *Slice) getApp(ctx context.Context, t *appTarget) (Schema, error) { return t.render(ctx), nil }

func (t *appTarget) render(ctx context.Context) Schema {
	self := rest.URL(ctx, "api", "v1", "meta", "schemas", "apps", t.AppID, "default")
	out := Schema{
		ID: self, Dialect: dialect, Name: t.app.Value.Name, Title: t.app.Value.Label + " User",
		Description: "Profile of the users of the application",
		Created:     rest.TimeOf(t.app.Created), LastUpdated: rest.TimeOf(t.app.Created), Type: "object", Properties: allOf(),
		Links: rest.Links{
			"self": rest.Link{Rel: "self", Href: self, Method: "GET"},
			"app":  rest.Link{Rel: "app", Href: rest.URL(ctx, "api", "v1", "apps", t.AppID), Method: "GET"},
		},
	}
	if t.found != nil {
		out.LastUpdated = rest.TimeOf(t.found.Updated)
	}
	schema := t.schema()
	out.define(schema.All(t.provisions), appKind)
	return out
}

type appRequest struct {
	appTarget
	Body body `body:"required"`
}

// checkApp validates the properties against the schema as it was read.
func checkApp(_ context.Context, r *appRequest, causes *rest.Causes) error {
	r.apply(causes)
	return nil
}

func (r *appRequest) apply(causes *rest.Causes) model.AppSchema {
	old := r.schema()
	r.Body.Definitions.Base.rejectChanges(func(name string) (model.Property, bool) {
		if !model.AppAttribute(name) {
			return model.Property{}, false
		}
		return old.Property(name, r.provisions)
	}, causes)
	custom := &r.Body.Definitions.Custom
	for _, name := range slices.Sorted(maps.Keys(custom.Properties)) {
		if _, there := old.Custom[name]; !there && custom.Properties[name] != nil && slices.Contains(r.leaving, name) {
			causes.Add(at(customPath, name), "The values of the previous property with this name are still being removed; try again later")
		}
	}
	return model.AppSchema{Custom: custom.apply(old.Custom, appKind, causes)}
}

func (s *Slice) updateApp(ctx context.Context, r *appRequest) (Schema, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.findApp(ctx, tx, &r.appTarget); err != nil {
			return err
		}
		var causes rest.Causes
		before, after := r.schema(), r.apply(&causes)
		if err := causes.Err(); err != nil {
			return err
		}
		var doc docstore.Doc[model.AppSchema]
		var err error
		if r.found == nil {
			doc, err = s.AppSchemas.Insert(ctx, tx, r.AppID, after)
		} else {
			doc, err = s.AppSchemas.Update(ctx, tx, r.AppID, r.found.Rev, after)
		}
		if err != nil {
			return err
		}
		r.found = &doc
		if err := audit.Write(ctx, tx, s.Deps,
			audit.Entry{Type: audit.AppSchemaUpdate, Targets: []model.LogParty{audit.App(r.AppID, &r.app.Value)}}); err != nil {
			return err
		}
		removed := removedNames(before.Custom, after.Custom)
		if err := s.deleteAppValues(ctx, tx, r.AppID, removed); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.MappingChanged{App: r.AppID, Removed: removed})
	})
	if err != nil {
		return Schema{}, err
	}
	return r.render(ctx), nil
}

// deleteAppValues deletes removed properties from the rules of the application's mappings and the profiles of its groups. The assignments
// are updated in the background.
func (s *Slice) deleteAppValues(ctx context.Context, tx *docstore.Tx, app string, removed []string) error {
	if len(removed) == 0 {
		return nil
	}
	err := model.Each(ctx, tx, s.Mappings, docstore.Eq(model.MappingByTarget, app), func(m docstore.Doc[model.Mapping]) error {
		rules := maps.Clone(m.Value.Rules)
		for _, name := range removed {
			delete(rules, name)
		}
		if len(rules) == len(m.Value.Rules) {
			return nil
		}
		m.Value.Rules = rules
		_, err := s.Mappings.Update(ctx, tx, m.ID, m.Rev, m.Value)
		return err
	})
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, s.AppGroups, docstore.Eq(model.AppGroupByApp, app), func(g docstore.Doc[model.AppGroup]) error {
		profile := without(g.Value.Profile, removed)
		if len(profile) == len(g.Value.Profile) {
			return nil
		}
		g.Value.Profile = profile
		_, err := s.AppGroups.Update(ctx, tx, g.ID, g.Rev, g.Value)
		return err
	})
}

// removedNames returns the names of properties that are only in before.
func removedNames(before, after map[string]model.Property) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// appChanged deletes the schema of a deleted application.
func (s *Slice) appChanged(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
	if !e.Deleted {
		return nil
	}
	if err := s.AppSchemas.Delete(ctx, tx, e.App); !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	return nil
}
