// Command v5 runs typical operations of an administrator with the Go client library, major version 5. Its two arguments are the base URL
// and the API token of a sandbox.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/okta/okta-sdk-golang/v5/okta"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

const password = "Correct-horse-7-battery"

// work contains the values that the steps share.
type work struct {
	*walk.Walk
	ctx    context.Context
	client *okta.APIClient

	ada, ben, group, bookmark string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: v5 BASE-URL TOKEN")
		os.Exit(2)
	}
	configuration, err := okta.NewConfiguration(okta.WithOrgUrl(os.Args[1]), okta.WithToken(os.Args[2]),
		okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	base, err := url.Parse(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	configuration.Host = base.Host // the library drops the port of the URL
	ctx, cancel := context.WithTimeout(configuration.Context, 3*time.Minute)
	defer cancel()
	configuration.Context = ctx
	w := &work{Walk: walk.New(), ctx: ctx, client: okta.NewAPIClient(configuration)}
	w.users()
	w.passwords()
	w.groups()
	w.rules()
	w.types()
	w.applications()
	w.assignments()
	w.mappings()
	w.provisioning()
	w.logs()
	w.tokens()
	w.endings()
	w.administration("SSWS")
	w.Step("call with private_key_jwt", func() error {
		robot, err := walk.NewRobot(os.Args[1], os.Args[2])
		if err != nil {
			return err
		}
		configuration, err := okta.NewConfiguration(okta.WithOrgUrl(os.Args[1]), okta.WithAuthorizationMode("PrivateKey"),
			okta.WithClientId(robot.ClientID),
			okta.WithPrivateKey(robot.PrivateKey), okta.WithPrivateKeyId(robot.KeyID), okta.WithScopes(robot.Scopes),
			okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
		if err != nil {
			return err
		}
		configuration.Host, configuration.Context = base.Host, ctx
		w.client = okta.NewAPIClient(configuration)
		_, _, err = w.client.RoleAPI.ListRoles(ctx).Execute()
		return apiErr(err)
	})
	w.administration("private_key_jwt")
	w.Step("reject an invalid access token", func() error {
		configuration, err := okta.NewConfiguration(okta.WithOrgUrl(os.Args[1]), okta.WithAuthorizationMode("Bearer"), okta.WithToken("nonsense"),
			okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
		if err != nil {
			return err
		}
		configuration.Host, configuration.Context = base.Host, ctx
		_, _, err = okta.NewAPIClient(configuration).UserAPI.ListUsers(ctx).Execute()
		var api *okta.GenericOpenAPIError
		if !errors.As(err, &api) {
			return fmt.Errorf("an invalid token was accepted, or rejected with an unexpected error: %w", err)
		}
		var e okta.Error // the library decodes the body of responses with 403 and 429 only
		if err := json.Unmarshal(api.Body(), &e); err != nil {
			return fmt.Errorf("%w: %s", err, api.Body())
		}
		return walk.All(walk.Same("code", "E0000011", e.GetErrorCode()),
			walk.Same("link", "E0000011", e.GetErrorLink()), walk.Same("id", true, e.GetErrorId() != ""),
			walk.Same("summary", true, e.GetErrorSummary() != ""))
	})
	os.Exit(w.End())
}

// apiErr adds the response of the API to an error. The text of the library's errors does not contain it.
func apiErr(err error) error {
	var api *okta.GenericOpenAPIError
	if errors.As(err, &api) {
		return fmt.Errorf("%w: %s", err, api.Body())
	}
	return err
}

// code returns the error code of a response.
func code(err error) string {
	var api *okta.GenericOpenAPIError
	if errors.As(err, &api) {
		if e, ok := api.Model().(okta.Error); ok {
			return e.GetErrorCode()
		}
	}
	return ""
}

func (w *work) create(login, first string, credentials *okta.UserCredentials, activate bool) (*okta.User, error) {
	u, _, err := w.client.UserAPI.CreateUser(w.ctx).Activate(activate).Body(okta.CreateUserRequest{
		Credentials: credentials,
		Profile: okta.UserProfile{
			Login: &login, Email: &login, FirstName: *okta.NewNullableString(&first), LastName: *okta.NewNullableString(new("Five")),
		},
	}).Execute()
	return u, err
}

func secret(value string) *okta.PasswordCredential { return &okta.PasswordCredential{Value: &value} }

func (w *work) status(id, want string) error {
	u, _, err := w.client.UserAPI.GetUser(w.ctx, id).Execute()
	if err != nil {
		return apiErr(err)
	}
	return walk.Same("status", want, u.GetStatus())
}

// step does the same as Step, and adds the response of the API to an error.
func (w *work) step(name string, do func() error) { w.Step(name, func() error { return apiErr(do()) }) }

func (w *work) logs() {
	api := w.client.SystemLogAPI
	w.step("read the log page by page", func() error {
		events, res, err := api.ListLogEvents(w.ctx).Since(time.Now().Add(-time.Hour).UTC()).Until(time.Now().Add(time.Hour).UTC()).Limit(
			20).Execute()
		pages := 0
		for err == nil {
			pages++
			for _, e := range events {
				if e.Published == nil || e.GetEventType() == "" || e.Actor == nil {
					return fmt.Errorf("an event without a time, a type or an actor: %+v", e)
				}
			}
			if !res.HasNextPage() {
				return walk.Same("several pages", true, pages > 1)
			}
			events = nil
			res, err = res.Next(&events)
		}
		return err
	})
	w.step("filter the log", func() error {
		events, _, err := api.ListLogEvents(w.ctx).Filter(`eventType eq "user.lifecycle.create" and target.id eq "` + w.ada + `"`).Execute()
		if err != nil {
			return err
		}
		return walk.Same("events", 1, len(events))
	})
}

func (w *work) tokens() {
	w.step("list and read API tokens", func() error {
		tokens, _, err := w.client.ApiTokenAPI.ListApiTokens(w.ctx).Execute()
		if err != nil {
			return err
		}
		if len(tokens) == 0 {
			return errors.New("no API token in the list")
		}
		_, _, err = w.client.ApiTokenAPI.GetApiToken(w.ctx, tokens[0].GetId()).Execute()
		return err
	})
}

func (w *work) endings() {
	w.step("delete all created objects", func() error {
		if _, err := w.client.GroupAPI.DeleteGroup(w.ctx, w.group).Execute(); err != nil {
			return err
		}
		if _, err := w.client.ApplicationAPI.DeactivateApplication(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		if _, err := w.client.ApplicationAPI.DeleteApplication(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		for _, u := range []string{w.ada, w.ben} {
			if _, err := w.client.UserAPI.DeactivateUser(w.ctx, u).Execute(); err != nil {
				return err
			}
			if err := w.status(u, "DEPROVISIONED"); err != nil {
				return err
			}
			if _, err := w.client.UserAPI.DeleteUser(w.ctx, u).Execute(); err != nil {
				return err
			}
		}
		return nil
	})
}
