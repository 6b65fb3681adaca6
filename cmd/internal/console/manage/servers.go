package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	serversPath = "/sandbox/v1/scim"
	oneServer   = serversPath + "/{provider}"
)

// servers is the subject of the SCIM servers of the sandbox.
func (m *Manage) servers() subject {
	toList := func(url.Values, json.RawMessage) string { return "/servers" }
	return subject{
		links:     []console.Link{{Label: "SCIM servers", Path: "/servers", Key: "i", Access: engine.AccessWrite}},
		templates: []string{"servers", "server", "serverquirks", "serverresources", "serverresource"},
		pages: map[string]console.Page{
			"/servers": m.serversPage, "/servers/{provider}": m.serverPage, "/servers/{provider}/quirks": m.quirksPage,
			"/servers/{provider}/resources/{type}": m.resourcesPage, "/servers/{provider}/resources/{type}/{id}": m.resourcePage,
		},
		posts: map[string]console.Page{"/servers/{provider}/quirks": m.setQuirk},
		actions: map[string]console.Row{
			"createProvider": {
				Label: "New SCIM server", Submit: "Create", What: "Creates an empty SCIM server with its own path and token.",
				Method: http.MethodPost, Path: serversPath,
				Fields: []console.Field{
					{Name: "name", Label: "Name", Kind: "text", Required: true,
						Help: "Lower-case letters and digits in words joined by hyphens. The server is at /t/NAME/scim/v2."},
					{Name: "quirks", Label: "Quirks", Kind: "list", Help: "One per line. Default: none. They can be changed later."},
				},
				Result: func(response json.RawMessage) (console.ResultPage, error) {
					var made struct{ URL, Token string }
					err := json.Unmarshal(response, &made)
					return console.ResultPage{Heading: "The SCIM server is created", Note: "The token is shown only now.",
						Values: []console.Fact{{Name: "Base URL", Value: made.URL}, {Name: "Bearer token", Value: made.Token}}}, err
				},
			},
			"deleteProvider": {
				Label: "Delete", What: "Deletes the SCIM server with all its resources and tokens.", Method: http.MethodDelete, Path: oneServer,
				Form: typeName, Done: done("The SCIM server is deleted."), To: toList,
			},
			"resetProvider": {
				Label: "Remove all resources",
				What: "Deletes all users, groups and other resources of the SCIM server. Its tokens and quirks remain. " +
					"The engine detects the loss with the next request for each user.",
				Method: http.MethodPost, Path: oneServer + "/reset", Form: typeName, Done: done("The resources are deleted."),
			},
			"createProviderToken": {
				Label: "New token", Submit: "Create", What: "Creates a bearer token for clients of this SCIM server.", Method: http.MethodPost,
				Path: oneServer + "/tokens",
				Fields: []console.Field{
					{Name: "readOnly", Label: "Reject changes", Kind: "check"},
					{Name: "expires", Label: "Expires", Kind: "text", Help: "A time such as 2027-01-31T00:00:00Z. Default: never."},
					{Name: "me", Label: "Owner", Kind: "text", Help: "Id of the user that /Me returns. Default: none."},
				},
				Result: func(response json.RawMessage) (console.ResultPage, error) {
					var made struct{ ID, Token string }
					err := json.Unmarshal(response, &made)
					return console.ResultPage{Heading: "The token is created", Note: "The token is shown only now.",
						Values: []console.Fact{{Name: "Bearer token", Value: made.Token}, {Name: "Id", Value: made.ID}}}, err
				},
			},
			"deleteProviderToken": {
				Label: "Revoke", What: "Clients with this token have no access any more.", Method: http.MethodDelete,
				Path: oneServer + "/tokens/{token}",
				Done: done("The token is revoked."),
				Form: func(_ context.Context, _ *api.Client, args url.Values) (console.Form, error) {
					return console.Form{Subject: args.Get("token")}, nil
				},
			},
		},
	}
}

