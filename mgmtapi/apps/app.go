package apps

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/catalog"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// App is an application as callers see it.
type App struct {
	ID            string                 `json:"id" readOnly:"true" doc:"Id of the application."`
	Name          string                 `json:"name" doc:"Catalog name, or a generated one for custom applications."`
	Label         string                 `json:"label" doc:"Display label."`
	Status        model.AppStatus        `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"Status."`
	LastUpdated   rest.Time              `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Created       rest.Time              `json:"created" readOnly:"true" doc:"Time of creation."`
	Accessibility model.AppAccessibility `json:"accessibility" doc:"How users reach the application."`
	Visibility    model.AppVisibility    `json:"visibility" doc:"Where the application is shown."`
	Features      []string               `json:"features" readOnly:"true" doc:"Provisioning features that are on."`
	SignOnMode    catalog.Mode           `json:"signOnMode" doc:"Sign-on mode."`
	Credentials   Credentials            `json:"credentials" doc:"Credential rules."`
	Settings      Settings               `json:"settings" doc:"Settings."`
	Links         rest.Links             `json:"_links" readOnly:"true" doc:"Links."`
}

// Credentials are the credential rules of an application.
type Credentials struct {
	Scheme           model.CredentialScheme  `json:"scheme,omitempty" empty:"absent" enum:"EDIT_USERNAME_AND_PASSWORD,ADMIN_SETS_CREDENTIALS,EDIT_PASSWORD_ONLY,EXTERNAL_PASSWORD_SYNC,SHARED_USERNAME_AND_PASSWORD" doc:"Who keeps the credentials."`
	UserNameTemplate *model.UserNameTemplate `json:"userNameTemplate,omitempty" doc:"How user names are made."`
	UserName         string                  `json:"userName,omitempty" empty:"absent" max:"255" doc:"Shared user name."`
	Password         *Password               `json:"password,omitempty" doc:"Shared password. An answer has the empty object when there is one."`
	Signing          *Signing                `json:"signing,omitempty" doc:"Signing key of applications that sign what they send."`
}

// Password is a secret that goes in and never comes out.
type Password struct {
	Value string `json:"value,omitempty" writeOnly:"true" max:"255" doc:"The password."`
}

// given says whether a password was sent.
func (p *Password) given() bool { return p != nil && p.Value != "" }

// Signing names the signing key. Keys of applications are not served yet, so
// that it is always empty.
type Signing struct{}

// Settings are the settings of an application.
type Settings struct {
	App           map[string]any         `json:"app" doc:"Members that the catalog entry asks for. An optional one that was not given is null."`
	Notifications model.AppNotifications `json:"notifications" doc:"Notices to users."`
	Notes         model.AppNotes         `json:"notes" doc:"Remarks."`
	SignOn        map[string]any         `json:"signOn,omitempty" doc:"Members of the sign-on mode."`
}

// render shows an application. The connection may be nil.
func render(ctx context.Context, doc docstore.Doc[model.App], conn *model.Connection) App {
	a := doc.Value
	out := App{
		ID: doc.ID, Name: a.Name, Label: a.Label, Status: a.Status,
		LastUpdated: rest.TimeOf(doc.Updated), Created: rest.TimeOf(doc.Created),
		Accessibility: a.Accessibility, Visibility: a.Visibility,
		Features: conn.Features(), SignOnMode: a.SignOnMode,
		Credentials: Credentials{
			Scheme: a.Credentials.Scheme, UserNameTemplate: &a.Credentials.UserNameTemplate, UserName: a.Credentials.UserName,
		},
		Settings: Settings{
			App: a.Settings.App, Notifications: a.Settings.Notifications, Notes: a.Settings.Notes, SignOn: a.Settings.SignOn,
		},
	}
	if a.Credentials.SealedPassword != "" {
		out.Credentials.Password = &Password{}
	}
	if a.SignOnMode.Traits().Signing {
		out.Credentials.Signing = &Signing{}
	}
	url := func(more ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "apps", doc.ID}, more...)...)
	}
	out.Links = rest.Links{
		"self":   rest.To(url()),
		"users":  rest.To(url("users")),
		"groups": rest.To(url("groups")),
	}
	if a.Status == model.AppActive {
		out.Links["deactivate"] = rest.To(url("lifecycle", "deactivate"), "POST")
	} else {
		out.Links["activate"] = rest.To(url("lifecycle", "activate"), "POST")
	}
	return out
}

// show renders an application together with what its connection says.
func (s *Slice) show(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.App]) (App, error) {
	conn, err := s.Connections.Get(ctx, q, doc.ID)
	switch {
	case errors.Is(err, docstore.ErrNotFound):
		return render(ctx, doc, nil), nil
	case err != nil:
		return App{}, err
	}
	return render(ctx, doc, &conn.Value), nil
}

type getRequest struct {
	AppID string `path:"appId" doc:"Id of the application."`

	app docstore.Doc[model.App]
}

func (s *Slice) findForGet(ctx context.Context, req *getRequest) (err error) {
	req.app, err = s.find(ctx, s.Store.Reader(), req.AppID)
	return err
}

func (s *Slice) get(ctx context.Context, req *getRequest) (App, error) {
	return s.show(ctx, s.Store.Reader(), req.app)
}

func (s *Slice) delete(ctx context.Context, req *getRequest) (rest.Nothing, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.find(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		if doc.Value.Status == model.AppActive {
			return rest.Fail(rest.CodeAppActive, "status: Deactivate the application before deleting it")
		}
		if err := s.Apps.Delete(ctx, tx, doc.ID); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.AppDelete, doc); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.AppChanged{App: doc.ID, Deleted: true})
	})
	return rest.Nothing{}, err
}

// enter returns the operation that brings an application to a status. An
// application that is there already stays as it is.
func (s *Slice) enter(status model.AppStatus, event audit.Type) func(context.Context, *getRequest) (rest.Empty, error) {
	return func(ctx context.Context, req *getRequest) (rest.Empty, error) {
		err := s.Update(ctx, func(tx *docstore.Tx) error {
			doc, err := s.find(ctx, tx, req.AppID)
			if err != nil || doc.Value.Status == status {
				return err
			}
			doc.Value.Status = status
			if _, err := s.Apps.Update(ctx, tx, doc.ID, doc.Rev, doc.Value); err != nil {
				return err
			}
			if err := s.log(ctx, tx, event, doc); err != nil {
				return err
			}
			return s.Feed.Emit(ctx, tx, model.AppChanged{App: doc.ID})
		})
		return rest.Empty{}, err
	}
}
