// Command v2 runs typical operations of an administrator with the Go client library, major version 2. Its two arguments are the base URL
// and the API token of a sandbox.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/okta/okta-sdk-golang/v2/okta/query"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

const password = "Correct-horse-7-battery"

// work contains the values that the steps share.
type work struct {
	*walk.Walk
	ctx    context.Context
	client *okta.Client

	ada, ben *okta.User
	group    *okta.Group
	bookmark string
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: v2 BASE-URL TOKEN")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ctx, client, err := okta.NewClient(ctx, okta.WithOrgUrl(os.Args[1]), okta.WithToken(os.Args[2]),
		okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	w := &work{Walk: walk.New(), ctx: ctx, client: client}
	w.users()
	w.passwords()
	w.factors()
	w.groups()
	w.rules()
	w.types()
	w.applications()
	w.assignments()
	w.mappings()
	w.provisioning()
	w.logs()
	w.endings()
	w.administration("SSWS")
	w.Step("call with private_key_jwt", func() error {
		robot, err := walk.NewRobot(os.Args[1], os.Args[2])
		if err != nil {
			return err
		}
		w.ctx, w.client, err = okta.NewClient(ctx, okta.WithOrgUrl(os.Args[1]), okta.WithAuthorizationMode("PrivateKey"),
			okta.WithClientId(robot.ClientID),
			okta.WithPrivateKey(robot.PrivateKey), okta.WithPrivateKeyId(robot.KeyID), okta.WithScopes(robot.Scopes),
			okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
		if err != nil {
			return err
		}
		_, _, err = w.client.AuthorizationServer.ListAuthorizationServers(w.ctx, nil)
		return err
	})
	w.administration("private_key_jwt")
	w.Step("reject an invalid access token", func() error {
		_, other, err := okta.NewClient(ctx, okta.WithOrgUrl(os.Args[1]), okta.WithAuthorizationMode("Bearer"), okta.WithToken("nonsense"),
			okta.WithTestingDisableHttpsCheck(true), okta.WithCache(false))
		if err != nil {
			return err
		}
		_, _, err = other.User.ListUsers(ctx, nil)
		var refused *okta.Error
		if !errors.As(err, &refused) {
			return fmt.Errorf("an invalid token was accepted, or rejected with an unexpected error: %w", err)
		}
		return walk.All(walk.Same("code", "E0000011", refused.ErrorCode), walk.Same("link", "E0000011", refused.ErrorLink),
			walk.Same("id", true, refused.ErrorId != ""), walk.Same("summary", true, refused.ErrorSummary != ""))
	})
	os.Exit(w.End())
}

func profile(login, first, last string) *okta.UserProfile {
	return &okta.UserProfile{"login": login, "email": login, "firstName": first, "lastName": last}
}

func (w *work) create(login, first, last string, credentials *okta.UserCredentials, activate bool) (*okta.User, error) {
	u, _, err := w.client.User.CreateUser(w.ctx, okta.CreateUserRequest{Profile: profile(login, first, last), Credentials: credentials},
		query.NewQueryParams(query.WithActivate(activate)))
	return u, err
}

func (w *work) status(id, want string) error {
	u, _, err := w.client.User.GetUser(w.ctx, id)
	if err != nil {
		return err
	}
	return walk.Same("status", want, u.Status)
}

func idOf(a okta.App) string {
	switch v := a.(type) {
	case *okta.BookmarkApplication:
		return v.Id
	case *okta.BasicAuthApplication:
		return v.Id
	case *okta.SwaApplication:
		return v.Id
	case *okta.SwaThreeFieldApplication:
		return v.Id
	case *okta.SecurePasswordStoreApplication:
		return v.Id
	case *okta.AutoLoginApplication:
		return v.Id
	case *okta.SamlApplication:
		return v.Id
	case *okta.OpenIdConnectApplication:
		return v.Id
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

func (w *work) logs() {
	w.Step("read the log page by page", func() error {
		since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		events, res, err := w.client.LogEvent.GetLogs(w.ctx,
			query.NewQueryParams(query.WithSince(since), query.WithUntil(until), query.WithLimit(20)))
		n, pages := 0, 0
		for err == nil {
			n, pages = n+len(events), pages+1
			for _, e := range events {
				if e.Published == nil || e.EventType == "" || e.Actor == nil {
					return fmt.Errorf("an event without a time, a type or an actor: %+v", e)
				}
			}
			if !res.HasNextPage() {
				return walk.Same("pages", true, pages > 1)
			}
			events = nil
			res, err = res.Next(w.ctx, &events)
		}
		return err
	})
	w.Step("filter the log", func() error {
		events, _, err := w.client.LogEvent.GetLogs(w.ctx,
			query.NewQueryParams(query.WithFilter(`eventType eq "user.lifecycle.create" and target.id eq "`+w.ada.Id+`"`)))
		if err != nil {
			return err
		}
		return walk.Same("events", 1, len(events))
	})
}

func (w *work) endings() {
	w.Step("delete all created objects", func() error {
		if _, err := w.client.Group.DeleteGroup(w.ctx, w.group.Id); err != nil {
			return err
		}
		if _, err := w.client.Application.DeactivateApplication(w.ctx, w.bookmark); err != nil {
			return err
		}
		if _, err := w.client.Application.DeleteApplication(w.ctx, w.bookmark); err != nil {
			return err
		}
		for _, u := range []*okta.User{w.ada, w.ben} {
			if _, err := w.client.User.DeactivateUser(w.ctx, u.Id, nil); err != nil {
				return err
			}
			if err := w.status(u.Id, "DEPROVISIONED"); err != nil {
				return err
			}
			if _, err := w.client.User.DeactivateOrDeleteUser(w.ctx, u.Id, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