// typeName is the form of an action that the operator confirms with the name of the SCIM server.
func typeName(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
	var s scimServer
	name := args.Get("provider")
	err := c.Do(ctx, http.MethodGet, at(serversPath, name), nil, &s)
	return console.Form{Subject: name, Word: name, Facts: []console.Fact{{Name: "Base URL", Value: s.URL}}}, err
}

// scimServer is a SCIM server of the sandbox.
type scimServer struct {
	Name, URL       string
	Created         bool
	Lenient, Quirks []string
	Tokens          []struct {
		ID       string
		ReadOnly bool
		Expires  time.Time
		Me       string
	}
}

// ServersPage lists the SCIM servers.
type ServersPage struct{ Rows []scimServer }

func (m *Manage) serversPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	var p ServersPage
	if err := m.frame.Management(v).Do(r.Context(), http.MethodGet, serversPath, nil, &p.Rows); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Write(w, r, v, "servers", "SCIM servers", p)
}

// ServerHead is the head of the pages of a SCIM server.
type ServerHead struct {
	Server scimServer
	Types  []resourceType
	Tab    string
}

// resourceType is a resource type with the number of its resources.
type resourceType struct {
	Name, Endpoint string
	Total          int
}

// Path is the endpoint without the slash.
func (t resourceType) Path() string { return strings.TrimPrefix(t.Endpoint, "/") }

// serverHead reads a SCIM server. It has sent a response if ok is false.
func (m *Manage) serverHead(w http.ResponseWriter, r *http.Request, v *console.Visit, tab string) (h ServerHead, ok bool) {
	h.Tab = tab
	if err := m.frame.Management(v).Do(r.Context(), http.MethodGet, at(serversPath, r.PathValue("provider")), nil, &h.Server); err != nil {
		m.frame.Problem(w, r, v, err)
		return h, false
	}
	var list struct{ Resources []resourceType }
	if err := m.scim(r.Context(), h.Server, "/ResourceTypes", nil, &list); err == nil { // with a quirk, the server may not have this endpoint
		h.Types = list.Resources
	}
	if len(h.Types) == 0 {
		h.Types = []resourceType{{Name: "User", Endpoint: "/Users"}, {Name: "Group", Endpoint: "/Groups"}}
	}
	return h, true
}

// scimError is the error response of a SCIM server.
type scimError struct {
	status int
	detail string
}

func (e *scimError) Error() string {
	return fmt.Sprintf("the SCIM server returned %d: %s", e.status, e.detail)
}

// maxSCIM is the maximum size of a response that a page reads.
const maxSCIM = 8 << 20

// scim reads from a SCIM server in this process. The caller of the page may manage the server.
func (m *Manage) scim(ctx context.Context, s scimServer, path string, query url.Values, into any) error {
	target := s.URL + path // the addresses in the response have the same host
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	res, err := console.InProcess(m.o.SCIM).RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxSCIM))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var e struct{ Detail string }
		_ = json.Unmarshal(data, &e)
		return &scimError{res.StatusCode, e.Detail}
	}
	return json.Unmarshal(data, into)
}

// ServerPage shows a SCIM server: its resource types, tokens and quirks.
type ServerPage struct {
	ServerHead
	Problem string
}

func (m *Manage) serverPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.serverHead(w, r, v, "overview")
	if !ok {
		return
	}
	p := ServerPage{ServerHead: h}
	for i := range p.Types {
		var list struct{ TotalResults int }
		if err := m.scim(r.Context(), h.Server, p.Types[i].Endpoint, url.Values{"count": {"0"}}, &list); err != nil {
			p.Types[i].Total, p.Problem = -1, sentence(err)
			continue
		}
		p.Types[i].Total = list.TotalResults
	}
	m.frame.Write(w, r, v, "server", "SCIM server "+h.Server.Name, p)
}

// sentence returns an error as a sentence.
func sentence(err error) string {
	text := strings.TrimSuffix(err.Error(), ".")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// QuirksPage lists the quirks of a SCIM server.
type QuirksPage struct {
	ServerHead
	Rows    []quirk
	Query   string
	Active  int
	Total   int
	Problem string
}

// quirk is a deviation with its setting, if it is active.
type quirk struct {
	Usage, Category, Does, Seen string
	Name                        string
	Takes                       bool // the setting has an argument
	Setting                     string
}

func (m *Manage) quirksPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	m.showQuirks(w, r, v, "")
}

