package connections

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// PushMapping is a group push mapping in the API.
type PushMapping struct {
	ID            string `json:"id" readOnly:"true" doc:"Id of the mapping."`
	SourceGroupID string `json:"sourceGroupId" readOnly:"true" doc:"Id of the pushed group."`

	TargetGroupID string `json:"targetGroupId" readOnly:"true" doc:"Group of the application that represents the group on the target."`

	Status       model.PushMappingStatus `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE,ERROR" doc:"Status."`
	Created      rest.Time               `json:"created" readOnly:"true" doc:"Time of creation."`
	LastUpdated  rest.Time               `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	LastPush     *rest.Time              `json:"lastPush" readOnly:"true" doc:"Time of the last successful push."`
	ErrorSummary string                  `json:"errorSummary" readOnly:"true" doc:"Error of the last push."`
	Links        rest.Links              `json:"_links" readOnly:"true" doc:"Links."`
}

func renderMapping(ctx context.Context, doc docstore.Doc[model.PushMapping]) PushMapping {
	m := doc.Value
	return PushMapping{
		ID: doc.ID, SourceGroupID: m.SourceGroupID, TargetGroupID: m.TargetGroupID, Status: m.Status,
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), LastPush: rest.TimePtr(m.LastPush),
		ErrorSummary: m.ErrorSummary,
		Links: rest.Links{
			"app":         rest.To(rest.URL(ctx, "api", "v1", "apps", m.AppID)),
			"sourceGroup": rest.To(rest.URL(ctx, "api", "v1", "groups", m.SourceGroupID)),
			"targetGroup": rest.To(rest.URL(ctx, "api", "v1", "groups", m.TargetGroupID)),
		},
	}
}

type listMappingsRequest struct {
	appRequest
	Limit         int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"Size of the page."`
	After         string `query:"after" doc:"Cursor of the page."`
	LastUpdated   string `query:"lastUpdated" format:"date-time" doc:"Only mappings that changed at this time or later."`
	SourceGroupID string `query:"sourceGroupId" doc:"Only mappings of this group."`
	Status        string `query:"status" enum:"ACTIVE,INACTIVE,ERROR" doc:"Only mappings with this status."`
}

func (s *Slice) listMappings(ctx context.Context, req *listMappingsRequest) (rest.Page[PushMapping], error) {
	where := []docstore.Cond{docstore.Eq(model.PushMappingByLiveApp, req.AppID)}
	if req.SourceGroupID != "" {
		where = append(where, docstore.Eq(model.PushMappingByLiveSource, req.SourceGroupID))
	}
	if req.Status != "" {
		where = append(where, docstore.Eq(model.PushMappingByStatus, req.Status))
	}
	if req.LastUpdated != "" {
		since, err := time.Parse(time.RFC3339, req.LastUpdated)
		if err != nil {
			return rest.Page[PushMapping]{}, rest.Invalid("lastUpdated", "The value must be a timestamp as in RFC 3339")
		}
		where = append(where, docstore.Ge(docstore.Updated, since))
	}
	found, err := search.Page(ctx, s.PushMappings, s.Store.Reader(), docstore.Query[model.PushMapping]{
		Where: docstore.All(where...), After: req.After, Limit: req.Limit,
	})
	if err != nil {
		return rest.Page[PushMapping]{}, err
	}
	page := rest.Page[PushMapping]{Next: found.Next}
	for _, doc := range found.Docs {
		page.Items = append(page.Items, renderMapping(ctx, doc))
	}
	return page, nil
}

type createMappingBody struct {
	SourceGroupID   string `json:"sourceGroupId" required:"true" doc:"Group to push."`
	TargetGroupName string `json:"targetGroupName" empty:"absent" max:"255"`

	TargetGroupID string `json:"targetGroupId" empty:"absent" doc:"Group of the application that represents the group on the target."`

	Status model.PushMappingStatus `json:"status" default:"ACTIVE" enum:"ACTIVE,INACTIVE" doc:"ACTIVE: pushing starts immediately."`
}

// MoreTags implements rest.Described.
func (createMappingBody) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"targetGroupName": `doc:"Name of the group on the target, which is created if it does not exist. Either this or targetGroupId."`,
	}
}

type createMappingRequest struct {
	appRequest
	Body createMappingBody `body:"required"`
}

// checkCreateMapping requires exactly one of targetGroupName and targetGroupId.
func checkCreateMapping(_ context.Context, r *createMappingRequest, causes *rest.Causes) error {
	if r.Body.TargetGroupName != "" && strings.TrimSpace(r.Body.TargetGroupName) == "" {
		causes.Blank("targetGroupName")
	}
	if (r.Body.TargetGroupName == "") == (r.Body.TargetGroupID == "") {
		causes.Add("targetGroupName", "Give either targetGroupName or targetGroupId")
	}
	return nil
}

const pushedAlready = "sourceGroupId: The group is already pushed to the application"

