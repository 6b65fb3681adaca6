package manage

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/look"
)

const (
	hooksPath = "/api/v1/inlineHooks"
	oneHook   = hooksPath + "/{hook}"
)

// hookTypes are the types of inline hooks, with the operation that calls them.
var hookTypes = []console.Choice{
	{Value: "com.svc.user.credential.password.import", Label: "password import: the first sign-in of a user"},
	{Value: "com.svc.oauth2.tokens.transform", Label: "tokens: an authorization server issues a token"},
	{Value: "com.svc.import.transform", Label: "import: an import reads an unknown account"},
	{Value: "com.svc.telephony.provider", Label: "telephony: a factor sends a text message or a call"},
	{Value: "com.svc.user.pre-registration", Label: "pre-registration: stored and tested, never called"},
	{Value: "com.svc.saml.tokens.transform", Label: "SAML tokens: stored and tested, never called"},
}

// hooks is the subject of the inline hooks.
func (m *Manage) hooks() subject {
	toList := func(url.Values, json.RawMessage) string { return "/hooks" }
	return subject{
		links:     []console.Link{{Label: "Hooks", Path: "/hooks", Key: "h"}},
		templates: []string{"hooks", "hook"},
		pages:     map[string]console.Page{"/hooks": m.hooksPage, "/hooks/{hook}": m.hookPage},
		posts:     map[string]console.Page{"/hooks/{hook}/execute": m.executeHook},
		actions: map[string]console.Row{
			"createInlineHook": {
				Label: "New hook", Submit: "Create", What: "Registers an HTTPS endpoint that the management API calls, and activates the hook.",
				Method: http.MethodPost, Path: hooksPath,
				Fields: []console.Field{
					{Name: "name", Label: "Name", Kind: "text", Required: true},
					{Name: "type", Label: "Type", Kind: "choice", Choices: hookTypes},
					{Name: "channel.config.uri", Label: "URL", Kind: "text", Required: true,
						Help: "An https URL. Its address must be allowed by --egress."},
					{Name: "channel.config.authScheme.key", Label: "Name of the header with the secret", Kind: "text", Default: "Authorization",
						Required: true},
					{Name: "channel.config.authScheme.value", Label: "Secret", Kind: "password", Required: true,
						Help: "The value of the header. It is encrypted at rest, and never shown again."},
				},
				Body: func(_ url.Values, body map[string]any) error {
					body["version"] = "1.0.0"
					channel, ok := body["channel"].(map[string]any)
					if !ok {
						return errors.New("Enter the URL.")
					}
					channel["type"], channel["version"] = "HTTP", "1.0.0"
					if config, ok := channel["config"].(map[string]any); ok {
						config["method"] = http.MethodPost
						if scheme, ok := config["authScheme"].(map[string]any); ok {
							scheme["type"] = "HEADER"
						}
					}
					return nil
				},
				To: func(_ url.Values, response json.RawMessage) string { return "/hooks/" + url.PathEscape(idOf(response)) },
			},
			"activateInlineHook": {
				Label: "Activate", What: "The management API calls the hook again.", Direct: true, Method: http.MethodPost,
				Path: oneHook + "/lifecycle/activate", Done: done("The hook is active."),
			},
			"deactivateInlineHook": {
				Label: "Deactivate", What: "The management API does not call the hook until it is activated again.", Direct: true,
				Method: http.MethodPost, Path: oneHook + "/lifecycle/deactivate", Done: done("The hook is inactive."),
			},
			"deleteInlineHook": {
				Label: "Delete", What: "Deletes the hook, and removes it from the rules and applications that name it.", Method: http.MethodDelete,
				Path: oneHook, Done: done("The hook is deleted."), To: toList,
			},
		},
	}
}

// hook is an inline hook.
type hook struct {
	ID, Status, Name, Type string
	Created, LastUpdated   time.Time
	Channel                struct {
		Type   string
		Config struct {
			URI        string
			Headers    []struct{ Key, Value string }
			AuthScheme *struct{ Key string }
			AuthType   string
			TokenURL   string
			ClientID   string
			Scope      string
		}
	}
}

// When describes the operation that calls the hook.
func (h hook) When() string {
	for _, t := range hookTypes {
		if t.Value == h.Type {
			return t.Label
		}
	}
	return h.Type
}

// hooksPage lists the hooks.
type hooksPage struct{ Rows []hook }

func (m *Manage) hooksPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	var p hooksPage
	if _, err := m.frame.List(r.Context(), v, hooksPath, nil, &p.Rows); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Write(w, r, v, "hooks", "Hooks", p)
}

// hookPage shows a hook, its last calls, and the test of its endpoint.
type hookPage struct {
	Hook     hook
	Envelope string // of the test
	Called   *look.Exchange
	Problem  string // of the test
	Curl     string
	Calls    []hookEvent
	May      bool
}

// hookEvent is an event of the system log about a call.
type hookEvent struct {
	UUID           string
	Published      time.Time
	EventType      string
	DisplayMessage string
	Outcome        struct{ Result, Reason string }
	DebugContext   struct{ DebugData map[string]string }
}

