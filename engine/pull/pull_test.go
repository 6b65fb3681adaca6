package pull_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/signature"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/pull"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// provider is the endpoint of an identity provider. Its responses are texts by path; respond replaces them.
type provider struct {
	*httptest.Server
	secret  string
	mu      sync.Mutex
	texts   map[string]string
	respond http.HandlerFunc
	bodies  []string
	badSign int
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{secret: signature.NewSecret(), texts: map[string]string{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	keys, err := signature.Keys(p.secret)
	p.mu.Lock()
	if err != nil || signature.Verify(r.Header, keys, body, time.Now()) != nil {
		p.badSign++
	}
	p.bodies = append(p.bodies, r.URL.Path+" "+string(body))
	text, respond := p.texts[r.URL.Path], p.respond
	p.mu.Unlock()
	switch {
	case respond != nil:
		respond(w, r)
	case text == "":
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func (p *provider) set(path, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts[path], p.respond = text, nil
}

func (p *provider) responds(f http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.respond = f
}

func (p *provider) open(t testing.TB, change ...func(*pull.Options)) *pull.Directory {
	t.Helper()
	o := pull.Options{
		URL: p.URL, Secrets: []string{p.secret}, AllowHTTP: true,
		Target: func(context.Context, string) (engine.Target, error) { return engine.Target{}, engine.ErrUnknownApp },
	}
	for _, f := range change {
		f(&o)
	}
	d, err := pull.New(o)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

func TestUser_States(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	p.set("/user", `{"app":"crm","id":"u-1","state":"active","resource":{"userName":"ann","externalId":"u-1"},"onCreate":{"locale":"en"},
		"manager":"u-2","remoteId":"r-1","activating":true,"password":"secret","passwordVersion":"3","unknown":1}`)
	u, err := d.User(t.Context(), "crm", "u-1")
	require.NoError(t, err)
	require.Equal(t, engine.Active, u.Want)
	require.Equal(t, "ann", u.UserName)
	require.Equal(t, "u-1", u.Resource.Text("externalId"))
	require.Equal(t, "en", u.OnCreate.Text("locale"))
	require.Equal(t, []string{"u-2", "r-1", "secret", "3"}, []string{u.Manager, u.RemoteID, u.Password, u.PasswordVersion})
	require.True(t, u.Activating)
	require.Equal(t, []string{`/user {"app":"crm","id":"u-1"}`}, p.bodies)
	require.Zero(t, p.badSign)
	for _, w := range []engine.Want{engine.Inactive, engine.Absent, engine.Keep} {
		p.set("/user", fmt.Sprintf(`{"app":"crm","id":"u-1","state":%q}`, w))
		u, err := d.User(t.Context(), "crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.UserState{Want: w}, u)
	}
}

func TestGroup_States(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	p.set("/group", `{"app":"crm","id":"g-1","state":"active","displayName":"Sales","remoteId":"r"}`)
	g, err := d.Group(t.Context(), "crm", "g-1")
	require.NoError(t, err)
	require.Equal(t, engine.GroupState{Want: engine.Active, DisplayName: "Sales", RemoteID: "r"}, g)
	p.set("/group", `{"app":"crm","id":"g-1","state":"absent","deleteRemote":true}`)
	g, err = d.Group(t.Context(), "crm", "g-1")
	require.NoError(t, err)
	require.Equal(t, engine.GroupState{Want: engine.Absent, DeleteRemote: true}, g)
}

// faults are responses of an endpoint that has not returned a desired state, with their problems.
var faults = map[string]struct {
	respond http.HandlerFunc
	problem pull.Problem
}{
	"404":          {status(http.StatusNotFound), pull.BadStatus},
	"500":          {status(http.StatusInternalServerError), pull.BadStatus},
	"204":          {status(http.StatusNoContent), pull.BadStatus},
	"401":          {status(http.StatusUnauthorized), pull.BadStatus},
	"404 absent":   {text(404, "application/json", `{"app":"crm","id":"u-1","state":"absent"}`), pull.BadStatus},
	"HTML":         {text(200, "text/html", "<html>sign in</html>"), pull.NotJSON},
	"HTML as JSON": {text(200, "application/json", "<html>sign in</html>"), pull.NotJSON},
	"no type":      {text(200, "", `{"app":"crm","id":"u-1","state":"absent"}`), pull.NotJSON},
	"empty":        {text(200, "application/json", ""), pull.NotJSON},
	"list":         {text(200, "application/json", "[]"), pull.NotJSON},
	"null":         {text(200, "application/json", "null"), pull.NotJSON},
	"no member":    {text(200, "application/json", "{}"), pull.Incomplete},
	"no state":     {text(200, "application/json", `{"app":"crm","id":"u-1"}`), pull.Incomplete},
	"null state":   {text(200, "application/json", `{"app":"crm","id":"u-1","state":null}`), pull.Incomplete},
	"state":        {text(200, "application/json", `{"app":"crm","id":"u-1","state":"gone"}`), pull.Incomplete},
	"type":         {text(200, "application/json", `{"app":"crm","id":"u-1","state":false}`), pull.NotJSON},
	"two states":   {text(200, "application/json", `{"app":"crm","id":"u-1","state":"active","State":"absent"}`), pull.NotJSON},
	"other id":     {text(200, "application/json", `{"app":"crm","id":"u-2","state":"absent"}`), pull.OtherObject},
	"other app":    {text(200, "application/json", `{"app":"erp","id":"u-1","state":"absent"}`), pull.OtherObject},
	"no id":        {text(200, "application/json", `{"app":"crm","state":"absent"}`), pull.Incomplete},
	"trailing":     {text(200, "application/json", `{"app":"crm","id":"u-1","state":"absent"}{}`), pull.NotJSON},
	"truncated":    {text(200, "application/json", `{"app":"crm","id":"u-1","state":"absent"`), pull.NotJSON},
	"no name":      {text(200, "application/json", `{"app":"crm","id":"u-1","state":"active","resource":{}}`), pull.Incomplete},
	"no resource":  {text(200, "application/json", `{"app":"crm","id":"u-1","state":"active"}`), pull.Incomplete},
	"resource":     {text(200, "application/json", `{"app":"crm","id":"u-1","state":"active","resource":[1]}`), pull.Incomplete},
	"too long":     {text(200, "application/json", `{"app":"crm","id":"u-1","state":"absent"`+strings.Repeat(" ", 2<<20)+`}`), pull.TooLong},
	"redirect": {func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	}, pull.Redirected},
	"aborted": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"app":"crm","id":"u-1","state":"absent"}`)
		panic(http.ErrAbortHandler)
	}, pull.Unreachable},
}

func status(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) }
}

func text(n int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		w.WriteHeader(n)
		_, _ = io.WriteString(w, body)
	}
}

func TestUser_FaultIsError(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	for name, f := range faults {
		p.responds(f.respond)
		_, err := d.User(t.Context(), "crm", "u-1")
		problem := &pull.Error{}
		require.ErrorAs(t, err, &problem, name)
		require.Equal(t, f.problem, problem.Problem, "%s: %v", name, err)
		require.NotContains(t, err.Error(), "sign in")
	}
}

func TestUser_SlowEndpointIsError(t *testing.T) {
	p := newProvider(t)
	release := make(chan struct{})
	defer close(release)
	p.responds(func(http.ResponseWriter, *http.Request) { <-release })
	d := p.open(t, func(o *pull.Options) { o.Timeout = 20 * time.Millisecond })
	_, err := d.User(t.Context(), "crm", "u-1")
	problem := &pull.Error{}
	require.ErrorAs(t, err, &problem)
	require.Equal(t, pull.Unreachable, problem.Problem)

	d = p.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = d.User(ctx, "crm", "u-1")
	require.ErrorIs(t, err, context.Canceled)
}

func TestDirectory_PrivateAddressRejected(t *testing.T) {
	p := newProvider(t)
	d := p.open(t, func(o *pull.Options) { o.Egress = engine.Egress{Range: engine.EgressPublic} })
	_, err := d.Group(t.Context(), "crm", "g-1")
	require.ErrorContains(t, err, "connections to it are not allowed")
	require.Empty(t, p.bodies)
}

func TestMembers_Pages(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	p.responds(func(w http.ResponseWriter, r *http.Request) { // pages of two ids, whatever the limit
		p.mu.Lock()
		n := len(p.bodies)
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"app":"crm","id":"g-1","members":["u-%d","u-%d"],"more":%t,"total":6}`, 2*n, 2*n+1, n < 3)
	})
	ids, err := d.Members(t.Context(), "crm", "g-1", "", 1000)
	require.NoError(t, err)
	require.Equal(t, []string{"u-2", "u-3", "u-4", "u-5", "u-6", "u-7"}, ids)
	require.Equal(t, `/members {"app":"crm","id":"g-1","after":"u-3","limit":998}`, p.bodies[1])

	for name, c := range map[string]struct {
		body    string
		problem pull.Problem
	}{
		"empty":          {`{"app":"crm","id":"g-1","members":[]}`, pull.Incomplete},
		"no total":       {`{"app":"crm","id":"g-1","members":[],"more":false}`, pull.Incomplete},
		"other total":    {`{"app":"crm","id":"g-1","members":[],"more":false,"total":3}`, pull.Incomplete},
		"no list":        {`{"app":"crm","id":"g-1","more":false,"total":0}`, pull.Incomplete},
		"null":           {`{"app":"crm","id":"g-1","members":null,"more":false,"total":0}`, pull.Incomplete},
		"no more":        {`{"app":"crm","id":"g-1","members":["a"],"total":1}`, pull.Incomplete},
		"other group":    {`{"app":"crm","id":"g-2","members":[],"more":false,"total":0}`, pull.OtherObject},
		"descending":     {`{"app":"crm","id":"g-1","members":["b","a"],"more":false,"total":2}`, pull.Unordered},
		"twice":          {`{"app":"crm","id":"g-1","members":["a","a"],"more":false,"total":2}`, pull.Unordered},
		"empty id":       {`{"app":"crm","id":"g-1","members":[""],"more":false,"total":1}`, pull.Unordered},
		"again":          {`{"app":"crm","id":"g-1","members":["a"],"more":true,"total":2}`, pull.Unordered},
		"without end":    {`{"app":"crm","id":"g-1","members":[],"more":true,"total":2}`, pull.Unordered},
		"numbers":        {`{"app":"crm","id":"g-1","members":[1],"more":false,"total":1}`, pull.NotJSON},
		"over the limit": {`{"app":"crm","id":"g-1","members":["a","b","c","d"],"more":false,"total":4}`, pull.Incomplete},
	} {
		p.set("/members", c.body)
		_, err := d.Members(t.Context(), "crm", "g-1", "", 3)
		problem := &pull.Error{}
		require.ErrorAs(t, err, &problem, name)
		require.Equal(t, c.problem, problem.Problem, "%s: %v", name, err)
	}
	p.set("/members", `{"app":"crm","id":"g-1","members":[],"more":false,"total":0}`)
	ids, err = d.Members(t.Context(), "crm", "g-1", "", 3)
	require.NoError(t, err)
	require.Empty(t, ids)
}

func TestIsMember_Explicit(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	p.set("/is-member", `{"app":"crm","id":"g-1","members":{"a":true,"b":false}}`)
	is, err := d.IsMember(t.Context(), "crm", "g-1", []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"a": true, "b": false}, is)
	for name, body := range map[string]string{
		"missing": `{"app":"crm","id":"g-1","members":{"a":true}}`, "null": `{"app":"crm","id":"g-1","members":{"a":true,"b":null}}`,
		"none": `{"app":"crm","id":"g-1"}`, "other": `{"app":"crm","id":"g-1","members":{"a":true,"b":true,"c":true}}`,
	} {
		p.set("/is-member", body)
		_, err := d.IsMember(t.Context(), "crm", "g-1", []string{"a", "b"})
		require.Error(t, err, name)
	}
}