func (s *Slice) createMapping(ctx context.Context, req *createMappingRequest) (PushMapping, error) {
	if err := authz.PushGroup(ctx, req.Body.SourceGroupID); err != nil {
		return PushMapping{}, err
	}
	var created docstore.Doc[model.PushMapping]
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		conn, err := s.connection(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		if !conn.Value.PushesGroups() {
			return rest.Invalid("feature", "Group push is not enabled for the application")
		}
		source, err := s.group(ctx, tx, req.Body.SourceGroupID)
		if err != nil {
			return err
		}
		if source.Value.Type == model.GroupApp {
			return rest.Invalid("sourceGroupId", "A group that belongs to an application cannot be pushed")
		}
		if err := s.checkFree(ctx, tx, model.PushMappingByLivePair, docstore.JoinID(req.AppID, source.ID),
			pushedAlready); err != nil {
			return err
		}
		target, err := s.targetGroup(ctx, tx, req)
		if err != nil {
			return err
		}
		// A deleted mapping of the same group stays stored until the deletion is provisioned. The new mapping replaces it, so that the
		// engine updates the group that it has already created on the target.
		if _, err := s.PushMappings.DeleteWhere(ctx, tx, docstore.Eq(model.PushMappingByPair, docstore.JoinID(req.AppID, source.ID))); err !=
			nil {
			return err
		}
		created, err = s.PushMappings.Insert(ctx, tx, model.NewID(model.KindPushMapping), model.PushMapping{
			AppID: req.AppID, SourceGroupID: source.ID, SourceName: source.Value.Name(), TargetGroupID: target, Status: req.Body.Status,
		})
		if err != nil {
			return err
		}
		if err := s.logMapping(ctx, tx, audit.PushCreated, created); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: req.AppID, Group: source.ID, AllMembers: true})
	})
	if unique, ok := errors.AsType[*docstore.UniqueError](err); ok && unique.Index == model.PushMappingByLivePair {
		err = rest.Fail(rest.CodePushTarget, pushedAlready) // a concurrent request has created the mapping
	}
	if err != nil {
		return PushMapping{}, err
	}
	return renderMapping(ctx, created), nil
}

// group reads a group, or returns a 404 error.
func (s *Slice) group(ctx context.Context, q docstore.Reader, id string) (docstore.Doc[model.Group], error) {
	doc, err := s.Groups.Get(ctx, q, id)
	return doc, rest.Missing(err, "UserGroup", id)
}

// checkFree returns an error if a push mapping has the given value in the given index.
func (s *Slice) checkFree(ctx context.Context, q docstore.Reader, index, value, cause string) error {
	n, err := s.PushMappings.Count(ctx, q, docstore.Eq(index, value))
	if err == nil && n > 0 {
		return rest.Fail(rest.CodePushTarget, cause)
	}
	return err
}

// targetGroup returns the group of the application that the mapping pushes to. A group that is given by name is created.
func (s *Slice) targetGroup(ctx context.Context, tx *docstore.Tx, req *createMappingRequest) (string, error) {
	if id := req.Body.TargetGroupID; id != "" {
		target, err := s.group(ctx, tx, id)
		if err != nil {
			return "", err
		}
		if target.Value.Type != model.GroupApp || target.Value.App != req.AppID {
			return "", rest.Invalid("targetGroupId", "The group does not belong to the application")
		}
		return id, s.checkFree(ctx, tx, model.PushMappingByLiveTarget, id, "targetGroupId: Another mapping pushes to the group")
	}
	taken := false
	err := model.Each(ctx, tx, s.PushMappings, docstore.Eq(model.PushMappingByLiveApp, req.AppID),
		func(m docstore.Doc[model.PushMapping]) error {
			target, err := s.Groups.Get(ctx, tx, m.Value.TargetGroupID)
			taken = taken || err == nil && target.Value.Name() == req.Body.TargetGroupName
			return err
		})
	if err != nil {
		return "", err
	}
	if taken {
		return "", rest.Fail(rest.CodePushTarget, "targetGroupName: Another mapping pushes to a group with this name")
	}
	id, now := model.NewID(model.KindGroup), tx.Now()
	_, err = s.Groups.Insert(ctx, tx, id, model.Group{
		Type: model.GroupApp, App: req.AppID, Profile: map[string]any{"name": req.Body.TargetGroupName},
		LastUpdated: now, LastMembershipUpdated: now,
	})
	if err != nil {
		return "", err
	}
	return id, s.Feed.Emit(ctx, tx, model.GroupChanged{ID: id})
}

type mappingRequest struct {
	appRequest
	MappingID string `path:"mappingId" doc:"Id of the mapping."`

	mapping docstore.Doc[model.PushMapping]
}

func (t *mappingRequest) self() *mappingRequest { return t }

func (s *Slice) findForMapping(ctx context.Context, q docstore.Reader, req *mappingRequest) (err error) {
	if req.app, err = s.findApp(ctx, q, req.AppID); err != nil {
		return err
	}
	req.mapping, err = s.findMapping(ctx, q, req)
	return err
}

