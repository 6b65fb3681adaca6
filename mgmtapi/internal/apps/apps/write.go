package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// body holds the writable members of an application.
type body struct {
	Name string `json:"name" empty:"absent" max:"100" doc:"Catalog name. Omit it for custom applications, which get a generated one."`

	Label         string                 `json:"label" required:"true" min:"1" max:"100" doc:"Display label."`
	SignOnMode    catalog.Mode           `json:"signOnMode" empty:"absent" doc:"Sign-on mode. Default: that of the catalog entry."`
	Accessibility model.AppAccessibility `json:"accessibility" doc:"How users reach the application."`
	Visibility    visibility             `json:"visibility" doc:"Where the application is shown."`
	Credentials   Credentials            `json:"credentials" doc:"How user names, passwords, the signing key and the OAuth client are set."`
	Settings      Settings               `json:"settings" doc:"Settings."`
}

// visibility configures where an application is shown. The default of hide depends on the sign-on mode.
type visibility struct {
	AutoLaunch        bool `json:"autoLaunch" doc:"The application starts when the user signs in."`
	AutoSubmitToolbar bool `json:"autoSubmitToolbar" doc:"The browser plugin submits the sign-in page automatically."`

	Hide *model.AppHide `json:"hide" doc:"Clients that do not show the application. OAuth clients are hidden everywhere by default."`

	AppLinks map[string]bool `json:"appLinks" max:"100" doc:"The published links by name, and whether each is shown."`
}

func (v visibility) model(mode catalog.Mode) model.AppVisibility {
	out := model.AppVisibility{AutoLaunch: v.AutoLaunch, AutoSubmitToolbar: v.AutoSubmitToolbar, AppLinks: v.AppLinks}
	switch {
	case v.Hide != nil:
		out.Hide = *v.Hide
	case mode == catalog.OpenIDConnect:
		out.Hide = model.AppHide{IOS: true, Web: true}
	}
	return out
}

type createRequest struct {
	Activate bool `query:"activate" default:"true" doc:"Whether the application starts ACTIVE."`
	Body     body `body:"required"`

	app model.App
}

// checkCreate finds the catalog entry and validates the members against it.
func (s *Slice) checkCreate(ctx context.Context, r *createRequest, causes *rest.Causes) error {
	entry, mode := r.Body.entry(causes)
	if entry == nil {
		return nil
	}
	known, err := s.references(ctx)
	if err != nil {
		return err
	}
	r.app = r.Body.app(ctx, entry, mode, &known, causes)
	if r.app.Credentials.Scheme == model.SharedUsernameAndPassword && !r.Body.Credentials.Password.given() {
		causes.Blank("credentials.password.value")
	}
	if r.Body.Credentials.Signing.given() {
		causes.Add("credentials.signing.kid", "A new application signs with its own key; to use another key, replace the application later")
	}
	return known.err
}

func (s *Slice) create(ctx context.Context, req *createRequest) (App, error) {
	if err := authz.CreateApp(ctx, req.app.Name, req.app.SignOnMode == catalog.OpenIDConnect); err != nil {
		return App{}, err
	}
	app, id := req.app, model.NewID(model.KindApp)
	app.Status = model.AppInactive
	if req.Activate {
		app.Status = model.AppActive
	}
	if app.SignOnMode.Traits().Signing {
		kid := model.NewSecret(model.KIDLength)
		app.Credentials.SigningKID, app.Credentials.OwnKID = kid, kid
	}
	if app.SignOnMode == catalog.SAML {
		app.IssuerID = model.NewID(model.KindSAMLKey)
	}
	if client := app.Credentials.OAuthClient; client != nil {
		client.ID = cmp.Or(client.ID, id)
	}
	if err := s.sealSecrets(id, req.Body.Credentials, &app, model.App{}); err != nil {
		return App{}, err
	}
	var out App
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		app, link := app, model.DefaultLink // copies: a retry of the transaction must start from the original values
		if app.Custom {
			if app.Name, err = s.freeName(ctx, tx, app.Label); err != nil {
				return err
			}
			link = app.Name + "_link"
		}
		if len(app.Visibility.AppLinks) == 0 {
			app.Visibility.AppLinks = map[string]bool{link: true}
		}
		if client := app.Credentials.OAuthClient; client != nil && client.ID != id {
			other, err := model.Optional(ctx, tx, s.Apps, client.ID)
			if err != nil {
				return err
			}
			// paths identify a client by its client_id or by the id of its application, so a client_id must not equal the id of another
			// application
			if other != nil {
				return rest.NotUnique(clientPath + "client_id")
			}
		}
		created, err := s.Apps.Insert(ctx, tx, id, app)
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.AppCreate, created); err != nil {
			return err
		}
		if err := s.Feed.Emit(ctx, tx, model.AppChanged{App: id}); err != nil {
			return err
		}
		out, err = s.show(ctx, tx, created)
		return err
	})
	if unique, ok := errors.AsType[*docstore.UniqueError](err); ok && unique.Index == model.AppByClientID {
		err = rest.NotUnique(clientPath + "client_id")
	}
	return out, err
}

