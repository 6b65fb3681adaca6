package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// Page serves a page to a caller with a session.
type Page = func(w http.ResponseWriter, r *http.Request, v *Visit)

// Section is a group of pages of another package, which share the login, the navigation, the actions and the design of the console.
type Section interface {
	// Links returns the links of the section in the navigation.
	Links() []Link
	// Actions returns the actions of the section by their operation. Their rows have a Path.
	Actions() map[string]Row
	// Mount adds the pages.
	Mount(f *Frame) error
}

// Offering is a Section with actions on the page of the connection of an app.
type Offering interface {
	Section
	// Offer returns the actions for an app in its present state.
	Offer(ctx context.Context, v *Visit, app string) []Action
}

// Link is a link in the navigation.
type Link struct {
	Label, Path string // the path is below the base
	// Pages are the paths of other pages for which the link is Current, with all pages below them.
	Pages []string
	// Key is the key that opens the page after the key g.
	Key string
	// Access is the permission with which the link is shown. Default: engine.AccessRead.
	Access  string
	Current bool // set for the page that is shown
}

// connectPath is the path of the page that connects an app, which a section adds.
const connectPath = "/connect"

// engineLinks returns the links to the pages of the engine.
func engineLinks() []Link {
	return []Link{
		{Label: "Apps", Path: "/", Pages: []string{"/apps", connectPath}, Key: "a"},
		{Label: "Requests", Path: "/requests", Key: "r"},
	}
}

// linksFor returns the links that the caller may open. The link of the page of a request is Current.
func (c *console) linksFor(r *http.Request, v *Visit) (shown []Link) {
	path := strings.TrimPrefix(r.URL.Path, c.o.Base)
	for _, l := range c.links {
		if !v.caller.May(cmp.Or(l.Access, engine.AccessRead)) {
			continue
		}
		l.Current = slices.ContainsFunc(append(l.Pages, l.Path), func(page string) bool {
			return path == page || strings.HasPrefix(path, page+"/")
		})
		shown = append(shown, l)
	}
	return shown
}

// addSections adds the pages, links and actions of the sections.
func (c *console) addSections(mux *http.ServeMux) error {
	for _, s := range c.o.Sections {
		if o, ok := s.(Offering); ok {
			c.offerings = append(c.offerings, o)
		}
		for id, r := range s.Actions() {
			if _, taken := c.actions[id]; taken || r.Path == "" {
				return fmt.Errorf("console: the action %s is defined twice, or has no path", id)
			}
			c.actions[id] = r
		}
		for _, l := range s.Links() {
			if slices.ContainsFunc(c.links, func(o Link) bool { return o.Key == l.Key && l.Key != "" }) {
				return fmt.Errorf("console: the key %s of %s belongs to another page", l.Key, l.Label)
			}
			c.links = append(c.links, l)
		}
		if err := s.Mount(&Frame{c, mux}); err != nil {
			return err
		}
	}
	return nil
}

// Frame is the part of the console that the pages of a section use.
type Frame struct {
	c   *console
	mux *http.ServeMux
}

// Get adds a page at a path below the base, in the form of http.ServeMux.
func (f *Frame) Get(path string, page Page) {
	f.c.mounted[path] = true
	f.mux.Handle("GET "+f.c.o.Base+path, f.c.admitted(f.c.inside(page)))
}

// Post adds a handler for a form, whose token and origin are checked. Actions need no such handler: see Row.
func (f *Frame) Post(path string, page Page) {
	f.mux.Handle("POST "+f.c.o.Base+path, f.c.admitted(f.c.posted(page)))
}