// findMapping reads a mapping of the application, or returns a 404 error.
func (s *Slice) findMapping(ctx context.Context, q docstore.Reader, req *mappingRequest) (docstore.Doc[model.PushMapping], error) {
	doc, err := s.PushMappings.Get(ctx, q, req.MappingID)
	if errors.Is(err, docstore.ErrNotFound) || err == nil && (doc.Value.Deleted || doc.Value.AppID != req.AppID) {
		return doc, rest.NotFound("GroupPushMapping", req.MappingID)
	}
	return doc, err
}

func (s *Slice) getMapping(ctx context.Context, req *mappingRequest) (PushMapping, error) {
	return renderMapping(ctx, req.mapping), nil
}

type patchMappingBody struct {
	Status model.PushMappingStatus `json:"status" required:"true"`
}

// MoreTags implements rest.Described.
func (patchMappingBody) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"status": `enum:"ACTIVE,INACTIVE" doc:"INACTIVE pauses the pushes, ACTIVE resumes them with all members."`,
	}
}

type patchMappingRequest struct {
	mappingRequest
	Body patchMappingBody `body:"required"`
}

func (s *Slice) patchMapping(ctx context.Context, req *patchMappingRequest) (PushMapping, error) {
	var doc docstore.Doc[model.PushMapping]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		doc, err = s.findMapping(ctx, tx, &req.mappingRequest)
		if err != nil || doc.Value.Status == req.Body.Status {
			return err
		}
		doc.Value.Status, doc.Value.ErrorSummary = req.Body.Status, ""
		if doc, err = s.PushMappings.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
			return err
		}
		event := audit.PushActivated
		if req.Body.Status == model.PushInactive {
			event = audit.PushDeactivated
		}
		if err := s.logMapping(ctx, tx, event, doc); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PushMappingChanged{
			App: req.AppID, Group: doc.Value.SourceGroupID, AllMembers: req.Body.Status == model.PushActive,
		})
	})
	if err != nil {
		return PushMapping{}, err
	}
	return renderMapping(ctx, doc), nil
}

type deleteMappingRequest struct {
	mappingRequest
	DeleteTargetGroup bool `query:"deleteTargetGroup" required:"true" doc:"Whether the group on the target is deleted with the mapping."`
}

func (s *Slice) deleteMapping(ctx context.Context, req *deleteMappingRequest) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.findMapping(ctx, tx, &req.mappingRequest)
		if err != nil {
			return err
		}
		if doc.Value.Status == model.PushActive {
			return rest.Fail(rest.CodeState, "status: Set the mapping to INACTIVE before deleting it")
		}
		return s.markDeleted(ctx, tx, doc, req.DeleteTargetGroup)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps, audit.Entry{Type: audit.PushRemoved, Targets: []model.LogParty{
		audit.PushMapping(req.mapping.ID, &req.mapping.Value), audit.App(req.app.ID, &req.app.Value),
	}}, err)
}

// markDeleted replaces a mapping by a tombstone, which is stored until the target has been updated.
func (s *Slice) markDeleted(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.PushMapping], deleteTarget bool) error {
	m := doc.Value
	m.Deleted, m.DeleteTarget = true, deleteTarget
	if target, err := s.Groups.Get(ctx, tx, m.TargetGroupID); err == nil {
		m.TargetName = target.Value.Name()
	}
	if _, err := s.PushMappings.Update(ctx, tx, doc.ID, doc.Rev, m); err != nil {
		return err
	}
	if err := s.logMapping(ctx, tx, audit.PushRemoved, doc); err != nil {
		return err
	}
	if err := s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: m.AppID, Group: m.SourceGroupID}); err != nil {
		return err
	}
	if !deleteTarget {
		return nil
	}
	return s.dropGroup(ctx, tx, m.TargetGroupID)
}

// dropGroup deletes a group of an application.
func (s *Slice) dropGroup(ctx context.Context, tx *docstore.Tx, id string) error {
	err := s.Groups.Delete(ctx, tx, id)
	if errors.Is(err, docstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.GroupDeleted{ID: id})
}

// pushAll requests a full push of each active mapping, and the pending deletions of mappings that were deleted while group push was off.
func (s *Slice) pushAll(ctx context.Context, tx *docstore.Tx, app string) error {
	return model.Each(ctx, tx, s.PushMappings, docstore.Eq(model.PushMappingByApp, app), func(m docstore.Doc[model.PushMapping]) error {
		if m.Value.Deleted {
			return s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: app, Group: m.Value.SourceGroupID})
		}
		if m.Value.Status == model.PushInactive {
			return nil
		}
		return s.Feed.Emit(ctx, tx, model.PushMappingChanged{App: app, Group: m.Value.SourceGroupID, AllMembers: true})
	})
}

// logMapping logs an event of a mapping.
func (s *Slice) logMapping(ctx context.Context, tx *docstore.Tx, event audit.Type, m docstore.Doc[model.PushMapping]) error {
	targets := []model.LogParty{audit.PushMapping(m.ID, &m.Value)}
	app, err := model.Optional(ctx, tx, s.Apps, m.Value.AppID)
	if err != nil {
		return err
	}
	if app != nil {
		targets = append(targets, audit.App(app.ID, &app.Value))
	}
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: targets})
}
