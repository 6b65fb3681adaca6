package plan_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
)

// placeholder represents any non-empty string in testdata/documents.yaml.
const placeholder = "PLACEHOLDER"

// documents has the content of testdata/documents.yaml, which describes its own format. Values contains YAML anchors, to which the rest of
// the file refers. The test itself reads only the value "ada": the attributes of the user in all sequences that define none.
type documents struct {
	Values        map[string]any
	Users, Groups []documented
}

type documented struct {
	Name, Subject, Note        string
	Given                      situation
	Exchanges, Catalog, Wizard []documentedExchange
	AnyOrder                   bool `yaml:"anyOrder"`
	Outcome, Knows             string
	Fallback                   engine.Fallback // the only fallback to test; empty: test both
}

type situation struct {
	Options                 []string
	Want, Account, Lookup   string
	Attributes              any
	Password                string
	Name                    string
	FormerName              string `yaml:"formerName"`
	Members, Added, Removed []documentedMember
	Whole                   bool
}

type documentedMember struct{ Value, Display string }

type documentedExchange struct {
	Request  string
	Body     map[string]any
	OneOf    []map[string]any `yaml:"oneOf"`
	Open     []string
	Optional bool
	Answer   int
	With     any
}

// TestDocuments compares the sequences with the documents, which were written independently of the code.
func TestDocuments(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "documents.yaml"))
	require.NoError(t, err)
	var all documents
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.Strict()))
	require.NotEmpty(t, all.Users)
	require.NotEmpty(t, all.Groups)
	for _, v := range variants {
		for _, d := range all.Users {
			if d.Given.Attributes == nil {
				d.Given.Attributes = all.Values["ada"]
			}
			if d.Fallback != "" && d.Fallback != v.fallback {
				continue
			}
			t.Run(v.String()+"/users/"+d.Name, func(t *testing.T) {
				in := d.Given.user(t, v.style)
				in.Fallback = v.fallback
				d.run(t, v.style, plan.User(in))
			})
		}
		for _, d := range all.Groups {
			t.Run(v.String()+"/groups/"+d.Name, func(t *testing.T) {
				in := d.Given.group(t, v.style)
				in.Fallback = v.fallback
				d.run(t, v.style, plan.Group(in))
			})
		}
	}
}

// user returns the input of a user's sequence for the situation. The documents require an error if a known account is missing.
func (g situation) user(t *testing.T, style engine.Style) plan.UserInput {
	t.Helper()
	options := g.Options
	if options == nil {
		options = []string{"create", "update", "deactivate"}
	}
	r := resource(encoded(t, g.Attributes))
	in := plan.UserInput{
		UserName: r.Text("userName"), Resource: r, Password: "something",
		RemoteID: g.Account, Style: style, LookupAttribute: g.Lookup, OnMissing: engine.Fail,
		Create: slices.Contains(options, "create"), Update: slices.Contains(options, "update"),
		Deactivate:   slices.Contains(options, "deactivate"),
		SyncPassword: slices.Contains(options, "password"),
	}
	if g.Password != "" {
		in.Password, in.PasswordVersion = g.Password, "2"
	}
	if g.Account != "" {
		in.Origin, in.MayExist, in.HasPassword = engine.Created, true, "1"
	}
	switch g.Want {
	case "":
		in.Want = engine.Active
	case "inactive":
		in.Want, in.MayExist = engine.Inactive, true
	case "suspended":
		in.Want = engine.Keep
	default:
		t.Fatalf("the documents require a user to be %q", g.Want)
	}
	return in
}

// group returns the input of a group's sequence for the situation.
func (g situation) group(t *testing.T, style engine.Style) plan.GroupInput {
	t.Helper()
	in := plan.GroupInput{
		DisplayName: g.Name, RemoteID: g.Account, Style: style, OnMissing: engine.Fail, Full: g.Whole,
		Members: func() ([]engine.RemoteMember, error) { return asMembers(g.Members), nil },
		Add:     asMembers(g.Added), Remove: asMembers(g.Removed),
	}
	if g.Account != "" {
		in.Origin, in.RemoteName = engine.Created, g.Name
	}
	if g.FormerName != "" {
		in.RemoteName = g.FormerName
	}
	switch g.Want {
	case "":
		in.Want = engine.Active
	case "paused":
		in.Want = engine.Inactive
	case "deleted":
		in.Want, in.DeleteRemote = engine.Absent, true
	case "unlinked":
		in.Want = engine.Absent
	default:
		t.Fatalf("the documents require a group to be %q", g.Want)
	}
	return in
}

