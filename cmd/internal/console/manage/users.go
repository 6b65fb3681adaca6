package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	usersPath      = "/api/v1/users"
	userSchemaPath = "/api/v1/meta/schemas/user"
)

// user is a user of the management API.
type user struct {
	ID, Status, TransitioningToStatus                    string
	Created, LastUpdated                                 time.Time
	Activated, StatusChanged, LastLogin, PasswordChanged *time.Time
	Profile                                              map[string]any
	Credentials                                          struct{ Provider struct{ Type string } }
	Links                                                map[string]json.RawMessage `json:"_links"`
}

// Login returns the login of the user, and the id if the caller may not see it.
func (u user) Login() string {
	if login := shown(u.Profile["login"]); login != "" {
		return login
	}
	return u.ID
}

// Name returns the first and the last name.
func (u user) Name() string {
	return strings.TrimSpace(shown(u.Profile["firstName"]) + " " + shown(u.Profile["lastName"]))
}

// schemaPath returns the path of the schema of the user's type.
func (u user) schemaPath() string {
	var link struct{ Href string }
	if json.Unmarshal(u.Links["schema"], &link) == nil && link.Href != "" {
		return userSchemaPath + "/" + path.Base(link.Href)
	}
	return userSchemaPath + "/default"
}

// userStatuses are the statuses of users, in the order of the filter.
var userStatuses = []string{
	"ACTIVE", "STAGED", "PROVISIONED", "RECOVERY", "LOCKED_OUT", "PASSWORD_EXPIRED", "SUSPENDED", "DEPROVISIONED",
}

func (m *Manage) users() subject {
	return subject{
		links:     []console.Link{{Label: "Users", Path: "/users", Key: "u"}},
		actions:   userActions,
		templates: []string{"users", "user"},
		pages:     map[string]console.Page{"/users": m.userList, "/users/{user}": m.userPage},
	}
}

// UsersPage lists users.
type UsersPage struct {
	Rows                  []user
	Query, Status, Search string
	Statuses              []string
	Next                  template.URL
	Problem               string // why the API rejects the search
}

func (m *Manage) userList(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	q := r.URL.Query()
	p := UsersPage{Query: search(r), Status: q.Get("status"), Search: strings.TrimSpace(q.Get("search")), Statuses: userStatuses}
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	if expression := userSearch(p.Query, p.Status, p.Search); expression != "" {
		query.Set("search", expression)
	}
	if after := q.Get("after"); after != "" {
		query.Set("after", after)
	}
	next, err := m.frame.List(r.Context(), v, usersPath, query, &p.Rows)
	if p.Problem = rejected(err); err != nil && p.Problem == "" {
		m.frame.Problem(w, r, v, err)
		return
	}
	if next != "" {
		p.Next = console.Query("q", p.Query, "status", p.Status, "search", p.Search, "after", next)
	}
	m.frame.Write(w, r, v, "users", "Users", p)
}

// userSearch returns the expression for the parameter search, empty for the list without one.
func userSearch(text, status, expression string) string {
	var parts []string
	if text != "" {
		var any []string
		for _, name := range []string{"login", "email", "firstName", "lastName"} {
			any = append(any, "profile."+name+" sw "+quoted(text))
		}
		parts = append(parts, "("+strings.Join(any, " or ")+")")
	}
	if status != "" {
		parts = append(parts, "status eq "+quoted(status))
	}
	return conjunction(parts, expression)
}

// UserPage shows a user.
type UserPage struct {
	U         user
	Actions   []string // the operations that the status allows
	Profile   []row
	Groups    []group
	NextGroup template.URL
	Apps      []app
	NextApp   template.URL
	Factors   []factor
	Roles     []role
	Denied    []string // parts that the caller may not read
}

// factor is an enrolled factor.
type factor struct {
	ID, FactorType, Provider, Status string
	Created                          time.Time
	Profile                          map[string]string
}

// Destination returns the phone number, the address or the device of the factor.
func (f factor) Destination() string {
	for _, name := range []string{"phoneNumber", "email", "questionText", "credentialId", "authenticatorName", "name"} {
		if text := f.Profile[name]; text != "" {
			return text
		}
	}
	return ""
}

// role is a role of an administrator.
type role struct{ ID, Type, Label, Status, AssignmentType string }

