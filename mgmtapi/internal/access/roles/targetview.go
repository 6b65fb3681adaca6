package roles

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// GroupTarget is a target group in the JSON format of a group.
type GroupTarget struct {
	ID                    string         `json:"id" readOnly:"true" doc:"Id of the group."`
	Created               rest.Time      `json:"created" readOnly:"true" doc:"When the group was created."`
	LastUpdated           rest.Time      `json:"lastUpdated" readOnly:"true" doc:"When the profile last changed."`
	LastMembershipUpdated rest.Time      `json:"lastMembershipUpdated" readOnly:"true" doc:"When a member was last added or removed."`
	ObjectClass           []string       `json:"objectClass" readOnly:"true" doc:"Always svc:user_group."`
	Type                  string         `json:"type" readOnly:"true" doc:"Type of the group: which system manages it."`
	Profile               map[string]any `json:"profile" readOnly:"true" doc:"Attributes of the group."`
	Links                 rest.Links     `json:"_links" readOnly:"true" doc:"Links to the members and other related resources."`
}

// groupTargets reads target groups and omits deleted ones.
func (s *Slice) groupTargets(ctx context.Context, q docstore.Reader, targets []model.RoleTarget) ([]GroupTarget, error) {
	ids := make([]string, len(targets))
	for i, t := range targets {
		ids[i] = t.Group
	}
	out := make([]GroupTarget, 0, len(ids))
	err := model.EachOf(ctx, q, s.Groups, ids, func(doc *docstore.Doc[model.Group]) {
		g := &doc.Value
		profile := map[string]any{"name": g.Name(), "description": nil}
		if description := g.Text("description"); description != "" {
			profile["description"] = description
		}
		url := func(more ...string) string {
			return rest.URL(ctx, append([]string{"api", "v1", "groups", doc.ID}, more...)...)
		}
		out = append(out, GroupTarget{
			ID: doc.ID, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(g.LastUpdated),
			LastMembershipUpdated: rest.TimeOf(g.LastMembershipUpdated),
			ObjectClass:           []string{"svc:user_group"}, Type: string(g.Type), Profile: profile,
			Links: rest.Links{"self": rest.To(url()), "users": rest.To(url("users"), "GET"), "apps": rest.To(url("apps"), "GET"),
				"owners": rest.To(url("owners"), "GET")},
		})
	})
	return out, err
}

// AppTarget is a target application, or a catalog entry as the target for all its applications. Only applications have an id.
type AppTarget struct {
	ID                 string         `json:"id,omitempty" readOnly:"true" doc:"Id of the application; a catalog entry has none."`
	Name               string         `json:"name" readOnly:"true" doc:"Name of the catalog entry, label of an application."`
	DisplayName        string         `json:"displayName,omitempty" readOnly:"true" doc:"Human-readable name of the catalog entry."`
	Description        string         `json:"description,omitempty" readOnly:"true" doc:"Description of the catalog entry."`
	Status             string         `json:"status" readOnly:"true" doc:"Status."`
	LastUpdated        *rest.Time     `json:"lastUpdated,omitempty" readOnly:"true" doc:"When the catalog entry last changed."`
	Category           string         `json:"category,omitempty" readOnly:"true" doc:"Category of the catalog entry."`
	VerificationStatus string         `json:"verificationStatus,omitempty" readOnly:"true" doc:"Verification status of the catalog entry."`
	Website            string         `json:"website,omitempty" readOnly:"true" doc:"Website of the catalog entry."`
	SignOnModes        []catalog.Mode `json:"signOnModes,omitempty" readOnly:"true" doc:"Sign-on modes of the catalog entry."`
	Features           []string       `json:"features,omitempty" readOnly:"true" doc:"Provisioning features of the catalog entry."`
	Links              rest.Links     `json:"_links" readOnly:"true" doc:"Links."`
}

