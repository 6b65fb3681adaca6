package groups

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/openapi"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Group is a group in the API.
type Group struct {
	ID                    string     `json:"id" readOnly:"true" doc:"Id of the group."`
	Created               rest.Time  `json:"created" readOnly:"true" doc:"When the group was created."`
	LastUpdated           rest.Time  `json:"lastUpdated" readOnly:"true" doc:"When the profile last changed."`
	LastMembershipUpdated rest.Time  `json:"lastMembershipUpdated" readOnly:"true" doc:"When a member was last added or removed."`
	ObjectClass           []string   `json:"objectClass" readOnly:"true" doc:"Always svc:user_group."`
	Type                  string     `json:"type" readOnly:"true" enum:"SVC_GROUP,APP_GROUP,BUILT_IN" doc:"Type of the group."`
	Profile               Profile    `json:"profile" readOnly:"true" doc:"Attributes of the group."`
	Source                *Source    `json:"source,omitempty" readOnly:"true" doc:"The application of an APP_GROUP."`
	Embedded              *Embedded  `json:"_embedded,omitempty" readOnly:"true" doc:"Objects requested by expand."`
	Links                 rest.Links `json:"_links" readOnly:"true" doc:"Links to related resources."`
}

// ETag is the entity tag of the group.
func (g Group) ETag() string { return rest.WeakTag(g.LastUpdated.Time, 0) }

// Source is the application that an APP_GROUP comes from.
type Source struct {
	ID string `json:"id" readOnly:"true" doc:"Id of the application."`
}

// Embedded holds the members that expand adds to a group.
type Embedded struct {
	Stats *Stats `json:"stats,omitempty" doc:"Counts of related resources."`
}

// Stats holds counts of the resources that are related to a group.
type Stats struct {
	UsersCount             int        `json:"usersCount" readOnly:"true" doc:"Number of members."`
	AppsCount              int        `json:"appsCount" readOnly:"true" doc:"Number of assigned applications."`
	GroupPushMappingsCount int        `json:"groupPushMappingsCount" readOnly:"true" doc:"Number of push mappings of the group."`
	HasAdminPrivilege      bool       `json:"hasAdminPrivilege" readOnly:"true" doc:"Whether members are administrators through the group."`
	Links                  rest.Links `json:"_links" readOnly:"true" doc:"Links to the counted resources."`
}

// Profile holds the attributes of a group, by name.
type Profile map[string]any

// OpenAPISchema describes the base attributes. The schema of groups defines custom ones.
func (Profile) OpenAPISchema() *openapi.Schema {
	schema := openapi.Object(map[string]*openapi.Schema{})
	schema.AdditionalProperties = openapi.Any()
	base := model.GroupSchema{}
	for name, p := range base.All() {
		described := openapi.String()
		described.MaxLength = new(uint64(*p.MaxLength))
		if p.IsRequired() {
			described.MinLength = 1
			schema.Required = append(schema.Required, name)
		} else {
			described.Nullable = true
		}
		schema.Properties[name] = described
	}
	return schema
}

