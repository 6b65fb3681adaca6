package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
	"github.com/scimwright/scimwright/engine/webhooks"
)

// inbox is an endpoint of webhooks that records verified messages. It returns 500 for all messages while broken is set.
type inbox struct {
	url string

	mu      sync.Mutex
	secrets []string
	broken  bool
	got     []delivered
	wrong   []error
}

// delivered is a message with its id.
type delivered struct {
	webhooks.Message
	id string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	x := &inbox{}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	x.url = server.URL
	return x
}

func (x *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		err = webhooks.Verify(r.Header, body, time.Now(), x.secrets...)
	}
	var m webhooks.Message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	switch {
	case err != nil:
		x.wrong = append(x.wrong, err)
		w.WriteHeader(http.StatusBadRequest)
	case x.broken:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		x.got = append(x.got, delivered{m, r.Header.Get("webhook-id")})
	}
}

// set replaces the secrets, and whether the endpoint is broken.
func (x *inbox) set(broken bool, secrets ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.broken, x.secrets = broken, secrets
}

// has reports whether a message about a user has arrived.
func (x *inbox) has(kind, user string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.got {
		if string(m.Type) == kind && m.Data.ID == user && m.Data.App == "crm" {
			return true
		}
	}
	return false
}

// messages returns the messages about an app in the order of their arrival.
func (x *inbox) messages(app string) (out []delivered) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.got {
		if m.Data.App == app {
			out = append(out, m)
		}
	}
	return out
}

// distinct returns the number of messages about an app without repetitions.
func (x *inbox) distinct(app string) int {
	ids := map[string]bool{}
	for _, m := range x.messages(app) {
		ids[m.id] = true
	}
	return len(ids)
}

type hook struct {
	ID, App, URL, Secret, LastError string
	Types                           []string
	Disabled                        bool
	Version                         int64
	Dead, Waiting                   int
}

// letter is a dead letter in a response.
type letter struct {
	ID, App, Type, Subject, Body string
	Status, Attempts             int
}

// TestWebhooks_SignedAndReplayed creates an endpoint over HTTP. The webhook of a provisioned user arrives signed. Those of a broken
// endpoint become dead letters, which are replayed after a restart.
func TestWebhooks_SignedAndReplayed(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		_, remote := newTarget(t)
		o := daemon.Options{DB: databaseURL, Webhooks: daemon.WebhookOptions{
			Attempts: 2, RetryInitial: time.Millisecond, RetryMax: 5 * time.Millisecond,
		}}
		d, stop := start(t, o)
		c := callerOf(t, d).as("acme", "read", "write", "apps", "secrets")
		c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, remote))
		x := newInbox(t)
		var made hook
		c.do(http.StatusCreated, http.MethodPost, "/webhooks", fmt.Sprintf(`{"url":%q,"description":"tests"}`, x.url), &made)
		require.True(t, strings.HasPrefix(made.Secret, "whsec_"))
		require.Empty(t, made.App)
		x.set(false, made.Secret)
		put := func(user string) {
			c.do(http.StatusOK, http.MethodPut, "/apps/crm/users/"+user, userBody(1, user))
		}
		put("u-1")
		eventually(t, "the webhook of u-1", func() bool { return x.has("user.created", "u-1") })

		path := "/webhooks/" + made.ID
		var rotated struct{ Secret string }
		c.do(http.StatusOK, http.MethodPost, path+"/rotate?overlapSeconds=0", "", &rotated)
		require.NotEqual(t, made.Secret, rotated.Secret)
		x.set(true, rotated.Secret)
		for _, user := range []string{"u-2", "u-3", "u-4"} {
			put(user)
		}
		var letters []letter
		eventually(t, "three dead letters", func() bool {
			letters = nil
			body := c.do(http.StatusOK, http.MethodGet, path+"/letters", "", &letters).body
			assert.NotContains(t, body, "acme")
			return len(letters) == 3
		})
		require.Equal(t, "crm", letters[0].App)
		require.Equal(t, http.StatusInternalServerError, letters[0].Status)
		require.Contains(t, letters[0].Body, `"app":"crm"`)
		seen := map[string]bool{}
		for after := ""; ; {
			var page []letter
			r := c.do(http.StatusOK, http.MethodGet, path+"/letters?limit=2"+after, "", &page)
			for _, l := range page {
				seen[l.ID] = true
			}
			i := slices.IndexFunc(r.header.Values("Link"), func(link string) bool { return strings.Contains(link, `rel="next"`) })
			if i < 0 {
				break
			}
			_, query, _ := strings.Cut(r.header.Values("Link")[i], "?")
			values, err := url.ParseQuery(query[:strings.Index(query, ">")])
			require.NoError(t, err)
			after = "&after=" + values.Get("after")
		}
		require.Len(t, seen, 3)
		stop()

		d, _ = start(t, o)
		c.url = d.Ready().EngineURL
		x.set(false, rotated.Secret)
		one := letters[0]
		c.do(http.StatusNoContent, http.MethodPost, path+"/letters/"+one.ID+"/replay", "")
		eventually(t, "the first letter is delivered", func() bool { return x.has(one.Type, one.Subject) })
		c.do(http.StatusNotFound, http.MethodPost, path+"/letters/"+one.ID+"/replay", "")
		c.do(http.StatusNoContent, http.MethodDelete, path+"/letters/"+letters[1].ID, "")
		c.do(http.StatusNotFound, http.MethodDelete, path+"/letters/"+letters[1].ID, "")
		assert.JSONEq(t, `{"replayed":1}`, c.do(http.StatusOK, http.MethodPost, path+"/letters/replay", "").body)
		eventually(t, "the last letter is delivered", func() bool { return x.has(letters[2].Type, letters[2].Subject) })
		require.False(t, x.has(letters[1].Type, letters[1].Subject), "a deleted letter is not delivered")
		x.mu.Lock()
		defer x.mu.Unlock()
		require.Empty(t, x.wrong, "each message has a valid signature")
	})
}

