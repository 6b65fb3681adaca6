package manage

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const mappingsPath = "/api/v1/mappings"

// mapping is the subject of the profile mapping of an app.
func (m *Manage) mapping() subject {
	return subject{
		templates: []string{"mapping"},
		pages:     map[string]console.Page{"/apps/{app}/mapping": m.mappingPage},
		posts:     map[string]console.Page{"/apps/{app}/mapping": m.previewMapping},
	}
}

// MappingPage shows the rules of an app, and their results for a user with and without changes.
type MappingPage struct {
	console.Head
	User  person
	Query string
	Found []person // users to choose
	// Assigned reports whether the user is assigned to the app.
	Assigned bool
	Rows     []mappingRow
	Drafted  bool // the page has the results of changed rules
	Changed  int
	Problem  string
	Curl     string
	May      bool
	// RulesOnly reports whether the caller may not evaluate the rules.
	RulesOnly bool
}

// person is a user to choose.
type person struct {
	ID      string
	Profile struct{ Login, FirstName, LastName string }
}

// mappingRow is an attribute with its rule, the changed rule, and the results.
type mappingRow struct {
	Attribute, Rule, Value, Problem     string
	DraftRule, DraftValue, DraftProblem string
	Changed                             bool
}

type mappingResult struct {
	Expression string
	Value      any
	Problem    string
}

func (m *Manage) mappingPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	m.showMapping(w, r, v, r.URL.Query().Get("user"), nil)
}

// previewMapping shows the results of changed rules. It stores nothing.
func (m *Manage) previewMapping(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	draft := map[string]string{}
	for name, values := range r.PostForm {
		if attribute, ok := strings.CutPrefix(name, "rule:"); ok {
			draft[attribute] = strings.TrimSpace(values[0])
		}
	}
	m.showMapping(w, r, v, r.PostFormValue("user"), draft)
}

func (m *Manage) showMapping(w http.ResponseWriter, r *http.Request, v *console.Visit, user string, draft map[string]string) {
	h, ok := m.frame.AppHead(w, r, v, "mapping")
	if !ok {
		return
	}
	p := MappingPage{Head: h, Query: search(r), May: v.Caller().May(engine.AccessWrite)}
	if err := m.fillMapping(r, v, &p, user, draft); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Write(w, r, v, "mapping", "Mapping of "+h.App.Label, p)
}

func (m *Manage) fillMapping(r *http.Request, v *console.Visit, p *MappingPage, user string, draft map[string]string) error {
	ctx, c := r.Context(), m.frame.Management(v)
	query := url.Values{"limit": {"10"}}
	if p.Query != "" {
		query.Set("q", p.Query)
	}
	if _, err := m.frame.List(ctx, v, "/api/v1/users", query, &p.Found); err != nil {
		return err
	}
	if user == "" && p.Query == "" {
		var assigned []struct{ ID string }
		if _, err := m.frame.List(ctx, v, at("/api/v1/apps", p.ID)+"/users", url.Values{"limit": {"1"}}, &assigned); err != nil {
			return err
		}
		switch {
		case len(assigned) > 0:
			user = assigned[0].ID
		case len(p.Found) > 0:
			user = p.Found[0].ID
		}
	}
	if user == "" {
		return nil
	}
	err := c.Do(ctx, http.MethodGet, at("/api/v1/apps", p.ID, "users", user), nil, nil)
	if err != nil && !api.IsNotFound(err) {
		return err
	}
	p.Assigned = err == nil
	var found struct {
		person

		Type struct{ ID string }
	}
	if err := c.Do(ctx, http.MethodGet, at("/api/v1/users", user), nil, &found); err != nil {
		return err
	}
	p.User = found.person
	var mappings []struct{ ID string }
	byPair := url.Values{"sourceId": {found.Type.ID}, "targetId": {p.ID}}
	if _, err := m.frame.List(ctx, v, mappingsPath, byPair, &mappings); err != nil || len(mappings) == 0 {
		return err
	}
	path := at(mappingsPath, mappings[0].ID) + "/preview"
	rules := map[string]any{}
	var result struct {
		Values []struct {
			Attribute string
			mappingResult

			Draft   mappingResult
			Changed bool
		}
	}
	var stored struct{ Properties map[string]mappingResult }
	if err := c.Do(ctx, http.MethodGet, at(mappingsPath, mappings[0].ID), nil, &stored); err != nil {
		return err
	}
	for attribute, rule := range draft {
		switch rule {
		case stored.Properties[attribute].Expression:
		case "":
			rules[attribute] = nil
		default:
			rules[attribute] = map[string]any{"expression": rule}
		}
	}
	body := map[string]any{"userId": user, "properties": rules}
	err = c.Do(ctx, http.MethodPost, path, body, &result)
	e, ok := errors.AsType[*api.Error](err)
	if ok && e.Status == http.StatusBadRequest && len(rules) > 0 {
		p.Problem = strings.Join(append([]string{e.Summary}, e.Causes...), " ")
		body["properties"] = map[string]any{}
		err = c.Do(ctx, http.MethodPost, path, body, &result)
	}
	if ok && e.Status == http.StatusForbidden { // the caller may read the rules, and not evaluate them
		for _, name := range slices.Sorted(maps.Keys(stored.Properties)) {
			p.Rows = append(p.Rows, mappingRow{Attribute: name, Rule: stored.Properties[name].Expression})
		}
		p.RulesOnly = true
		return nil
	}
	if err != nil {
		return err
	}
	p.Drafted, p.Curl = len(rules) > 0 && p.Problem == "", m.frame.Curl(v, http.MethodPost, path, body)
	for _, x := range result.Values {
		row := mappingRow{
			Attribute: x.Attribute, Rule: x.Expression, Value: shown(x.Value), Problem: x.Problem, DraftRule: x.Draft.Expression,
			DraftValue: shown(x.Draft.Value), DraftProblem: x.Draft.Problem, Changed: x.Changed,
		}
		if rule, ok := draft[x.Attribute]; ok {
			row.DraftRule = rule
		}
		if x.Changed {
			p.Changed++
		}
		p.Rows = append(p.Rows, row)
	}
	return nil
}
