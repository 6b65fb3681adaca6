package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// Commands is the group of commands. The help lists them in the order of the embedded structs.
type Commands struct {
	remote.Connection
	JSON bool `name:"json" help:"Print the response of the API unchanged; {} if it is empty."`

	taskCommands
	principalCommands
	planCommands
	targetCommands
	laneCommands
	eventCommands
	fleetCommands
	serviceCommands
	webhookCommands
}

// Invocation is the data that every command receives in addition to its flags.
type Invocation struct {
	Context context.Context
	Stdin   io.Reader
	Stdout  io.Writer
}

// session is the state of a running command.
type session struct {
	ctx  context.Context
	in   io.Reader
	out  io.Writer
	json bool
	api  *sandbox.APIClient // client of the management API, which stores users, groups and apps
	// service means that the API is that of serve engine, which has no management API: users and groups are named by their ids.
	service bool
	// engine is the client of the engine's control API. sent contains the last response of that API.
	engine *client.Client
	sent   *lastResponse
}

func (g *Commands) open(in *Invocation) (*session, error) {
	api, err := g.Client()
	if err != nil {
		return nil, err
	}
	s := &session{ctx: in.Context, in: in.Stdin, out: in.Stdout, json: g.JSON, api: api, sent: &lastResponse{next: api.HTTP.Transport}}
	if strings.HasSuffix(api.BaseURL, remote.ServicePrefix) {
		s.service = true
		s.engine = client.New(api.BaseURL, api.Token)
	} else {
		s.engine = client.New(api.BaseURL+"/sandbox/v1", api.Token)
		s.engine.Scheme = "SSWS"
	}
	s.engine.HTTP = &http.Client{Transport: s.sent}
	return s, nil
}

// lastResponse stores the body of the last response, which --json prints.
type lastResponse struct {
	next http.RoundTripper
	body []byte
}

// RoundTrip implements http.RoundTripper.
func (l *lastResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(res.Body, l), res.Body}
	l.body = nil
	return res, nil
}

// Write appends to the stored body.
func (l *lastResponse) Write(p []byte) (int, error) {
	l.body = append(l.body, p...)
	return len(p), nil
}

// openAt opens a session and finds the app with the given id or label.
func (g *Commands) openAt(in *Invocation, name string) (*session, app, error) {
	s, err := g.open(in)
	if err != nil {
		return nil, app{}, err
	}
	a, err := s.app(name)
	return s, a, err
}

// show prints the last response: unchanged with --json ({} if it has no body), otherwise the page that the function text writes.
func (s *session) show(text func(*page)) error {
	body := s.sent.body
	if len(body) == 0 {
		body = []byte("{}")
	}
	return s.print(body, text)
}

// print prints a response: with --json the JSON in raw, otherwise the page that the function text writes.
func (s *session) print(raw json.RawMessage, text func(*page)) error {
	if !s.json {
		p := &page{out: s.out}
		text(p)
		return p.flush()
	}
	if len(raw) == 0 {
		return nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.out, pretty.String())
	return err
}

// page is human-readable text: lines, and tables with aligned columns.
type page struct {
	out   io.Writer
	table *tabwriter.Writer
	err   error
}

// row adds a row to the current table.
func (p *page) row(cells ...string) {
	if p.table == nil {
		p.table = tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	}
	for i, c := range cells {
		cells[i] = oneLine(c)
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	_, err := fmt.Fprintln(p.table, strings.Join(cells, "\t"))
	p.err = errors.Join(p.err, err)
}

// line ends a table and writes a line.
func (p *page) line(format string, args ...any) {
	p.end()
	_, err := fmt.Fprintln(p.out, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.err = errors.Join(p.err, err)
}

func (p *page) end() {
	if p.table != nil {
		p.err = errors.Join(p.err, p.table.Flush())
		p.table = nil
	}
}

func (p *page) flush() error {
	p.end()
	return p.err
}

// oneLine returns text from other sources on one line, without control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// value formats a JSON value.
func value(v any) string {
	if v == nil {
		return "nothing"
	}
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// when formats a time, "-" for the zero time.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// counts formats numbers with their names.
func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], name))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// app is an app of the directory.
type app struct{ id, label string }