// freeName generates the name of a custom application: the subdomain, the lowercase label reduced to letters and digits, and a number.
func (s *Slice) freeName(ctx context.Context, tx *docstore.Tx, label string) (string, error) {
	var base strings.Builder
	base.WriteString(s.Subdomain + "_")
	for _, r := range strings.ToLower(label) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			base.WriteRune(r)
		}
	}
	base.WriteByte('_')
	last := 0
	err := model.Each(ctx, tx, s.Apps, docstore.Prefix(model.AppByName, base.String()), func(doc docstore.Doc[model.App]) error {
		if n, err := strconv.Atoi(doc.Value.Name[base.Len():]); err == nil {
			last = max(last, n)
		}
		return nil
	})
	return base.String() + strconv.Itoa(last+1), err
}

type replaceRequest struct {
	getRequest
	Body body `body:"required"`

	new model.App
}

// checkReplace validates the members against the catalog entry of the application.
func (s *Slice) checkReplace(ctx context.Context, r *replaceRequest, causes *rest.Causes) error {
	old := r.app.Value
	if r.Body.SignOnMode != "" && r.Body.SignOnMode != old.SignOnMode {
		causes.Add("signOnMode", "The sign-on mode cannot be changed: it is %s", old.SignOnMode)
		return nil
	}
	entry, ok := entryOf(old)
	if !ok {
		return fmt.Errorf("apps: application %s has the name %q, which is not in the catalog", r.AppID, old.Name)
	}
	known, err := s.references(ctx)
	if err != nil {
		return err
	}
	r.Body.Settings.App = keepAliased(entry.App, r.Body.Settings.App, old.Settings.App)
	r.new = r.Body.app(ctx, entry, old.SignOnMode, &known, causes)
	r.new.Name, r.new.Status, r.new.IssuerID = old.Name, old.Status, old.IssuerID
	if r.Body.Credentials.Signing.given() && !old.SignOnMode.Traits().Signing {
		causes.Add("credentials.signing.kid", "Applications with the sign-on mode %s have no signing keys", old.SignOnMode)
	}
	if client := r.new.Credentials.OAuthClient; client != nil && old.OAuth() {
		if client.ID != "" && client.ID != old.Credentials.OAuthClient.ID {
			causes.Add(clientPath+"client_id", "The id of the client cannot be changed")
		}
		client.ID = old.Credentials.OAuthClient.ID
	}
	if len(r.new.Visibility.AppLinks) == 0 {
		r.new.Visibility.AppLinks = old.Visibility.AppLinks
	}
	if r.new.Credentials.Scheme == model.SharedUsernameAndPassword {
		r.new.Credentials.SealedPassword = old.Credentials.SealedPassword
		if old.Credentials.SealedPassword == "" && !r.Body.Credentials.Password.given() {
			causes.Blank("credentials.password.value")
		}
	}
	return known.err
}

func (s *Slice) replace(ctx context.Context, req *replaceRequest) (App, error) {
	var out App
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		now, err := s.find(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		app := req.new
		app.Status = now.Value.Status // a lifecycle operation may have changed the status since the check
		app.Credentials.SigningKID, app.Credentials.OwnKID = now.Value.Credentials.SigningKID, now.Value.Credentials.OwnKID
		signing := req.Body.Credentials.Signing
		if signing.given() && signing.KID != app.Credentials.OwnKID {
			if _, err := s.AppKeys.Get(ctx, tx, model.AppKeyID(req.AppID, signing.KID)); errors.Is(err, docstore.ErrNotFound) {
				return rest.Invalid("credentials.signing.kid", "The application has no key with this id")
			} else if err != nil {
				return err
			}
		}
		if signing.given() {
			app.Credentials.SigningKID = signing.KID
		}
		if err := s.sealSecrets(req.AppID, req.Body.Credentials, &app, now.Value); err != nil {
			return err
		}
		doc, err := s.Apps.Update(ctx, tx, req.AppID, now.Rev, app)
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.AppUpdate, doc); err != nil {
			return err
		}
		if err := s.Feed.Emit(ctx, tx, model.AppChanged{App: doc.ID}); err != nil {
			return err
		}
		out, err = s.show(ctx, tx, doc)
		return err
	})
	return out, err
}

// sealSecrets stores, encrypted, the shared password of an application and the secret of an OAuth client: those that were sent, else the
// stored ones.
func (s *Slice) sealSecrets(id string, given Credentials, app *model.App, had model.App) error {
	if given.Password.given() {
		sealed, err := s.Secrets.Seal(given.Password.Value, model.AppPasswordBinding(id))
		if err != nil {
			return err
		}
		app.Credentials.SealedPassword = sealed
	}
	before := ""
	if had.OAuth() {
		before = had.Credentials.OAuthClient.SealedSecret
	}
	return s.sealSecret(id, given.OAuthClient, app, before)
}