// Templates defines pages: NAME for each file pages/NAME.html, which uses the parts of the console and those of pages/parts.html of the
// section, if there are any. A page is parsed when it is shown for the first time.
func (f *Frame) Templates(files fs.FS, names ...string) error {
	common := "pages/parts.html"
	if _, err := fs.Stat(files, common); err != nil {
		common = ""
	}
	for _, name := range names {
		if _, taken := f.c.pages[name]; taken {
			return fmt.Errorf("console: the page %s is defined twice", name)
		}
		own := []string{"pages/" + name + ".html"}
		if common != "" {
			own = append(own, common)
		}
		f.c.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			t, err := f.c.frameTemplate()
			if err != nil {
				return nil, err
			}
			return t.ParseFS(files, own...)
		})
	}
	return nil
}

// Write sends a page. The template has data as .D.
func (f *Frame) Write(w http.ResponseWriter, r *http.Request, v *Visit, page, title string, data any) {
	f.c.write(w, r, v, http.StatusOK, page, title, data)
}

// WriteStatus sends a page with a status.
func (f *Frame) WriteStatus(w http.ResponseWriter, r *http.Request, v *Visit, status int, page, title string, data any) {
	f.c.write(w, r, v, status, page, title, data)
}

// Forget discards what the overview has cached, after a change of the apps.
func (f *Frame) Forget() {
	f.c.lags.forget()
	f.c.labels.forget()
}

// Problem sends the page of an error of an API.
func (f *Frame) Problem(w http.ResponseWriter, r *http.Request, v *Visit, err error) {
	f.c.problem(w, r, v, err)
}

// Fail sends the page of an error: what happened, and what to do next.
func (f *Frame) Fail(w http.ResponseWriter, r *http.Request, v *Visit, status int, what, next string) {
	f.c.fail(w, r, v, status, what, next)
}

// Done redirects to a path of the console, where the page shows the text and the command line.
func (f *Frame) Done(w http.ResponseWriter, r *http.Request, v *Visit, to, text, curl string) {
	f.c.done(w, r, v, to, flash{Text: text, Curl: curl})
}

// Curl returns the command line for a request to the management API.
func (f *Frame) Curl(v *Visit, method, path string, body any) string {
	return f.c.curl(v, call{method, path, body})
}

// Base is the prefix of the paths of the console.
func (f *Frame) Base() string { return f.c.o.Base }

// AppHead reads the app of a page with the path variable app, for the head of the pages of an app. It has sent a response if ok is false.
func (f *Frame) AppHead(w http.ResponseWriter, r *http.Request, v *Visit, tab string) (h Head, ok bool) {
	return f.c.head(w, r, v, tab)
}

// Management returns a client of the management API with the authority of the session. Its paths begin with the prefix of the API.
func (f *Frame) Management(v *Visit) *api.Client { return f.c.management(v, nil) }

// nextLink matches the address of the next page in a Link header.
var nextLink = regexp.MustCompile(`<([^>]*)>; *rel="next"`)

// List reads a page of a list of the management API into a slice, and returns the cursor of the next page, empty if this is the last one.
func (f *Frame) List(ctx context.Context, v *Visit, path string, query url.Values, into any) (after string, err error) {
	var header http.Header
	if text := query.Encode(); text != "" {
		path += "?" + text
	}
	if err := f.c.management(v, &header).Do(ctx, http.MethodGet, path, nil, into); err != nil {
		return "", err
	}
	for _, link := range header.Values("Link") {
		if m := nextLink.FindStringSubmatch(link); m != nil {
			next, err := url.Parse(m[1])
			if err != nil {
				return "", fmt.Errorf("console: link to the next page of %s: %w", path, err)
			}
			return next.Query().Get("after"), nil
		}
	}
	return "", nil
}

// FormToken returns the token of the forms of the session.
func (v *Visit) FormToken() string { return v.session.CSRF }

// Caller returns the caller of the session.
func (v *Visit) Caller() Caller { return v.caller }

// Query returns the query of alternating names and values, without the empty values.
func Query(pairs ...string) template.URL { return queryOf(pairs...) }

// Local returns a path of the console, and that of the overview for all other text.
func (f *Frame) Local(path string) string { return f.c.local(path) }
