package console

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine/control"
	api "github.com/scimwright/scimwright/engine/control/client"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// Options configure the console. Host, Reads, API and Sessions are required.
type Options struct {
	Host  Host
	Reads Reads
	// API is the handler of the control API. Its requests have the credential of the session, and their context has CallerOf.
	API http.Handler
	// Management is the handler of the management API, which Sections call. Its requests have the credential of the session. Default: none.
	Management http.Handler
	// Sections are further groups of pages. Default: the console has the pages of the engine only.
	Sections []Section
	// Prefix is the prefix of the API, such as /engine/v1, and Scheme that of the Authorization header. Defaults: those of package control.
	Prefix, Scheme string
	// URL is the base URL of the server for command lines. Default: the one of the request.
	URL      string
	Sessions *session.Store
	// Base is the prefix of all paths of the console, such as /console. Default: none.
	Base string
	// Product is the name in the header of all pages, such as "sandbox".
	Product string
	// Endpoints are the addresses at the end of the overview.
	Endpoints []Endpoint
	// Links serves the pages that the links in messages of the management API address, such as the activation of a user. Their paths begin at
	// the root, without Base.
	Links bool
	// Hosts are the names of this server in addition to loopback names.
	Hosts []string
	// Proxies are the addresses of proxies whose X-Forwarded-Host and X-Forwarded-Proto are valid.
	Proxies []netip.Prefix
	// Open lets callers on this machine act without a login, with the authority of Host.Grant.
	Open bool
	// Rate counts the sequences of this process for the chart of the overview. Default: no chart.
	Rate *Rate
	// Done is closed when the server stops, so that live pages end. Default: they end with their connections.
	Done <-chan struct{}
	// Now is the clock of the server's data. Default: time.Now.
	Now func() time.Time
	// Logger receives errors of pages. Default: messages are discarded.
	Logger *slog.Logger
}

// Endpoint is an address of the server.
type Endpoint struct{ Name, URL string }

