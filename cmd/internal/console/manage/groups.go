package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	groupsPath      = "/api/v1/groups"
	groupSchemaPath = "/api/v1/meta/schemas/group/default"
)

// group is a group of the management API.
type group struct {
	ID, Type                                    string
	Created, LastUpdated, LastMembershipUpdated time.Time
	Profile                                     map[string]any
	Embedded                                    struct {
		Stats struct{ UsersCount, AppsCount int }
	} `json:"_embedded"`
}

// Name returns the name of the group.
func (g group) Name() string { return shown(g.Profile["name"]) }

// Description returns the description of the group.
func (g group) Description() string { return shown(g.Profile["description"]) }

// groupKinds are the words for the types of groups.
var groupKinds = map[string]string{"SVC_GROUP": "group", "APP_GROUP": "imported from an app", "BUILT_IN": "built in"}

// Kind describes the type of the group.
func (g group) Kind() string {
	if word, ok := groupKinds[g.Type]; ok {
		return word
	}
	return g.Type
}

// Editable reports whether callers can change the group and its members.
func (g group) Editable() bool { return g.Type == "SVC_GROUP" }

func (m *Manage) groups() subject {
	return subject{
		links:     []console.Link{{Label: "Groups", Path: "/groups", Key: "o"}},
		actions:   groupActions,
		templates: []string{"groups", "group"},
		pages:     map[string]console.Page{"/groups": m.groupList, "/groups/{group}": m.groupPage},
	}
}

// GroupsPage lists groups.
type GroupsPage struct {
	Rows          []group
	Query, Search string
	Next          template.URL
	Problem       string // why the API rejects the search
}

func (m *Manage) groupList(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	q := r.URL.Query()
	p := GroupsPage{Query: search(r), Search: strings.TrimSpace(q.Get("search"))}
	query := url.Values{"limit": {fmt.Sprint(pageSize)}, "expand": {"stats"}}
	var parts []string
	if p.Query != "" {
		parts = append(parts, "profile.name sw "+quoted(p.Query))
	}
	if expression := conjunction(parts, p.Search); expression != "" {
		query.Set("search", expression)
	}
	if after := q.Get("after"); after != "" {
		query.Set("after", after)
	}
	next, err := m.frame.List(r.Context(), v, groupsPath, query, &p.Rows)
	if p.Problem = rejected(err); err != nil && p.Problem == "" {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.Next = console.Query("q", p.Query, "search", p.Search, "after", next)
	}
	m.frame.Write(w, r, v, "groups", "Groups", p)
}

// GroupPage shows a group with its members.
type GroupPage struct {
	G       group
	Profile []row
	Members []user
	Next    template.URL
	Apps    []app
	NextApp template.URL
}

func (m *Manage) groupPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	ctx, c, q := r.Context(), m.frame.Management(v), r.URL.Query()
	var p GroupPage
	var err error
	if p.G, err = readGroup(ctx, c, r.PathValue("group")); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	all, err := attributes(ctx, c, groupSchemaPath)
	if err != nil {
		all = nil // see userPage
	}
	p.Profile = profileRows(all, p.G.Profile)
	for _, part := range []struct {
		path, name, size string
		into             any
		next             *template.URL
	}{
		{at(groupsPath, p.G.ID, "users"), "after", fmt.Sprint(pageSize), &p.Members, &p.Next},
		{at(groupsPath, p.G.ID, "apps"), "apps", fmt.Sprint(partSize), &p.Apps, &p.NextApp},
	} {
		query := url.Values{"limit": {part.size}}
		if after := q.Get(part.name); after != "" {
			query.Set("after", after)
		}
		next, err := m.frame.List(ctx, v, part.path, query, part.into)
		if err != nil {
			m.frame.Problem(w, r, v, err)
			return
		}
		if next != "" {
			*part.next = console.Query(part.name, next)
		}
	}
	m.frame.Write(w, r, v, "group", p.G.Name(), p)
}

func readGroup(ctx context.Context, c *api.Client, id string) (g group, err error) {
	return g, c.Do(ctx, http.MethodGet, at(groupsPath, id)+"?expand=stats", nil, &g)
}

