package apps

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"html/template"
	"strings"
	"unicode"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const pagesTag = "Application pages"

// pageRoutes lists the operations behind the links logo, appLinks and help of an application. Browsers request them without credentials.
// The pages contain only the label of an application.
func (s *Slice) pageRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[logoRequest, rest.SVG]{
			ID: "getApplicationLogo", Route: "GET /assets/logos/{app}", Tag: pagesTag, Public: true,
			Summary: "Returns a logo that is generated from the label of the application", Find: s.findForLogo, Do: logo,
		},
		rest.Op[linkPageRequest, rest.HTML]{
			ID: "getApplicationLinkPage", Route: "GET /home/{appName}/{appId}/{linkId}", Tag: pagesTag, Public: true,
			Summary: "Returns the page of an app link", Find: lookup.In(s.Store, s.findForLinkPage, (*linkPageRequest).self), Do: linkPage,
		},
		rest.Op[pageRequest, rest.HTML]{
			ID: "getApplicationHelpPage", Route: "GET /app/{appName}/{appId}/setup/help", Tag: pagesTag, Public: true,
			Summary: "Returns a page about the setup of the application",
			Find:    lookup.In(s.Store, s.findForPage, (*pageRequest).self), Do: helpPage,
		},
	}
}

type logoRequest struct {
	App string `path:"app" doc:"Id of the application, or name of a catalog entry or of an application."`

	label string
}

func (s *Slice) findForLogo(ctx context.Context, r *logoRequest) error {
	q := s.Store.Reader()
	doc, err := model.Optional(ctx, q, s.Apps, r.App)
	switch _, ok := catalog.Named(r.App); {
	case err != nil:
		return err
	case doc != nil:
		r.label = doc.Value.Label
		return nil
	case ok:
		r.label = strings.ReplaceAll(r.App, "_", " ")
		return nil
	}
	// The name of a custom application is in no catalog entry, but stored with the application.
	page, err := s.Apps.Query(ctx, q, docstore.Query[model.App]{Where: docstore.Eq(model.AppByName, r.App), Limit: 1})
	switch {
	case err != nil:
		return err
	case len(page.Docs) == 0:
		return rest.NotFound("AppInstance", r.App)
	}
	r.label = page.Docs[0].Value.Label
	return nil
}

// logo returns an image of the initials of the label on a background whose color is derived from the label.
func logo(_ context.Context, r *logoRequest) (rest.SVG, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.label)) // never fails
	sum := h.Sum32()
	var out, text bytes.Buffer
	if err := xml.EscapeText(&text, []byte(initials(r.label))); err != nil {
		return rest.SVG{}, fmt.Errorf("apps: logo: %w", err)
	}
	// Each channel stays below 160, so that white text is legible.
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="420" height="120" viewBox="0 0 420 120" role="img">`+
		`<rect width="420" height="120" fill="#%02x%02x%02x"/>`+
		`<text x="210" y="80" font-family="sans-serif" font-size="60" text-anchor="middle" fill="#ffffff">%s</text></svg>`,
		sum>>16&0xff%160, sum>>8&0xff%160, sum&0xff%160, text.Bytes())
	return rest.SVG{Picture: out.Bytes()}, nil
}

// initials returns the first letters or digits of the first two words, in upper case. It returns "#" for a label without letters and
// digits.
func initials(label string) string {
	words := strings.FieldsFunc(label, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out []rune
	for _, word := range words[:min(len(words), 2)] {
		out = append(out, unicode.ToUpper([]rune(word)[0]))
	}
	if len(out) == 0 {
		return "#"
	}
	return string(out)
}

type pageRequest struct {
	Name  string `path:"appName" doc:"Name of the application."`
	AppID string `path:"appId" doc:"Id of the application."`

	app docstore.Doc[model.App]
}

func (r *pageRequest) self() *pageRequest { return r }

func (s *Slice) findForPage(ctx context.Context, q docstore.Reader, r *pageRequest) (err error) {
	r.app, err = s.find(ctx, q, r.AppID)
	if err == nil && r.app.Value.Name != r.Name {
		err = rest.NotFound("AppInstance", r.AppID)
	}
	return err
}

type linkPageRequest struct {
	pageRequest
	Link string `path:"linkId" doc:"Id of the app link."`
}

func (r *linkPageRequest) self() *linkPageRequest { return r }

func (s *Slice) findForLinkPage(ctx context.Context, q docstore.Reader, r *linkPageRequest) error {
	if err := s.findForPage(ctx, q, &r.pageRequest); err != nil {
		return err
	}
	for name := range r.app.Value.Visibility.AppLinks {
		if model.AppLinkID(r.AppID, name) == r.Link {
			return nil
		}
	}
	return rest.NotFound("AppLink", r.Link)
}

// page is the template of all pages. html/template escapes the label.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Label}}</title></head>
<body><h1>{{.Label}}</h1>{{range .Text}}<p>{{.}}</p>{{end}}</body></html>
`))

func renderPage(app *model.App, text ...string) (rest.HTML, error) {
	var out bytes.Buffer
	err := page.Execute(&out, struct {
		Label string
		Text  []string
	}{app.Label, text})
	if err != nil {
		return rest.HTML{}, fmt.Errorf("apps: page: %w", err)
	}
	return rest.HTML{Page: out.Bytes()}, nil
}

func linkPage(_ context.Context, r *linkPageRequest) (rest.HTML, error) {
	text := "This link opens the application for assigned users. This service does not sign users on, so the link opens nothing."
	if r.app.Value.Status != model.AppActive {
		text = "The application is not active."
	}
	return renderPage(&r.app.Value, text)
}

func helpPage(_ context.Context, r *pageRequest) (rest.HTML, error) {
	text := []string{"Sign-on mode: " + string(r.app.Value.SignOnMode) + "."}
	if r.app.Value.SignOnMode == catalog.SAML {
		text = append(text,
			"Read the SAML metadata from the link metadata of the application: it has the certificate, the issuer and the sign-on addresses.")
	}
	text = append(text,
		"To provision users, configure a connection to a SCIM server and enable USER_PROVISIONING; see the links of the application in the API.")
	return renderPage(&r.app.Value, text...)
}
