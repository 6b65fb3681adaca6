package users

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim/filter"
)

// AppLink is a link to an assigned application on the home page of a user.
type AppLink struct {
	ID               string `json:"id" readOnly:"true" doc:"Id of the link."`
	Label            string `json:"label" readOnly:"true" doc:"Label of the application, with the name of the link if there are several."`
	LinkURL          string `json:"linkUrl" readOnly:"true" doc:"URL of the link."`
	LogoURL          string `json:"logoUrl" readOnly:"true" doc:"URL of the application's logo."`
	AppName          string `json:"appName" readOnly:"true" doc:"Name of the application."`
	AppInstanceID    string `json:"appInstanceId" readOnly:"true" doc:"Id of the application."`
	AppAssignmentID  string `json:"appAssignmentId" readOnly:"true" doc:"Id of the user in the application."`
	CredentialsSetup bool   `json:"credentialsSetup" readOnly:"true" doc:"Whether the application requires credentials that are not set."`
	Hidden           bool   `json:"hidden" readOnly:"true" doc:"Whether the application is hidden in the browser."`

	SortOrder int `json:"sortOrder" readOnly:"true" doc:"Position on the home page. Links with the same position are ordered by label."`
}

type appLinksRequest struct{ target }

func (s *Slice) appLinks() rest.Route {
	return rest.Op[appLinksRequest, []AppLink]{
		ID: "listAppLinks", Route: "GET /api/v1/users/{user}/appLinks", Tag: tag, Scopes: readScope,
		Summary: "Lists the links to the active applications of a user",
		Find:    callers.FoundUser(s.Deps, (*appLinksRequest).at),
		Do:      s.listAppLinks,
	}
}

func (s *Slice) listAppLinks(ctx context.Context, r *appLinksRequest) ([]AppLink, error) {
	q := s.Store.Reader()
	assigned := map[string]*model.AppUser{}
	err := model.Each(ctx, q, s.AppUsers, docstore.Eq(model.AppUserByListedUser, r.found.ID), func(doc docstore.Doc[model.AppUser]) error {
		assigned[doc.Value.AppID] = &doc.Value
		return nil
	})
	if err != nil {
		return nil, err
	}
	links, visible := []AppLink{}, authz.Apps(ctx)
	err = model.EachOf(ctx, q, s.Apps, slices.Collect(maps.Keys(assigned)), func(app *docstore.Doc[model.App]) {
		if app.Value.Status == model.AppActive && (visible == nil || visible(app.ID, &app.Value)) {
			links = append(links, linksOf(ctx, *app, assigned[app.ID])...)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(links, func(a, b AppLink) int {
		return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), cmp.Compare(filter.Fold(a.Label), filter.Fold(b.Label)), cmp.Compare(a.ID, b.ID))
	})
	return links, nil
}

// linksOf returns the published links of an application for a user who is assigned to it.
func linksOf(ctx context.Context, app docstore.Doc[model.App], user *model.AppUser) []AppLink {
	var published []string
	for name, shown := range app.Value.Visibility.AppLinks {
		if shown {
			published = append(published, name)
		}
	}
	var links []AppLink
	for _, name := range published {
		id := model.AppLinkID(app.ID, name)
		link := AppLink{
			ID: id, Label: app.Value.Label, LinkURL: rest.URL(ctx, "home", app.Value.Name, app.ID, id),
			LogoURL: rest.URL(ctx, model.LogoPath(app.ID)...),
			AppName: app.Value.Name, AppInstanceID: app.ID, AppAssignmentID: user.UserID,
			CredentialsSetup: lacksCredentials(app.Value.Credentials.Scheme, user), Hidden: app.Value.Visibility.Hide.Web,
		}
		if len(published) > 1 {
			link.Label += " " + name
		}
		links = append(links, link)
	}
	return links
}

// lacksCredentials reports whether an application requires credentials per user that are not set.
func lacksCredentials(scheme model.CredentialScheme, user *model.AppUser) bool {
	return scheme != "" && scheme.AcceptsPassword() && (user.UserName == "" || user.SealedPassword == "")
}