// checkProfile records errors in a profile under a schema and returns the profile without attributes that have no value.
func checkProfile(schema *model.GroupSchema, profile map[string]any, causes *rest.Causes) map[string]any {
	out, known := map[string]any{}, map[string]bool{}
	for name, p := range schema.All() {
		known[name] = true
		value := model.PlainValue(profile[name])
		text, isText := value.(string)
		switch {
		case p.NoValue(value) && p.IsRequired(), name == "name" && isText && strings.TrimSpace(text) == "":
			causes.Blank(name)
		case p.NoValue(value):
		default:
			if problem := p.Problem(value); problem != "" {
				causes.Add(name, "%s", problem)
			}
			out[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		if !known[name] {
			causes.Add(name, "The attribute is not defined in the profile of the group")
		}
	}
	return out
}

// checkMutability rejects changes of attributes that clients cannot change. It returns the profile with the previous values of those that a
// replacement omits.
func checkMutability(schema *model.GroupSchema, before, after map[string]any) (map[string]any, error) {
	out := maps.Clone(after)
	var readOnly, immutable []string
	for _, name := range slices.Sorted(maps.Keys(schema.Custom)) {
		p, value := schema.Custom[name], before[name]
		now, given := after[name]
		switch {
		case p.Mutability == model.ReadWrite:
		case !given && value != nil:
			out[name] = value
		case reflect.DeepEqual(value, now):
		case p.Mutability == model.ReadOnly:
			readOnly = append(readOnly, name+": The attribute is read-only")
		case p.Mutability == model.Immutable && value != nil:
			immutable = append(immutable, name+": The attribute has a value and is immutable")
		}
	}
	switch {
	case len(readOnly) > 0:
		return nil, rest.Fail(rest.CodeReadOnly, append(readOnly, immutable...)...)
	case len(immutable) > 0:
		return nil, rest.Fail(rest.CodeImmutable, immutable...)
	}
	return out, nil
}

// enforce validates a profile against the schema as the transaction reads it. before is the stored profile.
func (s *Slice) enforce(ctx context.Context, tx *docstore.Tx, before map[string]any, given Profile) (map[string]any, error) {
	schema, err := s.GroupSchema(ctx, tx)
	if err != nil {
		return nil, err
	}
	var causes rest.Causes
	profile := checkProfile(&schema, given, &causes)
	if err := causes.Err(); err != nil {
		return nil, err
	}
	if profile, err = checkMutability(&schema, before, profile); err != nil {
		return nil, err
	}
	return profile, model.CheckSize(before, profile)
}

func render(ctx context.Context, doc docstore.Doc[model.Group]) Group {
	g := doc.Value
	profile := Profile{"description": nil}
	maps.Copy(profile, g.Profile)
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

type createRequest struct{ groupInput }

// groupInput is a request that creates or replaces a group.
type groupInput struct {
	Body GroupInput `body:"required"`

	schema model.GroupSchema
}

// GroupInput is the body of a new or replaced group.
type GroupInput struct {
	Profile Profile `json:"profile" doc:"Attributes of the group. The name is unique ignoring case."`
}

func checkCreate(_ context.Context, r *createRequest, causes *rest.Causes) error {
	checkProfile(&r.schema, r.Body.Profile, causes)
	return nil
}

func (s *Slice) findForCreate(ctx context.Context, r *createRequest) (err error) {
	r.schema, err = s.GroupSchema(ctx, s.Store.Reader())
	return err
}

func (s *Slice) create(ctx context.Context, r *createRequest) (Group, error) {
	id := model.NewID(model.KindGroup)
	var doc docstore.Doc[model.Group]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		group := model.Group{Type: model.GroupService, LastUpdated: tx.Now(), LastMembershipUpdated: tx.Now().Truncate(time.Second)}
		if group.Profile, err = s.enforce(ctx, tx, nil, r.Body.Profile); err != nil {
			return err
		}
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
	Expand string `query:"expand" doc:"stats adds counts of related resources."`
}

func (s *Slice) get(ctx context.Context, r *getRequest) (Group, error) {
	return s.expand(ctx, s.Store.Reader(), render(ctx, r.found), r.Expand)
}

// expand adds the objects that the parameter expand requests; it ignores unknown names.
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
	groupInput
	IfMatch string `header:"If-Match" doc:"Entity tag of the group as it was read."`
}

func (s *Slice) findForReplace(ctx context.Context, r *replaceRequest) (err error) {
	if err := s.find(ctx, s.Store.Reader(), &r.target); err != nil {
		return err
	}
	r.schema, err = s.GroupSchema(ctx, s.Store.Reader())
	return err
}

func checkReplace(_ context.Context, r *replaceRequest, causes *rest.Causes) error {
	checkProfile(&r.schema, r.Body.Profile, causes)
	return nil
}

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
		if group.Profile, err = s.enforce(ctx, tx, group.Profile, r.Body.Profile); err != nil {
			return err
		}
		group.LastUpdated = s.Now()
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

func (s *Slice) delete(ctx context.Context, r *deleteRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
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
	return rest.NoContent{}, audit.Refused(ctx, s.Deps, audit.Entry{Type: audit.GroupDelete, Targets: []model.LogParty{audit.Group(r.found)}},
		err)
}
