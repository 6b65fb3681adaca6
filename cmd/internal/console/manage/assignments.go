package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const appsPath = "/api/v1/apps"

// app is an application of the management API.
type app struct {
	ID, Label, Name, Status string
	Embedded                struct{ User appUser } `json:"_embedded"` // if the list is that of a user
}

// appUser is the assignment of a user to an application.
type appUser struct {
	ID, ExternalID, Scope, Status, SyncState string
	Created                                  time.Time
	LastSync                                 *time.Time
	Credentials                              struct{ UserName string }
	Profile                                  map[string]any
	Links                                    struct{ Group struct{ Href string } } `json:"_links"`
	Embedded                                 struct {
		User user
		Task struct{ ErrorSummary string }
	} `json:"_embedded"`
}

// Group returns the path of the page of the group that the assignment is from, empty for an assignment of the user itself.
func (a appUser) Group() string {
	if a.Scope != "GROUP" || a.Links.Group.Href == "" {
		return ""
	}
	return at("/groups", path.Base(a.Links.Group.Href))
}

// Login returns the login of the user, or the user name in the app.
func (a appUser) Login() string {
	if login := shown(a.Embedded.User.Profile["login"]); login != "" {
		return login
	}
	if a.Credentials.UserName != "" {
		return a.Credentials.UserName
	}
	return a.ID
}

// appGroup is the assignment of a group to an application.
type appGroup struct {
	ID       string
	Priority int
	Profile  map[string]any
	Group    group // read in addition
}

func (m *Manage) assignments() subject {
	return subject{
		actions: assignmentActions, templates: []string{"assignments", "pick"},
		pages: map[string]console.Page{
			"/apps/{app}/assignments": m.assignmentList, "/apps/{app}/assignments/users": m.pickUserOfApp,
			"/apps/{app}/assignments/groups": m.pickGroupOfApp, "/users/{user}/apps": m.pickAppOfUser, "/users/{user}/groups": m.pickGroupOfUser,
			"/groups/{group}/users": m.pickUserOfGroup, "/groups/{group}/apps": m.pickAppOfGroup,
		},
	}
}

// AssignmentsPage lists the users and groups that are assigned to an app.
type AssignmentsPage struct {
	console.Head

	Query     string
	Users     []appUser
	Next      template.URL
	Groups    []appGroup
	NextGroup template.URL
}

func (m *Manage) assignmentList(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.frame.AppHead(w, r, v, "assignments")
	if !ok {
		return
	}
	ctx, q := r.Context(), r.URL.Query()
	p := AssignmentsPage{Head: h, Query: search(r)}
	query := url.Values{"limit": {fmt.Sprint(pageSize)}, "expand": {"user"}}
	for from, to := range map[string]string{"q": "q", "after": "after"} {
		if text := q.Get(from); text != "" {
			query.Set(to, text)
		}
	}
	next, err := m.frame.List(ctx, v, at(appsPath, h.ID, "users"), query, &p.Users)
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.Next = console.Query("q", p.Query, "after", next)
	}
	query = url.Values{"limit": {fmt.Sprint(partSize)}}
	if after := q.Get("groups"); after != "" {
		query.Set("after", after)
	}
	if next, err = m.frame.List(ctx, v, at(appsPath, h.ID, "groups"), query, &p.Groups); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.NextGroup = console.Query("groups", next)
	}
	for i := range p.Groups {
		if p.Groups[i].Group, err = readGroup(ctx, m.frame.Management(v), p.Groups[i].ID); err != nil && !api.IsNotFound(err) {
			m.frame.Problem(w, r, v, err)
			return
		}
	}
	m.frame.Write(w, r, v, "assignments", "Assignments of "+h.App.Label, p)
}

// PickPage lists what can be assigned or added, each with a button.
type PickPage struct {
	Title, Lead    string
	Crumbs         []console.Choice // path and name
	Placeholder    string
	Query          string
	Rows           []pickRow
	Next           template.URL
	Self           string // path of the page below the base
	Empty          string // for an empty list without a search
	Create         string // action that creates an object of this kind, if any
	NameOf, InfoOf string // headings of the columns
}

// pickRow is an object to pick.
type pickRow struct {
	Name, Info, Status, Path string
	Done                     string // the word for an object that was picked before; empty for others
	Action                   console.Action
}

