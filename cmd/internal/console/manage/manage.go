package manage

import (
	"embed"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
	api "github.com/scimwright/scimwright/engine/control/client"
)

//go:embed pages/*.html
var pageFiles embed.FS

// Manage is the section of the pages of the management API.
type Manage struct {
	o     Options
	frame *console.Frame
}

// Options configure the section.
type Options struct {
	// SCIM serves the SCIM servers of the sandbox to a caller who may manage them: GET requests without a token.
	SCIM http.Handler
}

var _ console.Section = (*Manage)(nil)

// New returns the section.
func New(o Options) *Manage { return &Manage{o: o} }

// subject is the pages and actions of one subject.
type subject struct {
	links     []console.Link
	actions   map[string]console.Row
	templates []string // the files of pages/ without their extension
	pages     map[string]console.Page
	posts     map[string]console.Page // forms that are not actions, because a page shows their result
}

// subjects are the subjects in the order of the navigation.
func (m *Manage) subjects() []subject {
	return []subject{
		m.users(), m.groups(), m.assignments(), m.mapping(), m.log(), m.outbox(), m.hooks(), m.servers(), m.tokens(), m.clock(), m.settings(),
	}
}

// Links implements console.Section.
func (m *Manage) Links() (all []console.Link) {
	for _, s := range m.subjects() {
		all = append(all, s.links...)
	}
	return all
}

// Actions implements console.Section.
func (m *Manage) Actions() map[string]console.Row {
	all := map[string]console.Row{}
	for _, s := range m.subjects() {
		maps.Copy(all, s.actions)
	}
	return all
}

// Mount implements console.Section.
func (m *Manage) Mount(f *console.Frame) error {
	m.frame = f
	for _, s := range m.subjects() {
		if err := f.Templates(pageFiles, s.templates...); err != nil {
			return err
		}
		for path, page := range s.pages {
			f.Get(path, page)
		}
		for path, page := range s.posts {
			f.Post(path, page)
		}
	}
	return nil
}

// The sizes of pages.
const (
	pageSize = 50
	pickSize = 10
	partSize = 20 // of a list that is a part of a page
)

// at returns a path of the management API. Each segment is escaped.
func at(prefix string, segments ...string) string {
	for _, s := range segments {
		prefix += "/" + url.PathEscape(s)
	}
	return prefix
}

// quoted returns a string of a filter expression.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(data)
}

// conjunction joins conditions with the expression of a caller. Without conditions, it returns the expression unchanged, so that the
// positions in the errors of the API are those of the caller.
func conjunction(conditions []string, expression string) string {
	if expression != "" && len(conditions) > 0 {
		expression = "(" + expression + ")"
	}
	if expression != "" {
		conditions = append(conditions, expression)
	}
	return strings.Join(conditions, " and ")
}

// rejected returns the reason for which the API rejects the parameters of a list, empty for other errors and for none.
func rejected(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != http.StatusBadRequest {
		return ""
	}
	return strings.Join(append([]string{e.Summary}, e.Causes...), " ")
}

// denied reports whether the caller has no permission for a request.
func denied(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status == http.StatusForbidden
}

// search returns the text of the search field of a page.
func search(r *http.Request) string { return strings.TrimSpace(r.URL.Query().Get("q")) }

// done returns the text of a success.
func done(text string) func(url.Values, json.RawMessage) string {
	return func(url.Values, json.RawMessage) string { return text }
}

// idOf returns the member id of a response.
func idOf(response json.RawMessage) string {
	var made struct{ ID string }
	_ = json.Unmarshal(response, &made)
	return made.ID
}