// Console is the handler of the pages, to be mounted at Options.Base + "/".
type Console struct {
	*console
	handler http.Handler
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Pages returns the paths of all pages that require a login, in the form of http.ServeMux and below Options.Base.
func (c *Console) Pages() []string { return slices.Sorted(maps.Keys(c.mounted)) }

type console struct {
	o          Options
	log        *slog.Logger
	pages      map[string]func() (*template.Template, error)
	funcs      template.FuncMap
	operations map[string]control.Operation
	actions    map[string]Row  // the actions by operation
	links      []Link          // of the navigation
	mounted    map[string]bool // paths of pages, without those that need no login
	offerings  []Offering
	failures   failures
	feed       feed

	opening sync.Mutex
	opened  map[string]string // the cookie of callers without a login, by host name
	labels  labels
	lags    lags
}

// pageNames are the files of pages/ that are pages; the others have parts of pages.
var pageNames = []string{
	"login", "overview", "app", "people", "person", "requests", "request", "tasks", "plans", "plan", "imports", "import", "target", "events",
	"act", "result", "link", "error",
}

// New returns the console. It returns an error if a page template does not parse.
func New(o Options) (*Console, error) {
	if o.Host == nil || o.Reads == nil || o.API == nil || o.Sessions == nil {
		return nil, errors.New("console: Options.Host, Reads, API and Sessions are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Prefix, o.Scheme = cmp.Or(o.Prefix, control.DefaultPrefix), cmp.Or(o.Scheme, "Bearer")
	c := &console{
		o: o, log: o.Logger, pages: map[string]func() (*template.Template, error){}, operations: operations(o.Prefix),
		opened: map[string]string{}, actions: maps.Clone(actions), links: engineLinks(), mounted: map[string]bool{},
	}
	c.feed.reads, c.lags.reads, c.labels.host = o.Reads, o.Reads, o.Host
	if err := c.definePages(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if err := c.addPages(mux); err != nil {
		return nil, err
	}
	if err := c.addSections(mux); err != nil {
		return nil, err
	}
	return &Console{console: c, handler: mux}, nil
}

func (c *console) addPages(mux *http.ServeMux) error {
	get := (&Frame{c, mux}).Get
	get("/{$}", c.overview)
	get("/apps/{app}", c.app)
	get("/apps/{app}/people", c.people)
	get("/apps/{app}/requests", c.appRequests)
	get("/apps/{app}/tasks", c.tasks)
	get("/apps/{app}/plans", c.plans)
	get("/apps/{app}/plans/{plan}", c.plan)
	get("/apps/{app}/imports", c.imports)
	get("/apps/{app}/imports/{job}", c.oneImport)
	get("/apps/{app}/target", c.target)
	get("/apps/{app}/events", c.events)
	get("/apps/{app}/{kind}/{principal}", c.person)
	get("/requests", c.requests)
	get("/requests/stream", c.stream)
	get("/requests/{app}/{id}", c.request)
	get("/do/{action}", c.actForm)
	mux.Handle("POST "+c.o.Base+"/do/{action}", c.admitted(c.posted(c.act)))
	mux.Handle("POST "+c.o.Base+"/logout", c.admitted(c.posted(c.logout)))
	mux.Handle("POST "+c.o.Base+"/theme", c.admitted(c.theme))
	mux.Handle("GET "+c.o.Base+"/login", c.admitted(c.loginForm))
	mux.Handle("POST "+c.o.Base+"/login", c.admitted(c.login))
	mux.HandleFunc("POST "+c.o.Base+LinkPath, c.newLink)
	if c.o.Links {
		c.addLinks(mux)
	}
	for _, file := range []string{"assets/console.css", "assets/console.js"} {
		name, err := c.assetPath(file)
		if err != nil {
			return err
		}
		mux.Handle("GET "+name, c.admitted(func(w http.ResponseWriter, r *http.Request, _ client) { serveAsset(w, r, file) }))
	}
	missing := c.admitted(func(w http.ResponseWriter, r *http.Request, _ client) {
		c.fail(w, r, nil, http.StatusNotFound, "No page exists at this address.", "Go to the overview, or search for the app there.")
	})
	mux.Handle(c.o.Base+"/", missing)
	return nil
}

// admitted checks the host name, the transport and, for a method that changes something, the origin.
func (c *console) admitted(next func(w http.ResponseWriter, r *http.Request, from client)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header(w.Header())
		from, problem := c.admit(r)
		if problem != nil {
			http.Error(w, problem.text, http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if !c.sameOrigin(r) {
				c.fail(w, r, nil, http.StatusForbidden, "This form was sent by another site.", "Open the page of the console and send the form there.")
				return
			}
			if err := r.ParseForm(); err != nil {
				c.fail(w, r, nil, http.StatusBadRequest, "The form cannot be read.", "Open its page again, and enter at most 64 KiB.")
				return
			}
		}
		next(w, r, from)
	})
}

// inside requires a session with the permission to read.
func (c *console) inside(next Page) func(http.ResponseWriter, *http.Request, client) {
	return func(w http.ResponseWriter, r *http.Request, from client) {
		v, err := c.identify(w, r, from)
		switch {
		case errors.Is(err, session.ErrNone) && r.Method == http.MethodGet && r.Header.Get(headerFragment) == "":
			http.Redirect(w, r, c.o.Base+"/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		case errors.Is(err, session.ErrNone):
			c.fail(w, r, nil, http.StatusUnauthorized, "You are not logged in, or the login has ended.", "Log in and repeat this step.")
		case err != nil:
			c.broken(w, r, nil, err)
		default:
			next(w, r, v)
		}
	}
}

// posted requires a session and the token of its forms.
func (c *console) posted(next Page) func(http.ResponseWriter, *http.Request, client) {
	return c.inside(func(w http.ResponseWriter, r *http.Request, v *Visit) {
		if !session.Equal(r.PostFormValue("csrf"), v.session.CSRF) {
			c.fail(w, r, v, http.StatusForbidden, "The form belongs to another login.", "Open its page again and send the form there.")
			return
		}
		next(w, r, v)
	})
}

// theme stores the choice of colors in a cookie, which pages without a login use, too.
func (c *console) theme(w http.ResponseWriter, r *http.Request, from client) {
	choice := r.PostFormValue("theme")
	if choice != "light" && choice != "dark" {
		choice = "auto"
	}
	http.SetCookie(w, &http.Cookie{
		Name: themeCookie, Value: choice, Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: from.secure,
	})
	http.Redirect(w, r, c.local(r.PostFormValue("next")), http.StatusSeeOther)
}

// problem shows an error of the API: its status, its text, and what to do.
func (c *console) problem(w http.ResponseWriter, r *http.Request, v *Visit, err error) {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		c.broken(w, r, v, err)
	case e.Status == http.StatusNotFound:
		c.fail(w, r, v, e.Status, "This object does not exist, or no longer exists.", "Go to the list and search for it there.")
	case e.Status == http.StatusForbidden, e.Status == http.StatusUnauthorized:
		c.fail(w, r, v, http.StatusForbidden, "You may not do this: "+e.Summary, "Log in with a token that has the permission.")
	case internalError(e):
		c.broken(w, r, v, err)
	default:
		c.fail(w, r, v, e.Status, strings.Join(append([]string{e.Summary}, e.Causes...), " "), "Go back, correct the input, and send it again.")
	}
}

// broken shows that a page cannot be shown, and logs the cause.
func (c *console) broken(w http.ResponseWriter, r *http.Request, v *Visit, err error) {
	if r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		return // the browser has left
	}
	c.log.ErrorContext(r.Context(), "console page", "path", r.URL.Path, "error", err)
	c.fail(w, r, v, http.StatusInternalServerError, "This page cannot be shown now.",
		fmt.Sprintf("Load it again. If the error remains, the log of the server has the cause: search for the path %q.", r.URL.Path))
}

// ErrorPage is the page of an error.
type ErrorPage struct {
	Status     int
	What, Next string // what happened, and what to do
}

func (c *console) fail(w http.ResponseWriter, r *http.Request, v *Visit, status int, what, next string) {
	c.write(w, r, v, status, "error", "Error", ErrorPage{status, what, next})
}