func (m *Manage) showQuirks(w http.ResponseWriter, r *http.Request, v *console.Visit, problem string) {
	h, ok := m.serverHead(w, r, v, "quirks")
	if !ok {
		return
	}
	var list struct {
		Active    []string
		Available []quirk
	}
	path := at(serversPath, h.Server.Name) + "/quirks"
	if err := m.frame.Management(v).Do(r.Context(), http.MethodGet, path, nil, &list); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p := QuirksPage{ServerHead: h, Query: search(r), Active: len(list.Active), Total: len(list.Available), Problem: problem}
	for _, q := range list.Available {
		q.Name = nameOfQuirk(q.Usage)
		q.Takes = q.Name != q.Usage
		if i := slices.IndexFunc(list.Active, func(s string) bool { return nameOfQuirk(s) == q.Name }); i >= 0 {
			q.Setting = list.Active[i]
		}
		text := strings.ToLower(q.Usage + " " + q.Does + " " + q.Seen + " " + q.Category)
		if p.Query == "" || strings.Contains(text, strings.ToLower(p.Query)) {
			p.Rows = append(p.Rows, q)
		}
	}
	slices.SortStableFunc(p.Rows, func(a, b quirk) int { // the active ones first
		switch {
		case a.Setting != "" && b.Setting == "":
			return -1
		case a.Setting == "" && b.Setting != "":
			return 1
		}
		return 0
	})
	m.frame.Write(w, r, v, "serverquirks", "Quirks of "+h.Server.Name, p)
}

// nameOfQuirk returns the name of a quirk in a setting or in the syntax of one.
func nameOfQuirk(setting string) string {
	name, _, _ := strings.Cut(setting, "=")
	name, _, _ = strings.Cut(name, ",")
	name, _, _ = strings.Cut(name, "[")
	return strings.TrimSpace(name)
}

// setQuirk enables or disables one quirk: it replaces the list of settings.
func (m *Manage) setQuirk(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	path := at(serversPath, r.PathValue("provider")) + "/quirks"
	c := m.frame.Management(v)
	var list struct{ Active []string }
	if err := c.Do(r.Context(), http.MethodGet, path, nil, &list); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	name, setting := r.PostFormValue("quirk"), strings.TrimSpace(r.PostFormValue("setting"))
	active := slices.DeleteFunc(list.Active, func(s string) bool { return nameOfQuirk(s) == name })
	text := "The quirk " + name + " is off."
	if r.PostFormValue("on") != "" {
		if setting == "" {
			setting = name
		}
		active = append(active, setting)
		text = "The quirk " + setting + " is on."
	}
	body := map[string]any{"active": append([]string{}, active...)}
	err := c.Do(r.Context(), http.MethodPut, path, body, nil)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Status < http.StatusInternalServerError {
		problem := e.Summary
		if len(e.Causes) > 0 {
			problem = strings.TrimPrefix(strings.Join(e.Causes, " "), "active: ")
		}
		m.showQuirks(w, r, v, sentence(errors.New(strings.TrimPrefix(problem, "active "))))
		return
	}
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Done(w, r, v, m.frame.Base()+at("/servers", r.PathValue("provider"))+"/quirks", text, m.frame.Curl(v, http.MethodPut, path, body))
}

// ResourcesPage lists resources of a SCIM server.
type ResourcesPage struct {
	ServerHead
	Type     resourceType
	Rows     []resource
	Filter   string
	From, To int
	Total    int
	Problem  string
	Back     string // start of the page before; empty on the first page
	Next     string // start of the next page; empty on the last one
}

// resource is a resource of a list.
type resource struct {
	ID, ExternalID, UserName, DisplayName string
	Active                                *bool
	Meta                                  struct{ LastModified time.Time }
}

