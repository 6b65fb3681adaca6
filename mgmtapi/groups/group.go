package groups

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// Group is a group on the wire.
type Group struct {
	ID                    string     `json:"id" readOnly:"true" doc:"Id of the group."`
	Created               rest.Time  `json:"created" readOnly:"true" doc:"When the group was created."`
	LastUpdated           rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the profile last changed."`
	LastMembershipUpdated rest.Time  `json:"lastMembershipUpdated" readOnly:"true" doc:"When a member last came or left."`
	ObjectClass           []string   `json:"objectClass" readOnly:"true" doc:"Always svc:user_group."`
	Type                  string     `json:"type" readOnly:"true" enum:"SVC_GROUP,APP_GROUP,BUILT_IN" doc:"Who looks after the group."`
	Profile               Profile    `json:"profile" readOnly:"true" doc:"Attributes of the group."`
	Source                *Source    `json:"source,omitempty" readOnly:"true" doc:"The application of an APP_GROUP."`
	Embedded              *Embedded  `json:"_embedded,omitempty" readOnly:"true" doc:"What expand asked for."`
	Links                 rest.Links `json:"_links" readOnly:"true" doc:"Links to what belongs to the group."`
}

// ETag is the entity tag of the group.
func (g Group) ETag() string { return rest.WeakTag(g.LastUpdated.Time, 0) }

// Source is where a group comes from that is not ours.
type Source struct {
	ID string `json:"id" readOnly:"true" doc:"Id of the application."`
}

// Embedded is what expand adds to a group.
type Embedded struct {
	Stats *Stats `json:"stats,omitempty" doc:"Numbers of what belongs to the group."`
}

// Stats are numbers of what belongs to a group.
type Stats struct {
	UsersCount             int        `json:"usersCount" readOnly:"true" doc:"Members."`
	AppsCount              int        `json:"appsCount" readOnly:"true" doc:"Assigned applications."`
	GroupPushMappingsCount int        `json:"groupPushMappingsCount" readOnly:"true" doc:"Push mappings of the group."`
	HasAdminPrivilege      bool       `json:"hasAdminPrivilege" readOnly:"true" doc:"Whether members are administrators through the group."`
	Links                  rest.Links `json:"_links" readOnly:"true" doc:"Links to what was counted."`
}

// Profile holds the attributes of a group, by name: name and description.
type Profile map[string]any

// Bounds of the attributes, in characters.
const (
	maxName        = 255
	maxDescription = 1024
)

// OpenAPISchema describes the profile.
func (Profile) OpenAPISchema() *openapi3.Schema {
	name := openapi3.NewStringSchema().WithMinLength(1)
	name.MaxLength = new(uint64(maxName))
	description := openapi3.NewStringSchema().WithNullable()
	description.MaxLength = new(uint64(maxDescription))
	schema := openapi3.NewObjectSchema().WithProperty("name", name).WithProperty("description", description)
	schema.Required = []string{"name"}
	return schema.WithoutAdditionalProperties()
}

// attributes are the attributes of the profile with their longest values, in characters.
var attributes = []struct {
	name     string
	most     int
	required bool
}{{"name", maxName, true}, {"description", maxDescription, false}}

// checkProfile records what is wrong with a profile and returns it without what has no value.
func checkProfile(profile map[string]any, causes *rest.Causes) map[string]any {
	out := map[string]any{}
	for _, a := range attributes {
		value := profile[a.name]
		if value == nil || value == "" {
			if a.required {
				causes.Blank(a.name)
			}
			continue
		}
		switch text, ok := value.(string); {
		case !ok:
			causes.Add(a.name, "The value must be a string")
		case utf8.RuneCountInString(text) > a.most:
			causes.Add(a.name, "The field must have at most %d characters", a.most)
		}
		out[a.name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		if name != "name" && name != "description" {
			causes.Add(name, "The attribute is not defined in the profile of the group")
		}
	}
	return out
}

func render(ctx context.Context, doc docstore.Doc[model.Group]) Group {
	g := doc.Value
	profile := Profile{"name": g.Name(), "description": nil}
	if description := g.Text("description"); description != "" {
		profile["description"] = description
	}
	out := Group{
		ID: doc.ID, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(g.LastUpdated),
		LastMembershipUpdated: rest.TimeOf(g.LastMembershipUpdated), ObjectClass: []string{"svc:user_group"},
		Type: string(g.Type), Profile: profile,
		Links: rest.Links{
			"self":   rest.To(rest.URL(ctx, "api", "v1", "groups", doc.ID)),
			"users":  rest.To(rest.URL(ctx, "api", "v1", "groups", doc.ID, "users"), "GET"),
			"apps":   rest.To(rest.URL(ctx, "api", "v1", "groups", doc.ID, "apps"), "GET"),
			"owners": rest.To(rest.URL(ctx, "api", "v1", "groups", doc.ID, "owners"), "GET"),
		},
	}
	if g.App != "" {
		out.Source = &Source{ID: g.App}
		out.Links["source"] = rest.To(rest.URL(ctx, "api", "v1", "apps", g.App), "GET")
	}
	return out
}

type createRequest struct {
	Body GroupInput `body:"required"`
}

// GroupInput is the body of a new or replaced group.
type GroupInput struct {
	Profile Profile `json:"profile" doc:"Attributes of the group. The name is unique without regard to case."`

	checked map[string]any
}

func (g *GroupInput) check(causes *rest.Causes) { g.checked = checkProfile(g.Profile, causes) }

// Check checks the profile.
func (r *createRequest) Check(_ context.Context, causes *rest.Causes) { r.Body.check(causes) }

func (s *Slice) create(ctx context.Context, r *createRequest) (Group, error) {
	now := s.Now()
	group := model.Group{
		Type: model.GroupService, Profile: r.Body.checked, LastUpdated: now, LastMembershipUpdated: now.Truncate(time.Second),
	}
	id := model.NewID(model.KindGroup)
	var doc docstore.Doc[model.Group]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if doc, err = s.Groups.Insert(ctx, tx, id, group); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.GroupCreate, doc); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.GroupChanged{ID: id})
	})
	if err != nil {
		return Group{}, err
	}
	return render(ctx, doc), nil
}

