package slicetest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// work is fake provisioning work. Tests of the sandbox cover the real one.
type work struct{ pending int }

func (w *work) Drain(context.Context) (sandboxport.Left, error) {
	if w.pending > 0 {
		return sandboxport.Left{Pending: w.pending, Waiting: []string{"user ann of CRM (retrying): 500"}}, context.DeadlineExceeded
	}
	return sandboxport.Left{}, nil
}

// providers is a list of service providers in memory.
type providers struct{ list []sandboxport.Provider }

func (p *providers) at(name string) (*sandboxport.Provider, error) {
	i := slices.IndexFunc(p.list, func(have sandboxport.Provider) bool { return have.Name == name })
	if i < 0 {
		return nil, sandboxport.ErrNoProvider
	}
	return &p.list[i], nil
}

func (p *providers) List() []sandboxport.Provider { return p.list }

func (p *providers) Get(name string) (sandboxport.Provider, error) {
	have, err := p.at(name)
	if err != nil {
		return sandboxport.Provider{}, err
	}
	return *have, nil
}

func (p *providers) Create(_ context.Context, n sandboxport.NewProvider) (sandboxport.Provider, string, error) {
	made := sandboxport.Provider{Name: n.Name, Path: "/t/" + n.Name + "/scim/v2", Created: true, Quirks: n.Quirks, Lenient: n.Lenient}
	p.list = append(p.list, made)
	return made, "value", nil
}

func (p *providers) Remove(_ context.Context, name string) error {
	_, err := p.at(name)
	p.list = slices.DeleteFunc(p.list, func(have sandboxport.Provider) bool { return have.Name == name })
	return err
}

func (p *providers) Reset(_ context.Context, name string) error {
	have, err := p.at(name)
	if err == nil {
		have.Lenient = []string{"reset"} // visible to the test
	}
	return err
}

func (p *providers) CreateToken(_ context.Context, name string, n sandboxport.NewToken) (sandboxport.ProviderToken, string, error) {
	have, err := p.at(name)
	if err != nil {
		return sandboxport.ProviderToken{}, "", err
	}
	made := sandboxport.ProviderToken{ID: "k1", NewToken: n}
	have.Tokens = append(have.Tokens, made)
	return made, "value of k1", nil
}

func (p *providers) RemoveToken(_ context.Context, name, id string) error {
	have, err := p.at(name)
	if err == nil {
		have.Tokens = slices.DeleteFunc(have.Tokens, func(t sandboxport.ProviderToken) bool { return t.ID == id })
	}
	return err
}

func (p *providers) Quirks(name string) ([]string, []sandboxport.Quirk, error) {
	have, err := p.at(name)
	if err != nil {
		return nil, nil, err
	}
	return have.Quirks, []sandboxport.Quirk{{Usage: "no-patch", Category: "profile", Does: "refuses PATCH"}}, nil
}

func (p *providers) SetQuirks(_ context.Context, name string, active []string) error {
	have, err := p.at(name)
	if err == nil {
		have.Quirks = active
	}
	return err
}

func serve(t *testing.T) (*apitest.Env, *work) {
	w := &work{}
	return apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) {
		o.Work, o.Providers, o.Connections = w, &providers{}, &apptest.Tester{}
	}), w
}

func TestWork(t *testing.T) {
	e, w := serve(t)
	e.Run(t,
		apitest.Step{Do: "POST /sandbox/v1/jobs/drain", Equal: map[string]any{"pending": 0}},
		apitest.Step{Do: "POST /sandbox/v1/jobs/drain?timeoutSeconds=0", Status: 400, Code: "E0000001", Causes: []string{"timeoutSeconds: "}},
	)
	w.pending = 3
	e.Run(t, apitest.Step{Do: "POST /sandbox/v1/jobs/drain", Status: 504, Code: "E0000504", Causes: []string{
		"pending: 3 ", "user ann of CRM (retrying): 500",
	}})
}