// entryOf returns the catalog entry of an application.
func entryOf(app model.App) (*catalog.Entry, bool) {
	if app.Custom {
		return catalog.CustomWith(app.SignOnMode)
	}
	return catalog.Named(app.Name)
}

// entry returns the catalog entry for the name and the sign-on mode. If no entry matches, it records the error and returns nil.
func (b *body) entry(causes *rest.Causes) (*catalog.Entry, catalog.Mode) {
	mode := b.SignOnMode
	if b.Name == "" {
		entry, ok := catalog.CustomWith(mode)
		switch {
		case ok:
			return entry, mode
		case mode == "":
			causes.Blank("signOnMode")
			causes.Blank("name")
		case mode.Known():
			causes.Blank("name") // only custom applications are added without a name
		default:
			causes.Add("signOnMode", "The value must be one of %s", modeNames(catalog.Modes()))
		}
		return nil, ""
	}
	entry, ok := catalog.Named(b.Name)
	if !ok {
		causes.Add("name", "The catalog has no application with this name; it has %s", strings.Join(catalog.Names(), ", "))
		return nil, ""
	}
	if mode == "" {
		mode = entry.Modes[0]
	}
	if !entry.Has(mode) {
		causes.Add("signOnMode", "The value for %s must be one of %s", entry.Name, modeNames(entry.Modes))
		return nil, ""
	}
	return entry, mode
}

func modeNames(modes []catalog.Mode) string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// app builds the application that the body describes, without status, links and password.
func (b *body) app(ctx context.Context, entry *catalog.Entry, mode catalog.Mode, known *references, causes *rest.Causes) model.App {
	app := model.App{
		Name: entry.Name, Label: b.Label, SignOnMode: mode, Custom: entry.Custom(),
		Accessibility: b.Accessibility, Visibility: b.Visibility.model(mode),
		Credentials: b.Credentials.model(mode, known.user, causes),
		Settings: model.AppSettings{
			App:           appSettings(entry, b.Settings.App, causes),
			Notifications: b.Settings.Notifications,
			Notes:         b.Settings.Notes,
			SignOn:        signOnSettings(ctx, entry, mode, b.Settings.SignOn, known, causes),
		},
	}
	if mode == catalog.OpenIDConnect {
		b.oauth(&app, causes)
	}
	pageAddress("accessibility.errorRedirectUrl", b.Accessibility.ErrorRedirectURL, causes)
	pageAddress("accessibility.loginRedirectUrl", b.Accessibility.LoginRedirectURL, causes)
	pageAddress("settings.notifications.vpn.helpUrl", b.Settings.Notifications.VPN.HelpURL, causes)
	if app.Settings.Notifications.VPN.Network.Connection == "" {
		app.Settings.Notifications.VPN.Network.Connection = "DISABLED"
	}
	return app
}

// pageAddress checks the URL of an optional page.
func pageAddress(member string, text *string, causes *rest.Causes) {
	if text != nil && !isURL(*text) {
		causes.Add(member, "The value must be an absolute http or https URL")
	}
}

// model validates the credential rules for a sign-on mode and sets defaults.
func (c *Credentials) model(mode catalog.Mode, user map[string]expression.Kind, causes *rest.Causes) model.AppCredentials {
	out := model.AppCredentials{Scheme: c.Scheme, UserName: c.UserName}
	switch {
	case !mode.Traits().UserCredentials && c.Scheme != "":
		causes.Add("credentials.scheme", "Applications with the sign-on mode %s have no credential scheme", mode)
	case mode.Traits().UserCredentials && c.Scheme == "":
		out.Scheme = model.EditUsernameAndPassword
	}
	if out.Scheme == model.SharedUsernameAndPassword {
		if c.UserName == "" {
			causes.Blank("credentials.userName")
		}
	} else if c.UserName != "" || c.Password.given() {
		causes.Add("credentials", "Only the scheme %s has a shared user name and password", model.SharedUsernameAndPassword)
	}
	template := model.UserNameTemplate{Type: model.TemplateBuiltIn}
	if c.UserNameTemplate != nil {
		template = *c.UserNameTemplate
	}
	if template.Type == "" {
		template.Type = model.TemplateBuiltIn
	}
	switch {
	case template.Type == model.TemplateNone:
		template.Template = ""
	case template.Template != "":
		if err := appprofile.CheckTemplate(template.Template, user); err != nil {
			causes.Add("credentials.userNameTemplate.template", "%s", upperFirst(err))
		}
	case template.Type == model.TemplateBuiltIn:
		template.Template = appprofile.DefaultTemplate
	default:
		causes.Blank("credentials.userNameTemplate.template")
	}
	out.UserNameTemplate = template
	return out
}

// upperFirst returns the text of an error with an uppercase first letter.
func upperFirst(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