type getRequest struct {
	target
	Expand string `query:"expand" doc:"stats adds the numbers of what belongs to the group."`
}

func (s *Slice) findForGet(ctx context.Context, r *getRequest) error {
	return s.find(ctx, s.Store.Reader(), &r.target)
}

func (s *Slice) get(ctx context.Context, r *getRequest) (Group, error) {
	return s.expand(ctx, s.Store.Reader(), render(ctx, r.found), r.Expand)
}

// expand adds what the parameter expand asks for; names it does not know are left alone.
func (s *Slice) expand(ctx context.Context, q docstore.Reader, g Group, expand string) (Group, error) {
	for name := range strings.SplitSeq(expand, ",") {
		if strings.TrimSpace(name) != "stats" {
			continue
		}
		stats := &Stats{Links: rest.Links{"users": g.Links["users"], "apps": g.Links["apps"]}}
		for _, c := range []struct {
			to    *int
			count func() (int, error)
		}{
			{&stats.UsersCount, func() (int, error) {
				return s.Memberships.Count(ctx, q, docstore.Eq(model.MembershipByGroup, g.ID))
			}},
			{&stats.AppsCount, func() (int, error) {
				return s.AppGroups.Count(ctx, q, docstore.Eq(model.AppGroupByGroup, g.ID))
			}},
			{&stats.GroupPushMappingsCount, func() (int, error) {
				return s.PushMappings.Count(ctx, q, docstore.Eq(model.PushMappingByLiveSource, g.ID))
			}},
		} {
			n, err := c.count()
			if err != nil {
				return Group{}, err
			}
			*c.to = n
		}
		g.Embedded = &Embedded{Stats: stats}
	}
	return g, nil
}

type replaceRequest struct {
	target
	IfMatch string     `header:"If-Match" doc:"Entity tag of the group as it was read."`
	Body    GroupInput `body:"required"`
}

func (s *Slice) findForReplace(ctx context.Context, r *replaceRequest) error {
	return s.find(ctx, s.Store.Reader(), &r.target)
}

// Check checks the profile.
func (r *replaceRequest) Check(_ context.Context, causes *rest.Causes) { r.Body.check(causes) }

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (Group, error) {
	var doc docstore.Doc[model.Group]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		group := r.found.Value
		if err := rest.CheckMatch(r.IfMatch, rest.WeakTag(group.LastUpdated, 0)); err != nil {
			return err
		}
		group.Profile, group.LastUpdated = r.Body.checked, s.Now()
		if doc, err = s.Groups.Update(ctx, tx, r.found.ID, r.found.Rev, group); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.GroupUpdate, doc); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.GroupChanged{ID: doc.ID})
	})
	if err != nil {
		return Group{}, err
	}
	return render(ctx, doc), nil
}

type deleteRequest struct{ target }

func (s *Slice) findForDelete(ctx context.Context, r *deleteRequest) error {
	return s.find(ctx, s.Store.Reader(), &r.target)
}

func (s *Slice) delete(ctx context.Context, r *deleteRequest) (rest.Nothing, error) {
	return rest.Nothing{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.editable(ctx, tx, &r.target); err != nil {
			return err
		}
		members, err := s.Disband(ctx, tx, r.found.ID)
		if err != nil {
			return err
		}
		if err := s.Groups.Delete(ctx, tx, r.found.ID); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.GroupDelete, r.found); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.GroupDeleted{ID: r.found.ID, Members: members})
	})
}
