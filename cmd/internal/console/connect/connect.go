// Package connect has the page that connects an app to a SCIM server: it tests the connection, creates the app, and changes the connection
// of an existing app.
//
// A Backend has what differs between the hosts. Management creates apps of the management API, and Desired those of the desired state.
package connect

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/seal"
)

//go:embed pages/*.html
var pageFiles embed.FS

// Path is the path of the page.
const Path = "/connect"

// Input is the content of the form.
type Input struct {
	App   string // id of the app, empty for a new one
	ID    string // id of a new app, if the caller assigns it
	Label string
	// Server is the name of a SCIM server of the sandbox, which has a URL and needs no credentials. Default: the server at BaseURL.
	Server   string
	BaseURL  string
	Scheme   engine.Scheme
	User     string // of engine.Basic
	ClientID string // of engine.ClientCredentials
	TokenURL string
	Scope    string
	Secret   string // token, password or secret of the client
	// Create, Update and Deactivate permit the requests for accounts, and Groups those for groups.
	Create, Update, Deactivate, Groups bool
}

// auth returns the credentials.
func (in *Input) auth() engine.Auth {
	a := engine.Auth{Scheme: in.Scheme, Secret: in.Secret}
	switch in.Scheme {
	case engine.Basic:
		a.Secret = in.User + ":" + in.Secret
	case engine.ClientCredentials:
		a.OAuth = engine.OAuth{TokenURL: in.TokenURL, ClientID: in.ClientID, Scope: in.Scope}
	case engine.Bearer, engine.Raw, engine.Header:
	}
	return a
}

// Server is a SCIM server of the sandbox.
type Server struct{ Name, URL string }

// Backend creates and changes apps with the operations of an API.
type Backend interface {
	// Mount sets the frame before all other calls.
	Mount(f *console.Frame)
	// Servers returns the SCIM servers that need no credentials.
	Servers(ctx context.Context, v *console.Visit) ([]Server, error)
	// Read returns the stored connection of an app without its secret.
	Read(ctx context.Context, v *console.Visit, app string) (Input, error)
	// Use returns the URL and the credentials of a server of Servers for one test, and a function that ends the test.
	Use(ctx context.Context, v *console.Visit, server string) (engine.Target, func(context.Context), error)
	// Save tests the connection, and creates the app or changes its connection. It returns the id of the app.
	Save(ctx context.Context, v *console.Visit, in Input) (app string, err error)
	// Commands returns the command lines that do the same as Save, without secrets.
	Commands(v *console.Visit, in Input) string
	// Next returns the path of the page after the creation of an app, and a sentence about what to do there.
	Next(app string) (path, text string)
	// Actions returns the actions on the page of the connection of an app.
	Actions(ctx context.Context, v *console.Visit, app string) []console.Action
	// Rows returns the actions by operation.
	Rows() map[string]console.Row
	// Traits returns how the form differs.
	Traits() Traits
}

// Traits are the differences of forms.
type Traits struct {
	// AssignsID is true if the caller assigns the id of a new app. Otherwise apps have a label.
	AssignsID bool
	// KeepsSecret is true if a change without a secret keeps the stored one.
	KeepsSecret bool
	// Groups is true if a new app can permit the push of all groups.
	Groups bool
	// EditsAccess is true if the page of an existing app has the permissions for requests, too.
	EditsAccess bool
}

// Options configure the section.
type Options struct {
	Backend Backend
	// Test requests the first page of users of a target.
	Test func(ctx context.Context, to engine.Target) error
}

// Section is the section with the page.
type Section struct {
	o     Options
	frame *console.Frame
	// kept encrypts the secret of a form that is shown again after a test, so that the page does not contain it.
	kept *seal.Key
}

var (
	_ console.Section  = (*Section)(nil)
	_ console.Offering = (*Section)(nil)
)

// New returns the section.
func New(o Options) *Section { return &Section{o: o, kept: seal.Random()} }

// Links implements console.Section. The overview links to the page.
func (s *Section) Links() []console.Link { return nil }

// Actions implements console.Section.
func (s *Section) Actions() map[string]console.Row { return s.o.Backend.Rows() }

// Offer implements console.Offering.
func (s *Section) Offer(ctx context.Context, v *console.Visit, app string) []console.Action {
	return s.o.Backend.Actions(ctx, v, app)
}

// Mount implements console.Section.
func (s *Section) Mount(f *console.Frame) error {
	s.frame = f
	s.o.Backend.Mount(f)
	if err := f.Templates(pageFiles, "connect"); err != nil {
		return err
	}
	f.Get(Path, s.open)
	f.Post(Path, s.send)
	return nil
}

