package apps

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

type ofGroupRequest struct {
	GroupID string `path:"groupId" doc:"Id of the group."`
	Limit   int    `query:"limit" default:"20" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After   string `query:"after" doc:"Cursor from the link to the next page."`
}

func (r *ofGroupRequest) at() (string, *docstore.Doc[model.Group]) { return r.GroupID, nil }

// ofGroup lists the applications of a group in the order in which the group was assigned to them.
func (s *Slice) ofGroup(ctx context.Context, req *ofGroupRequest) (page rest.Page[App], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		found, err := search.Linked(ctx, s.AppGroups, s.Apps, q, docstore.Query[model.AppGroup]{
			Where: docstore.Eq(model.AppGroupByGroup, req.GroupID), After: req.After, Limit: req.Limit,
		}, func(assigned *model.AppGroup) string { return assigned.AppID })
		if err != nil {
			return err
		}
		docs := found.Docs
		if visible := authz.Apps(ctx); visible != nil {
			docs = slices.DeleteFunc(docs, func(doc docstore.Doc[model.App]) bool { return !visible(doc.ID, &doc.Value) })
		}
		connections, err := s.connections(ctx, q, docs)
		if err != nil {
			return err
		}
		page = rest.Page[App]{Next: found.Next}
		for _, doc := range docs {
			page.Items = append(page.Items, render(ctx, doc, connections[doc.ID]))
		}
		return nil
	})
	return page, err
}