// Exchange returns the envelope and the response of a call; nil for another event.
func (e hookEvent) Exchange() *look.Exchange {
	data := e.DebugContext.DebugData
	if data["envelope"] == "" {
		return nil
	}
	line := "no response"
	if status := data["status"]; status != "" && status != "0" {
		line = "status " + status
	}
	return &look.Exchange{Request: look.NewMessage("", nil, data["envelope"]), Response: look.NewMessage(line, nil, data["answer"]), Level: 3}
}

// Details returns the other data of the event, with the names in alphabetical order.
func (e hookEvent) Details() (all []console.Fact) {
	data := e.DebugContext.DebugData
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if name != "envelope" && name != "answer" {
			all = append(all, console.Fact{Name: name, Value: data[name]})
		}
	}
	return all
}

func (m *Manage) hookPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	m.showHook(w, r, v, hookPage{})
}

func (m *Manage) showHook(w http.ResponseWriter, r *http.Request, v *console.Visit, p hookPage) {
	c, id := m.frame.Management(v), r.PathValue("hook")
	if err := c.Do(r.Context(), http.MethodGet, at(hooksPath, id), nil, &p.Hook); err != nil {
		m.frame.Problem(w, r, v, err)
		return
	}
	p.May = v.Caller().May(engine.AccessWrite)
	p.Envelope = cmp.Or(p.Envelope, look.Indent(sampleEnvelope(p.Hook.Type)))
	query := url.Values{
		"filter": {`target.id eq ` + quoted(id) + ` and eventType sw "inline_hook"`}, "sortOrder": {"DESCENDING"}, "limit": {"20"},
	}
	_, err := m.frame.List(r.Context(), v, "/api/v1/logs", query, &p.Calls)
	if e, ok := errors.AsType[*api.Error](err); err != nil && (!ok || e.Status != http.StatusForbidden) {
		m.frame.Problem(w, r, v, err)
		return
	}
	m.frame.Write(w, r, v, "hook", "Hook "+p.Hook.Name, p)
}

// executeHook calls the endpoint with an envelope, and shows the response.
func (m *Manage) executeHook(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	text := r.PostFormValue("envelope")
	p := hookPage{Envelope: text}
	if !json.Valid([]byte(text)) {
		p.Problem = "The envelope is not JSON. Correct it, and send it again."
		m.showHook(w, r, v, p)
		return
	}
	path := at(hooksPath, r.PathValue("hook")) + "/execute"
	var answer json.RawMessage
	err := m.frame.Management(v).Do(r.Context(), http.MethodPost, path, json.RawMessage(text), &answer)
	p.Called = &look.Exchange{Request: look.NewMessage("POST", http.Header{"Content-Type": {"application/json"}}, text), Level: 3}
	if e, ok := errors.AsType[*api.Error](err); ok {
		p.Called.Response = look.NewMessage(e.Summary, nil, strings.Join(e.Causes, "\n"))
		p.Problem = "The call has failed: " + e.Summary
	} else if err != nil {
		m.frame.Problem(w, r, v, err)
		return
	} else {
		p.Called.Response = look.NewMessage("Response of the endpoint", nil, string(answer))
	}
	m.showHook(w, r, v, p)
}

// sampleEnvelope returns an envelope for a test of a hook: the members that a real call has, with invented values.
func sampleEnvelope(kind string) string {
	data := `{}`
	switch kind {
	case "com.svc.user.credential.password.import":
		data = `{"context":{"request":{"id":"test","method":"POST","url":{"value":"/api/v1/authn"}},` +
			`"credential":{"username":"ada@northwind.example","password":"not a real password"}},"action":{"credential":"UNVERIFIED"}}`
	case "com.svc.oauth2.tokens.transform":
		data = `{"context":{"user":{"id":"test","profile":{"login":"ada@northwind.example"}}},` +
			`"identity":{"claims":{"sub":"test"}},"access":{"claims":{"sub":"test"},"scopes":{}}}`
	case "com.svc.import.transform":
		data = `{"context":{"conflicts":["userName"],"application":{"name":"scim2_test_app"}},"action":{"result":"CREATE_USER"},` +
			`"appUser":{"profile":{"userName":"ada@northwind.example"}},"user":{"profile":{"login":"ada@northwind.example"}}}`
	case "com.svc.telephony.provider":
		data = `{"userProfile":{"login":"ada@northwind.example"},"messageProfile":{"msgTemplate":"Your code is 123456.",` +
			`"phoneNumber":"+15555550100","otpCode":"123456","deliveryChannel":"SMS","locale":"EN-US"}}`
	}
	return `{"eventTypeVersion":"1.0","cloudEventVersion":"0.1","contentType":"application/json","source":"test","eventId":"test",` +
		`"eventTime":"2026-01-01T00:00:00.000Z","eventType":"` + kind + `","data":` + data + `}`
}