func TestPrincipals_Listed(t *testing.T) {
	p := newProvider(t)
	d := p.open(t)
	p.set("/principals", `{"app":"crm","kind":"group","ids":["a","b"],"more":false}`)
	ids, err := d.Principals(t.Context(), "crm", engine.Group, "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, ids)
	_, err = d.Principals(t.Context(), "crm", engine.User, "", 10)
	require.Error(t, err, "the response is about groups")
}

func TestNew_OptionsChecked(t *testing.T) {
	for name, change := range map[string]func(*pull.Options){
		"target": func(o *pull.Options) { o.Target = nil }, "secrets": func(o *pull.Options) { o.Secrets = nil },
		"secret": func(o *pull.Options) { o.Secrets = []string{"x"} }, "http": func(o *pull.Options) { o.URL = "http://example.com" },
		"host": func(o *pull.Options) { o.URL = "https:///x" }, "query": func(o *pull.Options) { o.URL += "?a=b" },
		"user": func(o *pull.Options) { o.URL = "https://a:b@example.com" }, "invalid": func(o *pull.Options) { o.URL = "https://%zz" },
		"negative": func(o *pull.Options) { o.Timeout = -1 },
	} {
		o := pull.Options{
			URL: "https://example.com/x", Secrets: []string{signature.NewSecret()},
			Target: func(context.Context, string) (engine.Target, error) { return engine.Target{}, nil },
		}
		_, err := pull.New(o)
		require.NoError(t, err)
		change(&o)
		_, err = pull.New(o)
		require.Error(t, err, name)
	}
}

// An engine with an endpoint that fails in every way changes no account, and continues when it works again. Only an explicit state
// deactivates.
func TestEngine_FaultDeactivatesNoAccount(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		p := newProvider(t)
		target := enginetest.NewTarget()
		server := httptest.NewServer(target)
		t.Cleanup(server.Close)
		d := p.open(t, func(o *pull.Options) {
			o.Target = func(context.Context, string) (engine.Target, error) {
				return engine.Target{BaseURL: server.URL, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true}, nil
			}
		})
		store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
		require.NoError(t, err)
		e, err := provision.New(provision.Options{Store: store, Directory: d, RetryInitial: time.Millisecond, RetryMax: 5 * time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, e.Stop(context.Background())) })
		mark := func() {
			require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
				return e.Mark(t.Context(), tx.Execer(), engine.Mark{App: "crm", Kind: engine.User, ID: "u-1"})
			}))
			e.Wake("crm")
		}
		active := func(name string) {
			t.Helper()
			require.Len(t, target.Users(), 1)
			u := target.Users()[0]
			require.Equal(t, name, u.Text("userName"))
			is, ok := u.Bool("active")
			require.True(t, is || !ok)
		}
		p.set("/user", `{"app":"crm","id":"u-1","state":"active","resource":{"userName":"ann"}}`)
		mark()
		require.NoError(t, e.Wait(t.Context(), "crm"))
		active("ann")
		for name, f := range faults {
			p.responds(f.respond)
			p.mu.Lock()
			p.bodies = nil
			p.mu.Unlock()
			mark()
			require.Eventually(t, func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return len(p.bodies) >= 3
			}, 2*time.Minute, time.Millisecond, name)
			active("ann")
		}
		p.set("/user", `{"app":"crm","id":"u-1","state":"active","resource":{"userName":"ann-2"}}`)
		require.NoError(t, e.Wait(t.Context(), "crm"))
		active("ann-2")
		p.set("/user", `{"app":"crm","id":"u-1","state":"absent"}`)
		mark()
		require.NoError(t, e.Wait(t.Context(), "crm"))
		is, _ := target.Users()[0].Bool("active")
		require.False(t, is)
	})
}

// The document describes the members of the types, and which of them are required.
func TestOpenAPI_DescribesTypes(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(pull.OpenAPI())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	require.Len(t, doc.Paths.Map(), 5)
	types := []any{
		pull.UserRequest{}, pull.UserResponse{}, pull.GroupRequest{}, pull.GroupResponse{}, pull.MembersRequest{}, pull.MembersResponse{},
		pull.IsMemberRequest{}, pull.IsMemberResponse{}, pull.PrincipalsRequest{}, pull.PrincipalsResponse{},
	}
	require.Len(t, doc.Components.Schemas, len(types))
	for _, v := range types {
		typ := reflect.TypeOf(v)
		schema := doc.Components.Schemas[typ.Name()].Value
		var members, required []string
		for i := range typ.NumField() {
			name, rest, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			members = append(members, name)
			if rest == "" {
				required = append(required, name)
			}
		}
		described := make([]string, 0, len(members))
		for name := range schema.Properties {
			described = append(described, name)
		}
		require.ElementsMatch(t, members, described, typ.Name())
		require.ElementsMatch(t, required, schema.Required, typ.Name())
		_, err := json.Marshal(v)
		require.NoError(t, err)
	}
}
