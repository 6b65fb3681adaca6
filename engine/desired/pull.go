package desired

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/signature"
	"github.com/scimwright/scimwright/engine/pull"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Pull is an endpoint of the identity provider, as package pull queries it. The users, groups and members of an app with Pull are not
// stored: writes of them return ErrPulled, and the engine's queries are sent to the endpoint. The identity provider reports changes by
// marks: Engine.Mark, or the operation markPrincipals of package control.
//
// A write that adds Pull to an app removes its stored users, groups and members. A write that removes Pull returns ErrPullEnd.
type Pull struct {
	// URL and Secrets have the same meaning as in pull.Options. Secrets are encrypted at rest, and are not returned.
	URL     string
	Secrets []string
}

// maxPullSecrets is the maximum number of secrets of an endpoint; during a rotation there are two.
const maxPullSecrets = 4

// maxPullURL is the maximum size of the URL of an endpoint, in bytes.
const maxPullURL = 2048

// check returns an error for an invalid field. The scheme of the URL also depends on Options.AllowHTTP.
func (p *Pull) check() error {
	if p.URL == "" {
		if len(p.Secrets) > 0 {
			return &InputError{"pull.url", "the URL of the endpoint is required"}
		}
		return nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || strings.ContainsRune(p.URL, 0) || len(p.URL) > maxPullURL {
		return &InputError{"pull.url", fmt.Sprintf("an https URL of at most %d bytes without user, query and fragment is required", maxPullURL)}
	}
	if n := len(p.Secrets); n < 1 || n > maxPullSecrets {
		return &InputError{"pull.secrets", fmt.Sprintf("1 to %d secrets are required", maxPullSecrets)}
	}
	if _, err := signature.Keys(p.Secrets...); err != nil {
		return &InputError{"pull.secrets", `a secret is "whsec_" and 24 to 64 bytes as base64`}
	}
	return nil
}

// checkPull returns an error if the endpoint of an app may not be used in this store.
func (s *Store) checkPull(a *App) error {
	if strings.HasPrefix(a.Pull.URL, "http:") && !s.allowHTTP {
		return &InputError{"pull.url", "the URL must begin with https://, because responses contain attributes and passwords of users"}
	}
	return nil
}

// shown returns the id of an app for its identity provider.
func (s *Store) shown(app string) string {
	if s.show == nil {
		return app
	}
	return s.show(app)
}

// endpoint returns the directory that queries the endpoint of an app, nil for an app without Pull.
func (s *Store) endpoint(app string, d *appDoc, hidden string) (*pull.Directory, error) {
	if d.Pull == "" {
		return nil, nil
	}
	secrets, err := s.credentials(app, hidden)
	if err != nil {
		return nil, err
	}
	directory, err := pull.New(pull.Options{
		URL: d.Pull, Secrets: secrets.Pull, Transport: s.transport, AllowHTTP: s.allowHTTP, Now: s.now, Target: s.Target,
	})
	if err != nil {
		return nil, fmt.Errorf("desired: the endpoint of %s: %w", app, err)
	}
	return directory, nil
}

// transportOf returns the connections to the endpoints of all apps.
func transportOf(e engine.Egress) *http.Transport {
	return egress.Policy{Range: egress.Range(e.Range), Allow: e.Allow, Own: e.Own}.Transport(pull.DefaultConcurrency)
}

// Close closes idle connections to the endpoints of apps with Pull. The Store can still be used.
func (s *Store) Close() { s.transport.CloseIdleConnections() }

// storing returns an error unless the users, groups and members of an app are stored: engine.ErrUnknownApp or ErrPulled.
func (s *Store) storing(ctx context.Context, q sqldb.Queryer, app string) error {
	row, err := existing(ctx, q, app)
	if err != nil {
		return err
	}
	return notPulled(&row)
}

// notPulled returns ErrPulled if the app of a row has Pull.
func notPulled(row *appRow) error {
	d, err := decodeDoc(row.doc)
	if err == nil && d.Pull != "" {
		err = ErrPulled
	}
	return err
}

// pulledUser queries the endpoint of an app for a user.
func (s *Store) pulledUser(ctx context.Context, c *compiled, app, user string) (engine.UserState, error) {
	out, err := c.pull.User(ctx, s.shown(app), user)
	if err == nil {
		out.UserName = textAt(out.Resource, c.userName)
	}
	return out, err
}

// explainPulled explains the state of a principal of an app with Pull by the response of the endpoint.
func (s *Store) explainPulled(ctx context.Context, c *compiled, app string, kind engine.Kind, id string) engine.Explanation {
	if kind == engine.Group {
		g, err := c.pull.Group(ctx, s.shown(app), id)
		if err != nil {
			return failedQuery(err)
		}
		return engine.Explanation{
			Reasons: returned(g.Want), Values: []engine.Value{{Path: "displayName", Source: "endpoint", Value: g.DisplayName}},
		}
	}
	u, err := s.pulledUser(ctx, c, app, id)
	if err != nil {
		return failedQuery(err)
	}
	out := engine.Explanation{Reasons: returned(u.Want)}
	if u.Resource != nil {
		for name, value := range u.Resource.All() {
			out.Values = append(out.Values, engine.Value{Path: name, Source: "endpoint", Value: value})
		}
	}
	return out
}

func returned(w engine.Want) []string {
	return []string{fmt.Sprintf("the endpoint of the identity provider returns the state %s", w)}
}

func failedQuery(err error) engine.Explanation {
	text := err.Error()
	if e, ok := errors.AsType[*pull.Error](err); ok {
		text = e.Detail
	}
	return engine.Explanation{Reasons: []string{"the endpoint of the identity provider has returned no state: " + text}}
}

// removeStored removes the users, groups and members of an app.
func removeStored(ctx context.Context, tx *sqldb.Tx, app string) error {
	for _, table := range []string{"principal", "alias", "member", "members", "snapshot"} {
		if _, err := tx.Exec(ctx, `DELETE FROM {desired_`+table+`} WHERE app_id = ?`, app); err != nil {
			return err
		}
	}
	return nil
}
