package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/scimwright/scimwright/fixtures"
)

// seeder creates an organization through the management API. It does not create existing objects again, so an aborted start can be
// continued.
type seeder struct {
	api *APIClient
	// target returns the SCIM base URL and token of a service provider named in the seed.
	target func(name string) (baseURL, token string)
	// drain waits until the engine has no work left.
	drain func(context.Context) error
	// retry retries the failed tasks of an app, which may remain from an aborted start.
	retry func(ctx context.Context, app string) error
	// profile contains additional members for the profile of each connection. It may be nil.
	profile map[string]string

	users, groups map[string]string // ids by login or name
}

// seededApp is a seeded app in the settings. If the sandbox's own SCIM servers have another address after a restart, the connection of the
// app is updated.
type seededApp struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Style  string `json:"style"`
	Target string `json:"target"`
}

// seedOrganization creates the seed.
func (s *seeder) seedOrganization(ctx context.Context) ([]seededApp, error) {
	org, err := fixtures.Seed()
	if err != nil {
		return nil, err
	}
	return s.run(ctx, org)
}

// run creates the organization and waits until it is provisioned.
func (s *seeder) run(ctx context.Context, org fixtures.Organization) ([]seededApp, error) {
	s.users, s.groups = map[string]string{}, map[string]string{}
	for _, p := range org.Users {
		if err := s.user(ctx, p); err != nil {
			return nil, err
		}
	}
	for _, g := range org.Groups {
		if err := s.group(ctx, g); err != nil {
			return nil, err
		}
	}
	var apps []seededApp
	for _, a := range org.Apps {
		app, err := s.app(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("seed app %s: %w", a.Key, err)
		}
		if err := s.retry(ctx, app.ID); err != nil {
			return nil, fmt.Errorf("seed app %s: %w", a.Key, err)
		}
		apps = append(apps, app)
	}
	if err := s.drain(ctx); err != nil {
		return nil, err
	}
	for _, login := range org.Leavers {
		if err := s.deactivateUser(ctx, login); err != nil {
			return nil, err
		}
	}
	return apps, s.drain(ctx)
}

type created struct {
	ID string `json:"id"`
}

// user creates a federated user: active without a password, as in an organization with single sign-on.
func (s *seeder) user(ctx context.Context, p fixtures.Person) error {
	body := map[string]any{
		"profile":     p.Profile,
		"credentials": map[string]any{"provider": map[string]string{"type": "FEDERATION", "name": "FEDERATION"}},
	}
	path := fmt.Sprintf("/api/v1/users?provider=true&activate=%t", !p.Staged)
	id, err := s.ensure(ctx, "/api/v1/users", url.Values{"search": {fmt.Sprintf("profile.login eq %q", p.Login())}}, path, body)
	s.users[p.Login()] = id
	return err
}

func (s *seeder) group(ctx context.Context, g fixtures.Group) error {
	body := map[string]any{"profile": map[string]string{"name": g.Name, "description": g.Description}}
	search := url.Values{"search": {fmt.Sprintf(`profile.name eq %q and type eq "SVC_GROUP"`, g.Name)}}
	id, err := s.ensure(ctx, "/api/v1/groups", search, "/api/v1/groups", body)
	if err != nil {
		return err
	}
	s.groups[g.Name] = id
	for _, login := range g.Members {
		if err := s.api.Do(ctx, http.MethodPut, "/api/v1/groups/"+id+"/users/"+s.users[login], nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeder) app(ctx context.Context, a fixtures.App) (seededApp, error) {
	var head struct {
		Label string `json:"label"`
	}
	if err := json.Unmarshal(a.App, &head); err != nil {
		return seededApp{}, err
	}
	id, err := s.ensure(ctx, "/api/v1/apps", url.Values{"q": {head.Label}}, "/api/v1/apps", a.App)
	if err != nil {
		return seededApp{}, err
	}
	app := "/api/v1/apps/" + id
	if err := s.connect(ctx, id, a.Target); err != nil {
		return seededApp{}, err
	}
	enabled := map[string]string{"status": "ENABLED"}
	capabilities := map[string]any{
		"create": map[string]any{"lifecycleCreate": enabled},
		"update": map[string]any{"profile": enabled, "lifecycleDeactivate": enabled},
	}
	if err := s.api.Do(ctx, http.MethodPut, app+"/features/USER_PROVISIONING", capabilities, nil); err != nil {
		return seededApp{}, err
	}
	for _, name := range a.AssignGroups {
		if err := s.api.Do(ctx, http.MethodPut, app+"/groups/"+s.groups[name], nil, nil); err != nil {
			return seededApp{}, err
		}
	}
	for _, login := range a.AssignUsers {
		if err := s.api.Do(ctx, http.MethodPost, app+"/users", map[string]string{"id": s.users[login]}, nil); err != nil {
			return seededApp{}, err
		}
	}
	for _, name := range a.PushGroups {
		mapping := map[string]string{"sourceGroupId": s.groups[name], "targetGroupName": name, "status": "ACTIVE"}
		pushed := url.Values{"sourceGroupId": {s.groups[name]}}
		if _, err := s.ensure(ctx, app+"/group-push/mappings", pushed, app+"/group-push/mappings", mapping); err != nil {
			return seededApp{}, err
		}
	}
	return seededApp{ID: id, Label: head.Label, Style: a.Style, Target: a.Target}, nil
}

// ensure returns the id of the first object in the list that matches the query. If none matches, it creates one.
func (s *seeder) ensure(ctx context.Context, list string, query url.Values, create string, body any) (string, error) {
	var found []created
	if err := s.api.Do(ctx, http.MethodGet, list+"?"+query.Encode(), nil, &found); err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].ID, nil
	}
	var made created
	err := s.api.Do(ctx, http.MethodPost, create, body, &made)
	return made.ID, err
}

// deactivateUser deactivates a user unless the user is deactivated already.
func (s *seeder) deactivateUser(ctx context.Context, login string) error {
	path := "/api/v1/users/" + url.PathEscape(login)
	var user struct {
		Status string `json:"status"`
	}
	if err := s.api.Do(ctx, http.MethodGet, path, nil, &user); err != nil || user.Status == "DEPROVISIONED" {
		return err
	}
	return s.api.Do(ctx, http.MethodPost, path+"/lifecycle/deactivate", nil, nil)
}

// connect stores the address and token of a service provider in the connection of the app and activates the connection.
func (s *seeder) connect(ctx context.Context, app, target string) error {
	baseURL, token := s.target(target)
	profile := map[string]string{"authScheme": "TOKEN", "token": token}
	maps.Copy(profile, s.profile)
	body := map[string]any{"baseUrl": baseURL, "profile": profile}
	return s.api.Do(ctx, http.MethodPost, "/api/v1/apps/"+app+"/connections/default?activate=true", body, nil)
}