// pickUsers fills a page with users. taken reports whether a user was picked before.
func (m *Manage) pickUsers(r *http.Request, v *console.Visit, p *PickPage, word string, taken func(id string) (bool, error), action string,
	args map[string]string,
) error {
	p.Query, p.NameOf, p.InfoOf, p.Placeholder = search(r), "User", "Name", "Start of login, email or name ( / )"
	p.Empty, p.Create = "There is no user yet.", "createUser"
	query := url.Values{"limit": {fmt.Sprint(pickSize)}}
	if p.Query != "" {
		query.Set("search", userSearch(p.Query, "", ""))
	}
	if after := r.URL.Query().Get("after"); after != "" {
		query.Set("after", after)
	}
	var found []user
	next, err := m.frame.List(r.Context(), v, usersPath, query, &found)
	if err != nil {
		return err
	}
	for _, u := range found {
		row := pickRow{Name: u.Login(), Info: u.Name(), Status: u.Status, Path: at("/users", u.ID), Action: with(action, args, "user", u.ID)}
		switch picked, err := taken(u.ID); {
		case err != nil:
			return err
		case picked:
			row.Done = word
		case u.Status == "DEPROVISIONED":
			row.Done = "deactivated"
		}
		p.Rows = append(p.Rows, row)
	}
	p.page(next)
	return nil
}

// pickGroups fills a page with groups.
func (m *Manage) pickGroups(r *http.Request, v *console.Visit, p *PickPage, word string, taken map[string]bool, editable bool,
	action string, args map[string]string,
) error {
	p.Query, p.NameOf, p.InfoOf, p.Placeholder = search(r), "Group", "Description", "Start of the name ( / )"
	p.Empty, p.Create = "There is no group yet.", "createGroup"
	query := url.Values{"limit": {fmt.Sprint(pickSize)}}
	if p.Query != "" {
		query.Set("search", "profile.name sw "+quoted(p.Query))
	}
	if after := r.URL.Query().Get("after"); after != "" {
		query.Set("after", after)
	}
	var found []group
	next, err := m.frame.List(r.Context(), v, groupsPath, query, &found)
	if err != nil {
		return err
	}
	for _, g := range found {
		row := pickRow{Name: g.Name(), Info: g.Description(), Path: at("/groups", g.ID), Action: with(action, args, "group", g.ID)}
		switch {
		case taken[g.ID]:
			row.Done = word
		case editable && !g.Editable():
			row.Done = g.Kind()
		}
		p.Rows = append(p.Rows, row)
	}
	p.page(next)
	return nil
}

// pickApps fills a page with apps.
func (m *Manage) pickApps(r *http.Request, v *console.Visit, p *PickPage, taken map[string]bool, action string, args map[string]string,
) error {
	p.Query, p.NameOf, p.InfoOf, p.Placeholder = search(r), "App", "Type", "Start of the label ( / )"
	p.Empty = "There is no app yet. Create one with POST /api/v1/apps."
	query := url.Values{"limit": {fmt.Sprint(pickSize)}}
	if p.Query != "" {
		query.Set("q", p.Query)
	}
	if after := r.URL.Query().Get("after"); after != "" {
		query.Set("after", after)
	}
	var found []app
	next, err := m.frame.List(r.Context(), v, appsPath, query, &found)
	if err != nil {
		return err
	}
	for _, a := range found {
		row := pickRow{Name: a.Label, Info: a.Name, Status: a.Status, Path: at("/apps", a.ID), Action: with(action, args, "app", a.ID)}
		switch {
		case taken[a.ID]:
			row.Done = "assigned"
		case a.Status != "ACTIVE":
			row.Done = "not active"
		}
		p.Rows = append(p.Rows, row)
	}
	p.page(next)
	return nil
}

func (p *PickPage) page(after string) {
	if after != "" {
		p.Next = console.Query("q", p.Query, "after", after)
	}
}

// with returns an action with an additional argument. The assignment of a user to an app has the id of the user in the body.
func with(id string, args map[string]string, name, value string) console.Action {
	out := console.Action{ID: id, Args: map[string]string{name: value}}
	for n, v := range args {
		out.Args[n] = v
	}
	if id == "assignUserToApplication" {
		out.Args["id"] = out.Args["user"]
		delete(out.Args, "user")
	}
	return out
}