// offers maps the links of a user to the actions, in the order of their buttons. The API also lists links whose operation it rejects in the
// status of the user; only restricts those.
var offers = []struct {
	link, action string
	only         []string
}{
	{"activate", "activateUser", nil}, {"reactivate", "reactivateUser", nil}, {"unsuspend", "unsuspendUser", nil},
	{"unlock", "unlockUser", nil}, {"resetPassword", "resetPassword", nil}, {"expirePassword", "expirePassword", nil},
	{"resetFactors", "resetFactors", nil}, {"suspend", "suspendUser", []string{"ACTIVE"}}, {"deactivate", "deactivateUser", nil},
	{"delete", "deleteUser", nil},
}

// offered returns the operations that the API offers for the user.
func (u user) offered() (all []string) {
	for _, o := range offers {
		if _, ok := u.Links[o.link]; ok && (o.only == nil || slices.Contains(o.only, u.Status)) {
			all = append(all, o.action)
		}
	}
	return all
}

func (m *Manage) userPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	ctx, c := r.Context(), m.frame.Management(v)
	var p UserPage
	if err := c.Do(ctx, http.MethodGet, at(usersPath, r.PathValue("user")), nil, &p.U); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p.Actions = p.U.offered()
	all, err := attributes(ctx, c, p.U.schemaPath())
	if err != nil {
		all = nil // a caller without the permission to read schemas sees the names of the attributes instead of their titles
	}
	p.Profile = profileRows(all, p.U.Profile)
	for _, part := range []struct {
		path, name string
		query      url.Values
		into       any
		next       *template.URL
	}{
		{at(usersPath, p.U.ID, "groups"), "groups", url.Values{"limit": {fmt.Sprint(partSize)}}, &p.Groups, &p.NextGroup},
		{appsPath, "apps", url.Values{
			"limit": {fmt.Sprint(partSize)}, "filter": {"user.id eq " + quoted(p.U.ID)}, "expand": {"user/" + p.U.ID},
		}, &p.Apps, &p.NextApp},
		{at(usersPath, p.U.ID, "factors"), "", nil, &p.Factors, nil},
		{at(usersPath, p.U.ID, "roles"), "", nil, &p.Roles, nil},
	} {
		if after := r.URL.Query().Get(part.name); part.name != "" && after != "" {
			part.query.Set("after", after)
		}
		next, err := m.frame.List(ctx, v, part.path, part.query, part.into)
		switch {
		case denied(err):
			p.Denied = append(p.Denied, path.Base(part.path))
		case err != nil:
			m.frame.Problem(w, r, v, err)
			return
		}
		if next != "" && part.next != nil {
			*part.next = console.Query(part.name, next)
		}
	}
	m.frame.Write(w, r, v, "user", p.U.Login(), p)
}

// userForm returns a form about one user: its name, and what an action changes.
func userForm(facts func(ctx context.Context, c *api.Client, u user) ([]console.Fact, error)) func(
	context.Context, *api.Client, url.Values) (console.Form, error) {
	return func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
		u, err := readUser(ctx, c, args.Get("user"))
		if err != nil {
			return console.Form{}, err
		}
		f := console.Form{Subject: u.Login(), Facts: []console.Fact{{Name: "Name", Value: u.Name()}, {Name: "Status", Value: u.Status}}}
		if facts != nil {
			more, err := facts(ctx, c, u)
			if err != nil {
				return f, err
			}
			f.Facts = append(f.Facts, more...)
		}
		return f, nil
	}
}

func readUser(ctx context.Context, c *api.Client, id string) (u user, err error) {
	return u, c.Do(ctx, http.MethodGet, at(usersPath, id), nil, &u)
}

// maxNamed is the maximum number of names that a form lists.
const maxNamed = 10