func TestAPITokens(t *testing.T) {
	e, _ := serve(t)
	e.Run(t,
		apitest.Step{Do: "POST /sandbox/v1/api-tokens", Body: `{"name":"ci","userId":"me"}`, Status: 201,
			Save: map[string]string{"secret": "token", "token": "id"}},
		apitest.Step{Name: "the secret signs in and is not shown again", Do: "GET /api/v1/api-tokens/{{token}}",
			Header: map[string]string{"Authorization": "SSWS {{secret}}"}, Equal: map[string]any{"name": "ci"}, Lacks: []string{"token"}},
		apitest.Step{Do: "POST /sandbox/v1/api-tokens", Body: `{"name":"ci","userId":"nobody"}`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /sandbox/v1/api-tokens", Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"name: ", "userId: "}},
	)
}

func TestProvision(t *testing.T) {
	e, _ := serve(t)
	const (
		user = `{"profile":{"login":"isaac@example.com","email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"},` +
			`"credentials":{"password":{"value":"Tlpwd-2026"}}}`
		connect = `{"baseUrl":"https://scim.example.com/v2","profile":{"token":"secret"}}`
	)
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: user, Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/apps", Body: `{"name":"scim2_test_app","label":"HR"}`, Save: map[string]string{"app": "id"}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/users", Body: `{"id":"{{u}}"}`,
			Equal: map[string]any{"status": "ACTIVE", "syncState": "DISABLED"}},
		apitest.Step{Do: "POST /sandbox/v1/apps/{{app}}/provision", Status: 400, Code: "E0000001", Causes: []string{"feature: "}},
		apitest.Step{Do: "POST /api/v1/apps/{{app}}/connections/default?activate=true", Body: connect},
		apitest.Step{Do: "PUT /api/v1/apps/{{app}}/features/USER_PROVISIONING", Body: `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`},
		apitest.Step{Do: "POST /sandbox/v1/apps/{{app}}/provision", Body: `{"userIds":["nobody"]}`, Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /sandbox/v1/apps/{{app}}/provision", Status: 202},
		apitest.Step{Do: "GET /api/v1/apps/{{app}}/users/{{u}}", Equal: map[string]any{"status": "STAGED", "syncState": "OUT_OF_SYNC"}},
	)
}

func TestProviders(t *testing.T) {
	e, _ := serve(t)
	e.Run(t,
		apitest.Step{Do: "POST /sandbox/v1/scim", Body: `{"name":"other"}`, Status: 201,
			Equal: map[string]any{"token": "value", "name": "other", "created": true}},
		apitest.Step{Do: "GET /sandbox/v1/scim", Equal: map[string]any{"#": 1, "0.name": "other"}},
		apitest.Step{Do: "GET /sandbox/v1/scim/other", Lacks: []string{"token"}},
		apitest.Step{Do: "GET /sandbox/v1/scim/none", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "POST /sandbox/v1/scim/other/tokens", Body: `{"readOnly":true}`, Status: 201,
			Equal: map[string]any{"id": "k1", "readOnly": true, "token": "value of k1"}},
		apitest.Step{Do: "GET /sandbox/v1/scim/other", Equal: map[string]any{"tokens.#": 1, "tokens.0.id": "k1"}},
		apitest.Step{Do: "DELETE /sandbox/v1/scim/other/tokens/k1", Status: 204},
		apitest.Step{Do: "PUT /sandbox/v1/scim/other/quirks", Body: `{"active":["no-patch"]}`, Equal: map[string]any{"active.0": "no-patch"}},
		apitest.Step{Do: "GET /sandbox/v1/scim/other/quirks", Equal: map[string]any{"active.#": 1, "available.#": 1}},
		apitest.Step{Do: "POST /sandbox/v1/scim/other/reset", Status: 204},
		apitest.Step{Do: "GET /sandbox/v1/scim/other", Equal: map[string]any{"lenient.0": "reset", "quirks.0": "no-patch"}},
		apitest.Step{Do: "POST /sandbox/v1/scim/none/reset", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE /sandbox/v1/scim/other", Status: 204},
		apitest.Step{Do: "GET /sandbox/v1/scim", Equal: map[string]any{"#": 0}},
	)
}
