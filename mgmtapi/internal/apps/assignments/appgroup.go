package assignments

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// AppGroup is the assignment of a group to an application in the API.
type AppGroup struct {
	ID          string         `json:"id" readOnly:"true" doc:"Id of the group."`
	LastUpdated rest.Time      `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Priority    int            `json:"priority" doc:"Rank among the groups of the application; the lowest number provides the profile."`
	Profile     map[string]any `json:"profile" doc:"Values of app attributes for the members."`
	Links       rest.Links     `json:"_links" readOnly:"true" doc:"Links."`
}

func renderGroup(ctx context.Context, doc docstore.Doc[model.AppGroup]) AppGroup {
	g := doc.Value
	out := AppGroup{
		ID: g.GroupID, LastUpdated: rest.TimeOf(doc.Updated), Priority: g.Priority, Profile: g.Profile,
		Links: rest.Links{
			"app":   rest.To(rest.URL(ctx, "api", "v1", "apps", g.AppID)),
			"self":  rest.To(rest.URL(ctx, "api", "v1", "apps", g.AppID, "groups", g.GroupID)),
			"group": rest.To(rest.URL(ctx, "api", "v1", "groups", g.GroupID)),
		},
	}
	if out.Profile == nil {
		out.Profile = map[string]any{}
	}
	return out
}

// maxPriority is the maximum priority number.
const maxPriority = 100

type putGroupBody struct {
	// Client libraries send priority 0 for an omitted one, so 0 counts as omitted.
	Priority int            `json:"priority" min:"0" max:"100"`
	Profile  map[string]any `json:"profile" doc:"Values of app attributes for the members."`
}

// MoreTags implements rest.Described.
func (putGroupBody) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"priority": `doc:"Rank among the groups of the application. Without a priority, or with 0, a new assignment is the last one and an ` +
			`existing one keeps its rank."`,
	}
}

type putGroupRequest struct {
	AppID   string       `path:"appId" doc:"Id of the application."`
	GroupID string       `path:"groupId" doc:"Id of the group."`
	Body    putGroupBody `body:"optional"`
}

func (s *Slice) findForPutGroup(ctx context.Context, req *putGroupRequest) error {
	q := s.Store.Reader()
	if _, err := s.findApp(ctx, q, req.AppID); err != nil {
		return err
	}
	_, err := s.Groups.Get(ctx, q, req.GroupID)
	return rest.Missing(err, "UserGroup", req.GroupID)
}

func (s *Slice) putGroup(ctx context.Context, req *putGroupRequest) (AppGroup, error) {
	var written docstore.Doc[model.AppGroup]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		if _, err := s.Groups.Get(ctx, tx, req.GroupID); err != nil {
			return err
		}
		written, err = s.writeGroup(ctx, tx, req)
		return err
	})
	if err != nil {
		return AppGroup{}, err
	}
	return renderGroup(ctx, written), nil
}

// writeGroup creates or changes the assignment of a group, and updates the assignments of its members.
func (s *Slice) writeGroup(ctx context.Context, tx *docstore.Tx, req *putGroupRequest) (written docstore.Doc[model.AppGroup], err error) {
	t, err := s.target(ctx, tx, req.AppID)
	if err != nil {
		return written, err
	}
	if t == nil {
		return written, rest.NotFound("AppInstance", req.AppID)
	}
	if err := t.checkGroupProfile(req.Body.Profile); err != nil {
		return written, err
	}
	if written, err = s.storeGroup(ctx, tx, req); err != nil {
		return written, err
	}
	event := audit.GroupAssignUpdate
	if written.Rev == 1 {
		event = audit.GroupAssignAdd
	}
	if err := s.logGroup(ctx, tx, event, t, req.GroupID); err != nil {
		return written, err
	}
	if err := s.Feed.Emit(ctx, tx, model.AppGroupChanged{App: req.AppID, Group: req.GroupID}); err != nil {
		return written, err
	}
	return written, s.regroupMembers(ctx, tx, t, req.GroupID)
}

// checkGroupProfile rejects values that app users cannot have.
func (t *target) checkGroupProfile(profile map[string]any) error {
	var causes rest.Causes
	for _, name := range slices.Sorted(maps.Keys(profile)) {
		if name == model.AppUserName {
			causes.Add("profile."+name, "A group cannot set the user name of its members")
			continue
		}
		t.checkValue(name, model.PlainValue(profile[name]), &causes)
	}
	return causes.Err()
}

// plainProfile returns a profile as the store would return it, without attributes that have no value.
func plainProfile(profile map[string]any) map[string]any {
	var out map[string]any
	for name, value := range profile {
		if value = model.PlainValue(value); !model.NoValue(value) {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = value
		}
	}
	return out
}