func asMembers(documented []documentedMember) (out []engine.RemoteMember) {
	for _, m := range documented {
		out = append(out, engine.RemoteMember{User: "user of " + m.Value, ID: m.Value, Display: m.Display})
	}
	return out
}

func (d documented) run(t *testing.T, style engine.Style, s *plan.Sequence) {
	t.Helper()
	left := d.Exchanges
	switch {
	case left != nil:
		require.Empty(t, d.Catalog, "both styles are documented together")
		require.Empty(t, d.Wizard, "both styles are documented together")
	case style == engine.Wizard:
		left = d.Wizard
	default:
		left = d.Catalog
	}
	require.NotNil(t, left, "the requests are documented, even if there are none")
	left = slices.Clone(left)
	read := map[string]bool{}
	step := s.Step()
	for step.Request != nil {
		switch path := step.Request.Path; step.Request.Method {
		case http.MethodGet:
			read[path] = true
		case http.MethodPut:
			assert.True(t, read[path] || strings.HasPrefix(path, plan.GroupsEndpoint), "a PUT of a user is preceded by a GET, in any order")
		}
		i := d.next(left, step.Request)
		if i < 0 {
			t.Fatalf("%s %s is not documented here; remaining: %s", step.Request.Method, step.Request.Path, requests(left))
		}
		left[i].compare(t, step.Request)
		answer := left[i].response(t)
		if left = slices.Delete(left, i, i+1); !d.AnyOrder {
			left = left[i:] // the sequence has not sent the exchanges before this one; they are documented as optional
		}
		step = s.Feed(answer)
	}
	left = slices.DeleteFunc(left, func(x documentedExchange) bool { return x.Optional })
	assert.Empty(t, requests(left), "documented, and not sent")

	got := step.Outcome
	switch class := got.Class; d.Outcome {
	case "done":
		assert.Contains(t, []engine.Class{engine.Done, engine.Skipped}, class, got.Message)
	case "failed":
		assert.NotContains(t, []engine.Class{engine.Done, engine.Skipped}, class)
		assert.NotEmpty(t, got.Message, "the administrator receives a message")
	default:
		t.Fatalf("the documents require the outcome %q", d.Outcome)
	}
	if d.Knows != "" {
		assert.Equal(t, d.Knows, got.RemoteID)
	}
}

// next returns the index of the exchange of a request, negative if there is none.
func (d documented) next(left []documentedExchange, r *plan.Request) int {
	for i, x := range left {
		switch {
		case x.Request == r.Method+" "+r.Path:
			return i
		case !x.Optional && !d.AnyOrder:
			return -1
		}
	}
	return -1
}

// compare compares a request with the exchange that has its method and path.
func (x documentedExchange) compare(t *testing.T, r *plan.Request) {
	t.Helper()
	const base = "/scim/v2"
	sent, err := http.NewRequestWithContext(t.Context(), r.Method, "https://target.example"+base+r.Path, nil)
	require.NoError(t, err)
	assert.Equal(t, base+r.Path, sent.URL.RequestURI(), "an HTTP client sends the path as it is")

	bodies := x.OneOf
	if x.Body != nil {
		require.Empty(t, bodies, "one body is documented, or several")
		bodies = []map[string]any{x.Body}
	}
	if bodies == nil {
		assert.Nil(t, r.Body, x.Request)
		return
	}
	require.NotNil(t, r.Body, x.Request)
	var diffs string
	for _, b := range bodies {
		var want, got map[string]any
		require.NoError(t, json.Unmarshal([]byte(encoded(t, b)), &want))
		require.NoError(t, json.Unmarshal(r.Body.AppendJSON(nil), &got))
		for name, v := range want {
			if text, ok := got[name].(string); v == placeholder && ok && text != "" {
				got[name] = placeholder
			}
		}
		for _, name := range x.Open {
			delete(want, name)
			delete(got, name)
		}
		diff := cmp.Diff(want, got)
		if diff == "" {
			return
		}
		diffs += diff
	}
	t.Errorf("%s (-documented +sent)\n%s", x.Request, diffs)
}

func (x documentedExchange) response(t *testing.T) plan.Response {
	t.Helper()
	if x.With == nil {
		return body(t, x.Answer, "")
	}
	return body(t, x.Answer, encoded(t, x.With))
}

func requests(of []documentedExchange) (out []string) {
	for _, x := range of {
		out = append(out, x.Request)
	}
	return out
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