// idsOf reads up to 200 ids of a list, to mark what was picked before.
func (m *Manage) idsOf(r *http.Request, v *console.Visit, path string, query url.Values) (map[string]bool, error) {
	var found []struct{ ID string }
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", "200")
	if _, err := m.frame.List(r.Context(), v, path, query, &found); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, f := range found {
		ids[f.ID] = true
	}
	return ids, nil
}

// show sends a page of objects to pick, or the page of an error.
func (m *Manage) show(w http.ResponseWriter, r *http.Request, v *console.Visit, p *PickPage, err error) {
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p.Self = m.frame.Base() + r.URL.Path[len(m.frame.Base()):]
	m.frame.Write(w, r, v, "pick", p.Title, p)
}

func (m *Manage) pickUserOfApp(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.frame.AppHead(w, r, v, "assignments")
	if !ok {
		return
	}
	p := &PickPage{
		Title: "Assign users to " + h.App.Label, Lead: "The engine creates an account in the app for each assigned user.",
		Crumbs: []console.Choice{{Value: at("/apps", h.ID), Label: h.App.Label}, {Value: at("/apps", h.ID, "assignments"), Label: "Assignments"}},
	}
	assigned := func(id string) (bool, error) {
		err := m.frame.Management(v).Do(r.Context(), http.MethodGet, at(appsPath, h.ID, "users", id), nil, nil)
		if api.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
	m.show(w, r, v, p, m.pickUsers(r, v, p, "assigned", assigned, "assignUserToApplication", map[string]string{"app": h.ID}))
}

func (m *Manage) pickGroupOfApp(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	h, ok := m.frame.AppHead(w, r, v, "assignments")
	if !ok {
		return
	}
	p := &PickPage{
		Title: "Assign groups to " + h.App.Label, Lead: "The engine creates an account in the app for each member of an assigned group.",
		Crumbs: []console.Choice{{Value: at("/apps", h.ID), Label: h.App.Label}, {Value: at("/apps", h.ID, "assignments"), Label: "Assignments"}},
	}
	taken, err := m.idsOf(r, v, at(appsPath, h.ID, "groups"), nil)
	if err == nil {
		err = m.pickGroups(r, v, p, "assigned", taken, false, "assignGroupToApplication", map[string]string{"app": h.ID})
	}
	m.show(w, r, v, p, err)
}

func (m *Manage) pickAppOfUser(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	u, err := readUser(r.Context(), m.frame.Management(v), r.PathValue("user"))
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p := &PickPage{
		Title: "Assign an app to " + u.Login(), Lead: "The engine creates an account for the user in each assigned app.",
		Crumbs: []console.Choice{{Value: "/users", Label: "Users"}, {Value: at("/users", u.ID), Label: u.Login()}},
	}
	taken, err := m.idsOf(r, v, appsPath, url.Values{"filter": {"user.id eq " + quoted(u.ID)}})
	if err == nil {
		err = m.pickApps(r, v, p, taken, "assignUserToApplication", map[string]string{"user": u.ID})
	}
	m.show(w, r, v, p, err)
}

func (m *Manage) pickGroupOfUser(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	u, err := readUser(r.Context(), m.frame.Management(v), r.PathValue("user"))
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p := &PickPage{
		Title: "Add " + u.Login() + " to a group", Lead: "The user gets the apps that are assigned to the group.",
		Crumbs: []console.Choice{{Value: "/users", Label: "Users"}, {Value: at("/users", u.ID), Label: u.Login()}},
	}
	taken, err := m.idsOf(r, v, at(usersPath, u.ID, "groups"), nil)
	if err == nil {
		err = m.pickGroups(r, v, p, "member", taken, true, "addGroupUser", map[string]string{"user": u.ID})
	}
	m.show(w, r, v, p, err)
}

func (m *Manage) pickUserOfGroup(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	c := m.frame.Management(v)
	g, err := readGroup(r.Context(), c, r.PathValue("group"))
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p := &PickPage{
		Title: "Add members to " + g.Name(), Lead: "Each member gets the apps that are assigned to the group.",
		Crumbs: []console.Choice{{Value: "/groups", Label: "Groups"}, {Value: at("/groups", g.ID), Label: g.Name()}},
	}
	member := func(id string) (bool, error) {
		groups, err := m.idsOf(r, v, at(usersPath, id, "groups"), nil)
		return groups[g.ID], err
	}
	m.show(w, r, v, p, m.pickUsers(r, v, p, "member", member, "addGroupUser", map[string]string{"group": g.ID}))
}

func (m *Manage) pickAppOfGroup(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	g, err := readGroup(r.Context(), m.frame.Management(v), r.PathValue("group"))
	if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p := &PickPage{
		Title: "Assign an app to " + g.Name(), Lead: "The engine creates an account for each member of the group in the app.",
		Crumbs: []console.Choice{{Value: "/groups", Label: "Groups"}, {Value: at("/groups", g.ID), Label: g.Name()}},
	}
	taken, err := m.idsOf(r, v, at(groupsPath, g.ID, "apps"), nil)
	if err == nil {
		err = m.pickApps(r, v, p, taken, "assignGroupToApplication", map[string]string{"group": g.ID})
	}
	m.show(w, r, v, p, err)
}

// readApp reads an app.
func readApp(ctx context.Context, c *api.Client, id string) (a app, err error) {
	return a, c.Do(ctx, http.MethodGet, at(appsPath, id), nil, &a)
}

// inApp adds the app of the form to its facts.
func inApp(ctx context.Context, c *api.Client, args url.Values) ([]console.Fact, error) {
	a, err := readApp(ctx, c, args.Get("app"))
	return []console.Fact{{Name: "App", Value: a.Label}}, err
}

var assignmentActions = map[string]console.Row{
	"assignUserToApplication": {
		Label: "Assign", What: "Assigns the app to the user. The engine creates the account in the app.", Direct: true,
		Method: http.MethodPost, Path: appsPath + "/{app}/users", Fields: []console.Field{{Name: "id", Kind: "hidden"}},
		Done: done("The app is assigned. The engine creates the account."),
	},
	"unassignUserFromApplication": {
		Label: "Unassign", What: "Ends the assignment. The engine deactivates or deletes the account on the target.",
		Method: http.MethodDelete, Path: appsPath + "/{app}/users/{user}", Form: userFormOf(inApp), Done: done("The assignment is ended."),
	},
	"updateApplicationUser": {
		Label: "Edit", Submit: "Save",
		What:   "Changes attributes of the user in this app alone. An empty field has the value of the mapping again.",
		Method: http.MethodPost, Path: appsPath + "/{app}/users/{user}", Done: done("The profile in the app is changed."),
		Form: func(ctx context.Context, c *api.Client, args url.Values) (f console.Form, err error) {
			a, err := readApp(ctx, c, args.Get("app"))
			if err != nil {
				return f, err
			}
			var assigned appUser
			if err := c.Do(ctx, http.MethodGet, at(appsPath, a.ID, "users", args.Get("user"))+"?expand=user", nil, &assigned); err != nil {
				return f, err
			}
			all, err := attributes(ctx, c, at("/api/v1/meta/schemas/apps", a.ID, "default"))
			if err != nil {
				return f, err
			}
			f.Subject, f.Fields = assigned.Login()+" in "+a.Label, fieldsOf(all, first...)
			for i := range f.Fields {
				f.Fields[i].Required, f.Fields[i].Clear = false, true
				f.Fields[i].More = f.Fields[i].More && assigned.Profile[f.Fields[i].Name[len("profile."):]] == nil
			}
			f.Values = valuesOf(f.Fields, assigned.Profile)
			return f, nil
		},
	},
	"assignGroupToApplication": {
		Label: "Assign", What: "Assigns the app to the group. The engine creates an account in the app for each member.",
		Method: http.MethodPut, Path: appsPath + "/{app}/groups/{group}", Form: groupForm(true, inApp),
		Body: func(_ url.Values, body map[string]any) error {
			body["profile"] = map[string]any{}
			return nil
		},
		Done: done("The app is assigned to the group. The engine creates the accounts."),
		To:   func(args url.Values, _ json.RawMessage) string { return at("/apps", args.Get("app"), "assignments") },
	},
	"unassignGroupFromApplication": {
		Label: "Unassign", What: "Ends the assignment of the group. The engine deactivates or deletes the accounts of the members that have no " +
			"other assignment to this app.",
		Method: http.MethodDelete, Path: appsPath + "/{app}/groups/{group}", Form: groupForm(true, inApp),
		Done: done("The assignment of the group is ended."),
	},
}