// Page has the form.
type Page struct {
	In      Input
	Traits  Traits
	Servers []Server
	// Kept is the encrypted secret of the last test, empty if none.
	Kept    string
	Tested  time.Duration // of a successful test
	Problem string
	Next    string            // what to do about the problem
	Errors  map[string]string // by field
	Curl    string
	May     bool
}

// Schemes returns the forms of credentials.
func (Page) Schemes() []console.Choice {
	return []console.Choice{
		{Value: string(engine.Bearer), Label: "Bearer token"}, {Value: string(engine.Raw), Label: "Token without the word Bearer"},
		{Value: string(engine.Basic), Label: "User and password (Basic)"},
		{Value: string(engine.ClientCredentials), Label: "OAuth 2.0 client credentials"},
	}
}

// open shows the form.
func (s *Section) open(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	q := r.URL.Query()
	in := Input{App: q.Get("app"), Server: q.Get("server"), Scheme: engine.Bearer, Create: true, Update: true, Deactivate: true, Groups: true}
	if in.App != "" {
		var err error
		if in, err = s.o.Backend.Read(r.Context(), v, in.App); err != nil {
			s.failed(w, r, v, err)
			return
		}
		if server := q.Get("server"); server != "" {
			in.Server = server
		}
	}
	s.show(w, r, v, http.StatusOK, Page{In: in})
}

// notEditable is the error for a connection that the form cannot change without a loss.
type notEditable struct{ why string }

func (e *notEditable) Error() string { return e.why }

func (s *Section) failed(w http.ResponseWriter, r *http.Request, v *console.Visit, err error) {
	if e, ok := errors.AsType[*notEditable](err); ok {
		s.frame.Fail(w, r, v, http.StatusConflict, e.why, "Write the app with the API.")
		return
	}
	s.frame.Problem(w, r, v, err)
}

func (s *Section) show(w http.ResponseWriter, r *http.Request, v *console.Visit, status int, p Page) {
	p.Traits, p.May = s.o.Backend.Traits(), v.Caller().May(engine.AccessApps)
	if p.May {
		var err error
		if p.Servers, err = s.o.Backend.Servers(r.Context(), v); err != nil {
			s.frame.Problem(w, r, v, err)
			return
		}
	}
	if p.In.Server != "" {
		if p.In.BaseURL = urlOf(p.Servers, p.In.Server); p.In.BaseURL == "" {
			p.In.Server = ""
		}
	}
	if p.In.Secret != "" { // the page has it only in encrypted form
		if kept, err := s.kept.Seal(p.In.Secret, v.FormToken()); err == nil {
			p.Kept = kept
		}
	}
	p.Curl = s.o.Backend.Commands(v, p.In)
	p.In.Secret = ""
	title := "Connect an app"
	if p.In.App != "" {
		title = "Connection of " + p.In.Label
	}
	s.frame.WriteStatus(w, r, v, status, "connect", title, p)
}

// read returns the content of the form.
func (s *Section) read(r *http.Request, v *console.Visit) Input {
	value := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	in := Input{
		App: value("app"), ID: value("id"), Label: value("label"), Server: value("server"), BaseURL: value("baseUrl"),
		Scheme: engine.Scheme(value("scheme")), User: value("user"), ClientID: value("clientId"), TokenURL: value("tokenUrl"),
		Scope: value("scope"), Secret: r.PostFormValue("secret"), Create: value("create") != "", Update: value("update") != "",
		Deactivate: value("deactivate") != "", Groups: value("groups") != "",
	}
	if in.Secret == "" {
		in.Secret, _ = s.kept.Open(r.PostFormValue("kept"), v.FormToken()) // empty if another process has shown the form
	}
	return in
}

// missing returns the fields without a value that an operation requires.
func (s *Section) missing(in Input, test bool) map[string]string {
	found := map[string]string{}
	need := func(name, value, text string) {
		if value == "" {
			found[name] = text
		}
	}
	traits := s.o.Backend.Traits()
	if in.App == "" && !test && traits.AssignsID {
		need("id", in.ID, "Enter an id, such as crm.")
	}
	if in.App == "" && !test && !traits.AssignsID {
		need("label", in.Label, "Enter a name, such as CRM.")
	}
	if in.Server != "" {
		return found
	}
	need("baseUrl", in.BaseURL, "Enter the base URL of the SCIM server.")
	switch in.Scheme {
	case engine.Basic:
		need("user", in.User, "Enter the name of the user.")
	case engine.ClientCredentials:
		need("clientId", in.ClientID, "Enter the id of the client.")
		need("tokenUrl", in.TokenURL, "Enter the URL of the token endpoint.")
	case engine.Bearer, engine.Raw:
	case engine.Header: // the form has no field for the name of the header
		found["scheme"] = "Select one of the forms of credentials."
	default:
		found["scheme"] = "Select one of the forms of credentials."
	}
	switch {
	case test:
		need("secret", in.Secret, "The test requires the secret. Stored secrets are not shown.")
	case in.App == "" || !traits.KeepsSecret:
		need("secret", in.Secret, "Enter the secret.")
	}
	return found
}