// groupForm returns a form about a group: its name and the numbers of its members and apps. If mass is true, the action concerns all
// members.
func groupForm(mass bool, facts func(ctx context.Context, c *api.Client, args url.Values) ([]console.Fact, error)) func(
	context.Context, *api.Client, url.Values) (console.Form, error) {
	return func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
		g, err := readGroup(ctx, c, args.Get("group"))
		if err != nil {
			return console.Form{}, err
		}
		stats := g.Embedded.Stats
		f := console.Form{Subject: g.Name(), Facts: []console.Fact{
			{Name: "Members", Value: fmt.Sprint(stats.UsersCount)}, {Name: "Apps", Value: fmt.Sprint(stats.AppsCount)},
		}}
		if mass {
			f.Mass = stats.UsersCount
		}
		if facts != nil {
			more, err := facts(ctx, c, args)
			if err != nil {
				return f, err
			}
			f.Facts = append(f.Facts, more...)
		}
		return f, nil
	}
}

// appsOfGroup returns the labels of the apps that a group is assigned to.
func appsOfGroup(ctx context.Context, c *api.Client, id string) (string, error) {
	var apps []app
	if err := c.Do(ctx, http.MethodGet, at(groupsPath, id, "apps")+"?limit=200", nil, &apps); err != nil {
		return "", err
	}
	var labels []string
	for _, a := range apps {
		labels = append(labels, a.Label)
	}
	return listed(labels, len(apps) == 200), nil
}

var groupActions = map[string]console.Row{
	"createGroup": {
		Label: "New group", Submit: "Create", What: "Creates a group. Its members get the apps that are assigned to the group.",
		Method: http.MethodPost, Path: groupsPath, Form: groupProfile,
		Done: done("The group is created."),
		To:   func(_ url.Values, response json.RawMessage) string { return at("/groups", idOf(response)) },
	},
	"replaceGroup": {
		Label: "Edit", Submit: "Save", What: "Replaces the profile of the group.", Method: http.MethodPut, Path: groupsPath + "/{group}",
		Form: groupProfile, Done: done("The group is changed."),
	},
	"deleteGroup": {
		Label: "Delete", What: "Deletes the group. Its members lose the apps that they have by this group alone: the engine deactivates or " +
			"deletes their accounts on the targets.",
		Method: http.MethodDelete, Path: groupsPath + "/{group}", Done: done("The group is deleted."),
		Form: groupForm(true, func(ctx context.Context, c *api.Client, args url.Values) ([]console.Fact, error) {
			labels, err := appsOfGroup(ctx, c, args.Get("group"))
			return []console.Fact{{Name: "Assigned to", Value: labels}}, err
		}),
		To: func(url.Values, json.RawMessage) string { return "/groups" },
	},
	"addGroupUser": {
		Label: "Add", What: "Adds the user to the group. The user gets the apps of the group.", Direct: true,
		Method: http.MethodPut, Path: groupsPath + "/{group}/users/{user}", Done: done("The user is in the group."),
	},
	"removeGroupUser": {
		Label: "Remove", What: "Removes the user from the group. The user loses the apps that the user has by this group alone.",
		Method: http.MethodDelete, Path: groupsPath + "/{group}/users/{user}", Done: done("The user is removed from the group."),
		Form: groupForm(false, func(ctx context.Context, c *api.Client, args url.Values) ([]console.Fact, error) {
			u, err := readUser(ctx, c, args.Get("user"))
			if err != nil {
				return nil, err
			}
			labels, err := appsOfGroup(ctx, c, args.Get("group"))
			return []console.Fact{{Name: "User", Value: u.Login()}, {Name: "Apps of the group", Value: labels}}, err
		}),
	},
}

// groupProfile returns the form of the profile of a new group, or of an existing one.
func groupProfile(ctx context.Context, c *api.Client, args url.Values) (f console.Form, err error) {
	all, err := attributes(ctx, c, groupSchemaPath)
	if err != nil {
		return f, err
	}
	f.Fields = fieldsOf(all, "description")
	for i := range f.Fields {
		f.Fields[i].Clear = false
	}
	if id := args.Get("group"); id != "" {
		g, err := readGroup(ctx, c, id)
		if err != nil {
			return f, err
		}
		f.Subject, f.Values, f.Whole = g.Name(), valuesOf(f.Fields, g.Profile), true
	}
	return f, nil
}