// TestWebhooks_Tenants checks that a tenant sees its own endpoints only, receives no events of another tenant, and has at most 100
// endpoints.
func TestWebhooks_Tenants(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		_, remote := newTarget(t)
		d, _ := start(t, daemon.Options{DB: databaseURL, Limits: daemon.Limits{Rate: 1e6}})
		admin := callerOf(t, d)
		scopes := []string{"read", "write", "apps", "approve", "secrets", "admin"}
		acme, other := admin.as("acme", scopes...), admin.as("acme-2", scopes...)
		boxes := map[*caller]*inbox{acme: newInbox(t), other: newInbox(t)}
		hooks := map[*caller]hook{}
		for c, x := range boxes {
			var made hook
			c.do(http.StatusCreated, http.MethodPost, "/webhooks", fmt.Sprintf(`{"url":%q}`, x.url), &made)
			x.set(false, made.Secret)
			hooks[c] = made
			c.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, remote))
		}
		id := hooks[acme].ID
		for _, op := range operations(t) {
			if !strings.Contains(op.path, "{endpoint}") {
				continue
			}
			path := strings.NewReplacer("{endpoint}", id, "{letter}", "evt_1").Replace(op.path)
			r, err := other.send(op.method, path, "application/json", nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusNotFound, r.status, "%s: %s", op.id, r.body)
			assert.Contains(t, r.body, id, op.id)
		}
		var page []hook
		for c, made := range hooks {
			page = nil
			body := c.do(http.StatusOK, http.MethodGet, "/webhooks", "", &page).body
			require.Len(t, page, 1)
			assert.Equal(t, made.ID, page[0].ID)
			for _, hidden := range []string{made.Secret, "secret", "acme"} {
				assert.NotContains(t, body, hidden)
			}
		}
		acme.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1", userBody(1, "ann"))
		other.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-2", userBody(1, "eve"))
		eventually(t, "both webhooks", func() bool {
			return boxes[acme].has("user.created", "u-1") && boxes[other].has("user.created", "u-2")
		})
		assert.False(t, boxes[acme].has("user.created", "u-2"))
		assert.False(t, boxes[other].has("user.created", "u-1"))

		for app := range 5 {
			acme.do(http.StatusOK, http.MethodPut, fmt.Sprint("/apps/app-", app), appBody(1, remote))
		}
		for i := 1; i < 100; i++ { // at most 20 for each app
			acme.do(http.StatusCreated, http.MethodPost, "/webhooks",
				fmt.Sprintf(`{"app":"app-%d","url":"https://idp.example.com/","disabled":true}`, i/20))
		}
		r := acme.do(http.StatusConflict, http.MethodPost, "/webhooks", `{"app":"crm","url":"https://idp.example.com/"}`)
		assert.Contains(t, r.body, "at most 100")
		other.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"url":"https://idp.example.com/","disabled":true}`)
	})
}

// TestWebhooks_BadInput checks that each rejected request names its error and changes nothing.
func TestWebhooks_BadInput(t *testing.T) {
	d, _ := start(t, daemon.Options{Egress: "public"})
	admin := callerOf(t, d)
	c := admin.as("acme", "read", "write", "secrets")
	const valid = `"url":"https://idp.example.com/"`
	var made hook
	c.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"types":["user.created"],`+valid+`}`, &made)
	path := "/webhooks/" + made.ID
	for name, test := range map[string]struct{ method, path, body, says string }{
		"no body":        {http.MethodPost, "/webhooks", ``, "no body"},
		"broken":         {http.MethodPost, "/webhooks", `{`, "not valid JSON"},
		"no URL":         {http.MethodPost, "/webhooks", `{}`, "url"},
		"http":           {http.MethodPost, "/webhooks", `{"url":"http://idp.example.com/"}`, "https"},
		"credentials":    {http.MethodPost, "/webhooks", `{"url":"https://a:b@idp.example.com/"}`, "credentials"},
		"type":           {http.MethodPost, "/webhooks", `{"types":["all"],` + valid + `}`, "types"},
		"unknown app":    {http.MethodPost, "/webhooks", `{"app":"none",` + valid + `}`, "no such app"},
		"other tenant":   {http.MethodPost, "/webhooks", `{"app":"default:crm",` + valid + `}`, "no such app"},
		"secret":         {http.MethodPost, "/webhooks", `{"secret":"whsec_c2hvcnQ=",` + valid + `}`, "secret"},
		"description":    {http.MethodPost, "/webhooks", `{"description":"` + strings.Repeat("d", 1025) + `",` + valid + `}`, "description"},
		"changed URL":    {http.MethodPut, path, `{"url":"ftp://idp.example.com/"}`, "https"},
		"overlap":        {http.MethodPost, path + "/rotate?overlapSeconds=2592001", ``, "overlapSeconds"},
		"rotated secret": {http.MethodPost, path + "/rotate", `{"secret":"short"}`, "secret"},
		"cursor":         {http.MethodGet, path + "/letters?after=x", ``, "paging"},
		"NUL in cursor":  {http.MethodGet, path + "/letters?after=eyJhIjoiXHUwMDAwIn0", ``, "paging"},
		"state":          {http.MethodGet, path + "/letters?state=all", ``, "state"},
	} {
		r := c.do(http.StatusBadRequest, test.method, test.path, test.body)
		assert.Contains(t, r.body, test.says, name)
		assert.NotContains(t, r.body, "acme", name)
	}
	var same hook
	c.do(http.StatusOK, http.MethodGet, path, "", &same)
	require.Equal(t, made.Version, same.Version)
	c.do(http.StatusOK, http.MethodPut, path, `{"url":"https://idp.example.com/2","disabled":true}`, &same)
	require.Empty(t, same.Types)
	require.True(t, same.Disabled)
	c.do(http.StatusOK, http.MethodPost, path+"/enable", "", &same)
	require.False(t, same.Disabled)
	c.do(http.StatusNoContent, http.MethodDelete, path, "")
	c.do(http.StatusNotFound, http.MethodGet, path, "")
}
