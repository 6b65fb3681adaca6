package idp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// read returns the user and the team in the application as strings.
func read(ctx context.Context, server *httptest.Server, token string) (user, team string, err error) {
	get := func(path string, into any) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/scim/v2"+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := server.Client().Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", path, resp.Status)
		}
		return json.NewDecoder(resp.Body).Decode(into)
	}
	var users struct {
		Resources []struct {
			UserName, DisplayName, Title string
			Active                       bool
		}
	}
	if err := get("/Users", &users); err != nil {
		return "", "", err
	}
	for _, u := range users.Resources {
		state := "inactive"
		if u.Active {
			state = "active"
		}
		user += fmt.Sprintf("%s, %s, %s, %s", u.UserName, u.DisplayName, u.Title, state)
	}
	var groups struct {
		Resources []struct {
			DisplayName string
			Members     []struct{ Value string }
		}
	}
	if err := get("/Groups", &groups); err != nil {
		return "", "", err
	}
	for _, g := range groups.Resources {
		team += fmt.Sprintf("%s: %d", g.DisplayName, len(g.Members))
	}
	return user, team, nil
}