// storeGroup stores the assignment of a group with its priority.
func (s *Slice) storeGroup(ctx context.Context, tx *docstore.Tx, req *putGroupRequest) (docstore.Doc[model.AppGroup], error) {
	id := model.AppGroupID(req.AppID, req.GroupID)
	old, err := model.Optional(ctx, tx, s.AppGroups, id)
	if err != nil {
		return docstore.Doc[model.AppGroup]{}, err
	}
	value := model.AppGroup{AppID: req.AppID, GroupID: req.GroupID, Priority: req.Body.Priority, Profile: plainProfile(req.Body.Profile)}
	switch {
	case value.Priority != 0:
		err = s.makeRoom(ctx, tx, value)
	case old != nil:
		value.Priority = old.Value.Priority
	default:
		value.Priority, err = s.nextPriority(ctx, tx, req.AppID)
	}
	if err != nil {
		return docstore.Doc[model.AppGroup]{}, err
	}
	if old == nil {
		return s.AppGroups.Insert(ctx, tx, id, value)
	}
	return s.AppGroups.Update(ctx, tx, id, old.Rev, value)
}

// nextPriority returns the priority after that of the last group of the application.
func (s *Slice) nextPriority(ctx context.Context, q docstore.Reader, app string) (int, error) {
	page, err := s.AppGroups.Query(ctx, q, docstore.Query[model.AppGroup]{
		Where: docstore.Eq(model.AppGroupByApp, app), OrderBy: model.AppGroupByPriority, Desc: true, Limit: 1,
	})
	if err != nil || len(page.Docs) == 0 {
		return 0, err
	}
	return page.Docs[0].Value.Priority + 1, nil
}

// makeRoom moves the group that has the requested priority up by one, and each following group whose number is then taken.
func (s *Slice) makeRoom(ctx context.Context, tx *docstore.Tx, wanted model.AppGroup) error {
	var inTheWay []docstore.Doc[model.AppGroup]
	free := wanted.Priority
	for after, done := "", false; !done; {
		page, err := s.AppGroups.Query(ctx, tx, docstore.Query[model.AppGroup]{
			Where:   docstore.All(docstore.Eq(model.AppGroupByApp, wanted.AppID), docstore.Ge(model.AppGroupByPriority, wanted.Priority)),
			OrderBy: model.AppGroupByPriority, After: after,
		})
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			if doc.Value.GroupID == wanted.GroupID {
				continue
			}
			if done = doc.Value.Priority > free; done {
				break
			}
			inTheWay = append(inTheWay, doc)
			free++
		}
		after = page.Next
		done = done || after == ""
	}
	for _, doc := range inTheWay {
		doc.Value.Priority++
		if _, err := s.AppGroups.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
			return err
		}
	}
	return nil
}

type groupRequest struct {
	AppID   string `path:"appId" doc:"Id of the application."`
	GroupID string `path:"groupId" doc:"Id of the group."`

	doc docstore.Doc[model.AppGroup]
}

func (t *groupRequest) self() *groupRequest { return t }

func (s *Slice) findForGroup(ctx context.Context, q docstore.Reader, req *groupRequest) (err error) {
	if _, err := s.findApp(ctx, q, req.AppID); err != nil {
		return err
	}
	req.doc, err = s.findGroup(ctx, q, req.AppID, req.GroupID)
	return err
}

// findGroup reads the assignment of a group, or returns a 404 error.
func (s *Slice) findGroup(ctx context.Context, q docstore.Reader, app, group string) (docstore.Doc[model.AppGroup], error) {
	doc, err := s.AppGroups.Get(ctx, q, model.AppGroupID(app, group))
	return doc, rest.Missing(err, "GroupAssignment", group)
}

func (s *Slice) getGroup(ctx context.Context, req *groupRequest) (AppGroup, error) {
	return renderGroup(ctx, req.doc), nil
}

func (s *Slice) unassignGroup(ctx context.Context, req *groupRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if _, err := s.findGroup(ctx, tx, req.AppID, req.GroupID); err != nil {
			return err
		}
		return s.endGroup(ctx, tx, req.AppID, req.GroupID)
	})
	return rest.NoContent{}, err
}

type listGroupsRequest struct {
	AppID string `path:"appId" doc:"Id of the application."`
	Limit int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page."`
	After string `query:"after" doc:"Cursor of the page."`

	app docstore.Doc[model.App]
}

func (r *listGroupsRequest) at() (string, *docstore.Doc[model.App]) { return r.AppID, &r.app }

func (s *Slice) listGroups(ctx context.Context, req *listGroupsRequest) (rest.Page[AppGroup], error) {
	query := docstore.Query[model.AppGroup]{
		Where: docstore.Eq(model.AppGroupByApp, req.AppID), OrderBy: model.AppGroupByPriority, After: req.After, Limit: req.Limit,
	}
	if visible := authz.GroupsOf(ctx, req.app); visible != nil {
		query.Match = func(doc *docstore.Doc[model.AppGroup]) bool { return visible(doc.Value.GroupID) }
	}
	found, err := search.Page(ctx, s.AppGroups, s.Store.Reader(), query)
	if err != nil {
		return rest.Page[AppGroup]{}, err
	}
	page := rest.Page[AppGroup]{Next: found.Next}
	for _, doc := range found.Docs {
		page.Items = append(page.Items, renderGroup(ctx, doc))
	}
	return page, nil
}