// appTargets reads target applications and omits deleted ones.
func (s *Slice) appTargets(ctx context.Context, q docstore.Reader, targets []model.RoleTarget) ([]AppTarget, error) {
	out := make([]AppTarget, 0, len(targets))
	for _, t := range targets {
		if t.App == "" {
			entry, err := s.catalogTarget(ctx, q, t.AppName)
			if err != nil {
				return nil, err
			}
			out = append(out, entry)
			continue
		}
		doc, err := model.Optional(ctx, q, s.Apps, t.App)
		if err != nil {
			return nil, err
		}
		if doc != nil {
			out = append(out, AppTarget{
				ID: doc.ID, Name: doc.Value.Label, Status: string(doc.Value.Status),
				Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "apps", doc.ID))},
			})
		}
	}
	return out, nil
}

// catalogTarget describes a catalog entry. Properties that the catalog does not store have fixed values; the times are those of the
// organization.
func (s *Slice) catalogTarget(ctx context.Context, q docstore.Reader, name string) (AppTarget, error) {
	org, err := s.Orgs.Get(ctx, q, model.OrgDocument)
	if err != nil {
		return AppTarget{}, err
	}
	out := AppTarget{
		Name: name, DisplayName: strings.ReplaceAll(name, "_", " "), Description: "Application " + name, Status: string(model.AppActive),
		LastUpdated: rest.TimePtr(org.Created), Category: "OTHER", VerificationStatus: "SVC_VERIFIED",
		Links: rest.Links{
			"logo": []rest.Link{{Name: "medium", Href: rest.URL(ctx, model.LogoPath(name)...), Type: "image/svg+xml"}},
			"self": rest.To(rest.URL(ctx, "api", "v1", "catalog", "apps", name)),
		},
	}
	if entry, ok := catalog.Named(name); ok {
		out.SignOnModes = entry.Modes
		if entry.SCIM {
			out.Features = []string{"PUSH_NEW_USERS", "PUSH_USER_DEACTIVATION", "PUSH_PROFILE_UPDATES"}
		}
	}
	return out, nil
}

// AnyTarget is a target group, application or catalog entry.
type AnyTarget struct {
	ORN string `json:"orn" readOnly:"true" doc:"Resource name of the target."`

	AssignmentType string `json:"assignmentType" readOnly:"true" enum:"USER,GROUP" doc:"USER, or GROUP for a role of a group."`

	Links rest.Links `json:"_links" readOnly:"true" doc:"Link to the target."`
}

func (o kindRoutes) listTargets(ctx context.Context, r *assignmentRequest) ([]AnyTarget, error) {
	assignment, err := r.standard()
	if err != nil {
		return nil, err
	}
	org, err := o.Org(ctx, o.Store.Reader())
	if err != nil {
		return nil, err
	}
	out := []AnyTarget{}
	for _, t := range assignment.Value.Targets {
		name := authz.OfAppType(t.AppName)
		switch {
		case t.Group != "":
			name = authz.OfGroup(t.Group)
		case t.App != "":
			name = authz.OfApp(t.App, &model.App{Name: t.AppName})
		}
		out = append(out, AnyTarget{
			ORN: name.ORN(org.ID), AssignmentType: string(r.found.who.Kind),
			Links: rest.Links{"self": rest.To(rest.URL(ctx) + name.Path())},
		})
	}
	return out, nil
}

type catalogRequest struct {
	Name string `path:"appName" doc:"Name of the catalog entry."`
}

// isAppType returns an error if neither a catalog entry nor an application has the name.
func (s *Slice) isAppType(ctx context.Context, q docstore.Reader, name string) error {
	if _, ok := catalog.Named(name); ok {
		return nil
	}
	// The name of a custom application is in no catalog entry, but stored with the application.
	n, err := s.Apps.Count(ctx, q, docstore.Eq(model.AppByName, name))
	if err == nil && n == 0 {
		err = rest.NotFound("AppInstance", name)
	}
	return err
}

func (s *Slice) findCatalogEntry(ctx context.Context, r *catalogRequest) error {
	return s.isAppType(ctx, s.Store.Reader(), r.Name)
}

func (s *Slice) catalogEntry(ctx context.Context, r *catalogRequest) (AppTarget, error) {
	return s.catalogTarget(ctx, s.Store.Reader(), r.Name)
}