// send tests or saves the content of the form.
func (s *Section) send(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	if !v.Caller().May(engine.AccessApps) {
		s.frame.Fail(w, r, v, http.StatusForbidden, "You may not do this: it requires the permission "+engine.AccessApps+".",
			"Log in with a token that has it.")
		return
	}
	in, test := s.read(r, v), r.PostFormValue("do") == "test"
	p := Page{In: in, Errors: s.missing(in, test)}
	if len(p.Errors) > 0 {
		p.Problem = "The form is incomplete."
		s.show(w, r, v, http.StatusBadRequest, p)
		return
	}
	if test {
		s.test(w, r, v, in)
		return
	}
	if in.Server != "" { // for the command lines
		servers, err := s.o.Backend.Servers(r.Context(), v)
		if err != nil {
			s.frame.Problem(w, r, v, err)
			return
		}
		in.BaseURL = urlOf(servers, in.Server)
	}
	app, err := s.o.Backend.Save(r.Context(), v, in)
	if err != nil {
		s.rejected(w, r, v, p, err)
		return
	}
	next, text := s.o.Backend.Next(app)
	if in.App != "" {
		next, text = "/apps/"+url.PathEscape(app)+"/target", "The connection is changed."
	}
	s.frame.Forget()
	s.frame.Done(w, r, v, s.frame.Base()+next, text, s.o.Backend.Commands(v, in))
}

// urlOf returns the URL of the server with a name, empty if there is none.
func urlOf(servers []Server, name string) string {
	if i := slices.IndexFunc(servers, func(s Server) bool { return s.Name == name }); i >= 0 {
		return servers[i].URL
	}
	return ""
}

// test requests the first page of users and shows the result.
func (s *Section) test(w http.ResponseWriter, r *http.Request, v *console.Visit, in Input) {
	target := engine.Target{BaseURL: in.BaseURL, Auth: in.auth()}
	if in.Server != "" {
		used, end, err := s.o.Backend.Use(r.Context(), v, in.Server)
		if err != nil {
			s.frame.Problem(w, r, v, err)
			return
		}
		defer end(context.WithoutCancel(r.Context()))
		target = used
	}
	p, began := Page{In: in}, time.Now()
	if err := s.o.Test(r.Context(), target); err != nil {
		p.Problem, p.Next = "The connection does not work: "+withoutSecret(err.Error(), in)+".", "Check the URL and the credentials."
		s.show(w, r, v, http.StatusOK, p)
		return
	}
	p.Tested = time.Since(began)
	s.show(w, r, v, http.StatusOK, p)
}

// withoutSecret removes the secret from the text of an error, because a server may repeat the header of a request.
func withoutSecret(text string, in Input) string {
	for _, secret := range []string{in.auth().Secret, in.Secret} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return strings.TrimSuffix(text, ".")
}

// fieldOf maps the members of the APIs to the fields of the form.
var fieldOf = map[string]string{
	"label": "label", "baseUrl": "baseUrl", "target.baseUrl": "baseUrl", "profile.token": "secret", "profile.clientSecret": "secret",
	"profile.clientId": "clientId", "profile.tokenUrl": "tokenUrl", "profile.scope": "scope", "target.auth.secret": "secret",
	"target.auth.oauth.tokenUrl": "tokenUrl", "target.auth.oauth.clientId": "clientId", "id": "id", "app": "id",
}

// rejected shows the error of an API in the form.
func (s *Section) rejected(w http.ResponseWriter, r *http.Request, v *console.Visit, p Page, err error) {
	if e, ok := errors.AsType[*notEditable](err); ok {
		s.failed(w, r, v, e)
		return
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status >= http.StatusInternalServerError {
		s.frame.Problem(w, r, v, err)
		return
	}
	p.Errors = map[string]string{}
	rest := []string{e.Summary}
	for _, cause := range e.Causes {
		member, text, _ := strings.Cut(cause, ": ")
		if field, ok := fieldOf[member]; ok && text != "" {
			p.Errors[field] = text
			continue
		}
		rest = append(rest, cause)
	}
	p.Problem, p.Next = withoutSecret(strings.Join(rest, " "), p.In)+".", "Nothing was stored."
	s.show(w, r, v, e.Status, p)
}