// app returns the app with the id or label.
func (s *session) app(name string) (app, error) {
	all, err := s.engine.Apps(s.ctx)
	if err != nil {
		return app{}, err
	}
	var found []app
	for _, a := range all {
		if a.ID == name {
			return app{a.ID, a.Label}, nil
		}
		if strings.EqualFold(a.Label, name) {
			found = append(found, app{a.ID, a.Label})
		}
	}
	switch len(found) {
	case 0:
		return app{}, fmt.Errorf("no app has the id or label %q; scimwright engine apps lists the apps", name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, a := range found {
		ids = append(ids, a.id)
	}
	return app{}, fmt.Errorf("%d apps have the label %q: name one by its id (%s)", len(found), name, strings.Join(ids, ", "))
}

// principal is the set of arguments for a user (login or id) or, with --group, a group (name or id).
type principal struct {
	App   string `arg:"" help:"Id or label of the app."`
	Who   string `arg:"" help:"Login or id of the user; with --group, name or id of the group. For serve engine, the id."`
	Group bool   `help:"WHO is a group, not a user." short:"g"`
}

// unassigned returns the error for a user or group that is not assigned to an app.
func (p principal) unassigned(a app) error {
	if p.Group {
		return fmt.Errorf("the group %s is not pushed to %s", p.Who, a.label)
	}
	return fmt.Errorf("%s is not assigned to %s", p.Who, a.label)
}

// open opens a session and finds the app and the user or group.
func (p principal) open(in *Invocation, g *Commands) (*session, app, engine.Principal, error) {
	s, a, err := g.openAt(in, p.App)
	if err != nil {
		return nil, a, engine.Principal{}, err
	}
	who, err := s.find(a, p.Who, p.Group)
	return s, a, who, err
}

// find returns a user or group of an app. A name that the directory does not have is used as an id, because the engine may still have its
// state.
func (s *session) find(a app, name string, group bool) (engine.Principal, error) {
	find := s.findUser
	if group {
		find = s.findGroup
	}
	if s.service {
		find = func(string) (engine.Principal, error) {
			if group {
				return engine.Principal{Kind: engine.Group}, nil
			}
			return engine.Principal{Kind: engine.User}, nil
		}
	}
	who, err := find(name)
	if err != nil || who.ID != "" {
		return who, err
	}
	who.ID = name
	if _, err = s.engine.Principal(s.ctx, a.id, who); client.IsNotFound(err) {
		err = fmt.Errorf("%s not found: %s", who.Kind, name)
	}
	return who, err
}

func (s *session) findUser(name string) (engine.Principal, error) {
	var user struct {
		ID string `json:"id"`
	}
	err := s.api.Do(s.ctx, http.MethodGet, "/api/v1/users/"+url.PathEscape(name), nil, &user)
	if notThere(err) {
		return engine.Principal{Kind: engine.User}, nil
	}
	return engine.Principal{Kind: engine.User, ID: user.ID}, err
}

func (s *session) findGroup(name string) (engine.Principal, error) {
	var found []struct {
		ID      string `json:"id"`
		Type    string `json:"type"`
		Profile struct {
			Name string `json:"name"`
		} `json:"profile"`
	}
	if err := s.api.Do(s.ctx, http.MethodGet, "/api/v1/groups?limit=200&q="+url.QueryEscape(name), nil, &found); err != nil {
		return engine.Principal{}, err
	}
	for _, g := range found {
		if g.Profile.Name == name && g.Type != "APP_GROUP" {
			return engine.Principal{Kind: engine.Group, ID: g.ID}, nil
		}
	}
	err := s.api.Do(s.ctx, http.MethodGet, "/api/v1/groups/"+url.PathEscape(name), nil, nil)
	switch {
	case notThere(err):
		return engine.Principal{Kind: engine.Group}, nil
	default:
		return engine.Principal{Kind: engine.Group, ID: name}, err
	}
}

func notThere(err error) bool {
	e, ok := errors.AsType[*sandbox.APIError](err)
	return ok && e.Status == http.StatusNotFound
}

// nameOr returns the name, or the id if the name is empty.
func nameOr(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// many returns a number with the singular or plural text.
func many(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