// State is active or inactive, empty if the resource has no such attribute.
func (x resource) State() string {
	switch {
	case x.Active == nil:
		return ""
	case *x.Active:
		return "active"
	}
	return "inactive"
}

// Name is the name of a resource that an operator recognizes.
func (x resource) Name() string {
	for _, name := range []string{x.UserName, x.DisplayName} {
		if name != "" {
			return name
		}
	}
	return x.ID
}

// typeOf returns the resource type of a page, whose path is not one of another endpoint.
func (h ServerHead) typeOf(r *http.Request) (resourceType, bool) {
	i := slices.IndexFunc(h.Types, func(t resourceType) bool { return t.Path() == r.PathValue("type") })
	if i < 0 {
		return resourceType{}, false
	}
	return h.Types[i], true
}

func (m *Manage) resourcesPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.serverHead(w, r, v, r.PathValue("type"))
	if !ok {
		return
	}
	kind, ok := h.typeOf(r)
	if !ok {
		m.frame.Fail(w, r, v, http.StatusNotFound, "This SCIM server has no such resource type.",
			"Go to the page of the server, which lists them.")
		return
	}
	p := ResourcesPage{ServerHead: h, Type: kind, Filter: search(r), From: 1}
	if n, err := strconv.Atoi(r.URL.Query().Get("from")); err == nil && n > 1 {
		p.From = n
	}
	query := url.Values{"startIndex": {strconv.Itoa(p.From)}, "count": {strconv.Itoa(pageSize)}, "excludedAttributes": {"members,groups"}}
	if p.Filter != "" {
		query.Set("filter", filterOf(p.Filter, kind))
	}
	var list struct {
		TotalResults int
		Resources    []resource
	}
	err := m.scim(r.Context(), h.Server, kind.Endpoint, query, &list)
	if e, ok := errors.AsType[*scimError](err); ok {
		p.Problem = sentence(e)
	} else if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p.Rows, p.Total, p.To = list.Resources, list.TotalResults, p.From+len(list.Resources)-1
	if p.From > 1 {
		p.Back = strconv.Itoa(max(p.From-pageSize, 1))
	}
	if p.To < p.Total && len(p.Rows) > 0 {
		p.Next = strconv.Itoa(p.To + 1)
	}
	m.frame.Write(w, r, v, "serverresources", kind.Name+" resources of "+h.Server.Name, p)
}

// filterForm matches the operators of SCIM filters.
var filterForm = regexp.MustCompile(`(?i)["()]| (eq|ne|co|sw|ew|gt|ge|lt|le) | pr$`)

// filterOf returns the SCIM filter for the text of the search field: the text itself if it has the form of a filter, otherwise a search for
// names that begin with it.
func filterOf(text string, kind resourceType) string {
	if filterForm.MatchString(text) {
		return text
	}
	attribute := "displayName"
	if kind.Name == "User" {
		attribute = "userName"
	}
	return attribute + " sw " + quoted(text)
}

// ResourcePage shows a resource as JSON.
type ResourcePage struct {
	ServerHead
	Type resourceType
	Name string
	JSON string
	URL  string
}

func (m *Manage) resourcePage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.serverHead(w, r, v, r.PathValue("type"))
	if !ok {
		return
	}
	kind, ok := h.typeOf(r)
	if !ok {
		m.frame.Fail(w, r, v, http.StatusNotFound, "This SCIM server has no such resource type.",
			"Go to the page of the server, which lists them.")
		return
	}
	var text json.RawMessage
	path := at(kind.Endpoint, r.PathValue("id"))
	err := m.scim(r.Context(), h.Server, path, nil, &text)
	if e, ok := errors.AsType[*scimError](err); ok {
		m.frame.Fail(w, r, v, http.StatusNotFound, sentence(e), "Go to the list of resources. A quirk of the server can be the cause, too.")
		return
	}
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	var x resource
	_ = json.Unmarshal(text, &x)
	m.frame.Write(w, r, v, "serverresource", x.Name(), ResourcePage{h, kind, x.Name(), string(text), h.Server.URL + path})
}