// listed returns the first names, and the number of the others. more reports whether there are further ones that were not read.
func listed(names []string, more bool) string {
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	switch rest := len(names) - maxNamed; {
	case more:
		text += " and more"
	case rest > 0:
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// lost describes the groups and apps of a user.
func lost(ctx context.Context, c *api.Client, u user) ([]console.Fact, error) {
	var apps []app
	filter := url.Values{"filter": {"user.id eq " + quoted(u.ID)}, "limit": {"200"}}
	if err := c.Do(ctx, http.MethodGet, appsPath+"?"+filter.Encode(), nil, &apps); err != nil {
		return nil, err
	}
	var groups []group
	if err := c.Do(ctx, http.MethodGet, at(usersPath, u.ID, "groups")+"?limit=200", nil, &groups); err != nil {
		return nil, err
	}
	var labels, names []string
	for _, a := range apps {
		labels = append(labels, a.Label)
	}
	for _, g := range groups {
		names = append(names, g.Name())
	}
	return []console.Fact{
		{Name: "Apps with an account", Value: listed(labels, len(apps) == 200)}, {Name: "Groups", Value: listed(names, len(groups) == 200)},
	}, nil
}

// secrets returns the result page of a response with one of several members, and no page for a response without them.
func secrets(heading, note string, members ...console.Fact) func(json.RawMessage) (console.ResultPage, error) {
	return func(response json.RawMessage) (p console.ResultPage, err error) {
		var body map[string]any
		if len(response) > 0 {
			if err := json.Unmarshal(response, &body); err != nil {
				return p, err
			}
		}
		for _, m := range members { // the name of a fact is its label, and the value is the member
			if text := shown(body[m.Value]); text != "" {
				p.Heading, p.Note = heading, note
				p.Values = append(p.Values, console.Fact{Name: m.Name, Value: text})
			}
		}
		return p, nil
	}
}

const lifecycle = usersPath + "/{user}/lifecycle/"

var sendEmail = console.Field{
	Name: "sendEmail", Label: "Send an email to the user", Kind: "check", Query: true, Default: "true",
	Help: "The sandbox stores the email in its outbox. Without an email, the next page shows the link.",
}

var revokeSessions = console.Field{Name: "revokeSessions", Label: "End all sessions of the user", Kind: "check", Query: true}

var userActions = map[string]console.Row{
	"createUser": {
		Label: "New user", Submit: "Create", What: "Creates a user, who can then be assigned to apps and groups.",
		Method: http.MethodPost, Path: usersPath,
		Form: func(ctx context.Context, c *api.Client, _ url.Values) (console.Form, error) {
			all, err := attributes(ctx, c, userSchemaPath+"/default")
			if err != nil {
				return console.Form{}, err
			}
			fields := fieldsOf(all, "firstName", "lastName")
			for i := range fields {
				fields[i].Clear = false
			}
			last := slices.IndexFunc(fields, func(f console.Field) bool { return f.More })
			if last < 0 {
				last = len(fields)
			}
			return console.Form{Fields: slices.Insert(fields, last,
				console.Field{Name: "credentials.password.value", Label: "Password", Kind: "password",
					Help: "Without a password, the status of an activated user is PROVISIONED until the user chooses one."},
				console.Field{Name: "activate", Label: "Activate the user", Kind: "check", Query: true, Default: "true"},
			)}, nil
		},
		Done: func(_ url.Values, response json.RawMessage) string {
			var u user
			_ = json.Unmarshal(response, &u)
			return "The user " + u.Login() + " is created. The status is " + u.Status + "."
		},
		To: func(_ url.Values, response json.RawMessage) string { return at("/users", idOf(response)) },
	},
	"updateUser": {
		Label: "Edit profile", Submit: "Save", What: "Changes attributes of the user. The engine sends the change to all apps of the user.",
		Method: http.MethodPost, Path: usersPath + "/{user}",
		Form: func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
			u, err := readUser(ctx, c, args.Get("user"))
			if err != nil {
				return console.Form{}, err
			}
			all, err := attributes(ctx, c, u.schemaPath())
			if err != nil {
				return console.Form{}, err
			}
			fields := fieldsOf(all, first...)
			return console.Form{Subject: u.Login(), Fields: fields, Values: valuesOf(fields, u.Profile)}, nil
		},
		Done: done("The profile is changed."),
	},
	"setPassword": {
		Label: "Set password", What: "Replaces the password of the user.", Method: http.MethodPost, Path: usersPath + "/{user}",
		Fields: []console.Field{{Name: "credentials.password.value", Label: "New password", Kind: "password", Required: true}},
		Form:   userForm(nil), Done: done("The password is set."),
	},
	"activateUser": {
		Label: "Activate", What: "Activates the user.", Method: http.MethodPost, Path: lifecycle + "activate",
		Fields: []console.Field{sendEmail}, Form: userForm(nil), Done: done("The user is activated."),
		Result: activation,
	},
	"reactivateUser": {
		Label: "Restart activation", What: "Makes a new one-time link for the activation. Earlier links become invalid.",
		Method: http.MethodPost, Path: lifecycle + "reactivate", Fields: []console.Field{sendEmail}, Form: userForm(nil),
		Done: done("A new link for the activation is sent."), Result: activation,
	},
	"suspendUser": {
		Label: "Suspend", What: "The user can no longer sign in. The accounts on the targets do not change, and the suspension can be ended.",
		Method: http.MethodPost, Path: lifecycle + "suspend", Form: userForm(nil), Done: done("The user is suspended."),
	},
	"unsuspendUser": {
		Label: "End suspension", What: "The user can sign in again.", Direct: true, Method: http.MethodPost, Path: lifecycle + "unsuspend",
		Done: done("The suspension is ended."),
	},
	"unlockUser": {
		Label: "Unlock", What: "Unlocks a user who has entered too many wrong passwords.", Direct: true, Method: http.MethodPost,
		Path: lifecycle + "unlock", Done: done("The user is unlocked."),
	},
	"resetPassword": {
		Label: "Reset password", What: "The user has to choose a new password with a one-time link, and cannot sign in before.",
		Method: http.MethodPost, Path: lifecycle + "reset_password", Fields: []console.Field{sendEmail, revokeSessions}, Form: userForm(nil),
		Done: done("The link for a new password is sent to the user."),
		Result: secrets("Reset password", "The user chooses a new password with this link. Only this page shows the link.",
			console.Fact{Name: "Link", Value: "resetPasswordUrl"}),
	},
	"expirePassword": {
		Label: "Expire password", What: "The user has to change the password at the next sign-in.", Method: http.MethodPost,
		Path: lifecycle + "expire_password", Form: userForm(nil), Done: done("The password is expired."),
		Fields: []console.Field{
			{Name: "tempPassword", Label: "Set a temporary password, and show it", Kind: "check", Query: true}, revokeSessions,
		},
		Result: secrets("Temporary password", "The user changes this password at the next sign-in. Only this page shows the password.",
			console.Fact{Name: "Password", Value: "tempPassword"}),
	},
	"resetFactors": {
		Label: "Reset factors", What: "Removes all factors of the user. The user has to enroll them again.", Method: http.MethodPost,
		Path: lifecycle + "reset_factors", Form: userForm(func(ctx context.Context, c *api.Client, u user) ([]console.Fact, error) {
			var all []factor
			if err := c.Do(ctx, http.MethodGet, at(usersPath, u.ID, "factors"), nil, &all); err != nil {
				return nil, err
			}
			var names []string
			for _, f := range all {
				names = append(names, f.FactorType+" ("+f.Provider+")")
			}
			return []console.Fact{{Name: "Factors", Value: listed(names, false)}}, nil
		}), Done: done("All factors are removed."),
	},
	"unenrollFactor": {
		Label: "Remove", What: "Removes the factor. The user can enroll it again.", Method: http.MethodDelete,
		Path: usersPath + "/{user}/factors/{factor}", Done: done("The factor is removed."),
		Form: userFormOf(func(ctx context.Context, c *api.Client, args url.Values) ([]console.Fact, error) {
			var f factor
			err := c.Do(ctx, http.MethodGet, at(usersPath, args.Get("user"), "factors", args.Get("factor")), nil, &f)
			return []console.Fact{{Name: "Factor", Value: f.FactorType + " (" + f.Provider + ") " + f.Destination()}}, err
		}),
	},
	"deactivateUser": {
		Label: "Deactivate", What: "Ends all assignments of the user. The engine deactivates or deletes the accounts on the targets. The user " +
			"loses the memberships, roles and API tokens; a later activation does not restore them.",
		Method: http.MethodPost, Path: lifecycle + "deactivate", Form: userForm(lost), Done: done("The user is deactivated."),
	},
	"deleteUser": {
		Label: "Delete", What: "Deletes the deactivated user and its history permanently.", Method: http.MethodDelete,
		Path: usersPath + "/{user}", Form: userForm(nil), Done: done("The user is deleted."),
		To: func(url.Values, json.RawMessage) string { return "/users" },
	},
}

var activation = secrets("Activation",
	"A user with the status PROVISIONED activates the account with this link, which only this page shows. A user with a password is already "+
		"ACTIVE and does not need the link.",
	console.Fact{Name: "Link", Value: "activationUrl"})

// userFormOf is userForm for facts that depend on the form.
func userFormOf(facts func(context.Context, *api.Client, url.Values) ([]console.Fact, error)) func(
	context.Context, *api.Client, url.Values) (console.Form, error) {
	return func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
		return userForm(func(ctx context.Context, c *api.Client, _ user) ([]console.Fact, error) { return facts(ctx, c, args) })(ctx, c, args)
	}
}
