package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// Options configure the console.
type Options struct {
	Source Source
	// Logger receives errors of pages. Default: messages are discarded.
	Logger *slog.Logger
}

// New returns the handler of the pages, to be mounted at the root. It returns an error if a page template does not parse.
func New(o Options) (http.Handler, error) {
	if o.Source == nil {
		return nil, errors.New("console: Options.Source is required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &console{source: o.Source, log: o.Logger, pages: map[string]*template.Template{}}
	style, err := assetName("assets/console.css")
	if err != nil {
		return nil, err
	}
	funcs := template.FuncMap{"style": func() string { return style }, "clock": clock, "tone": tone, "statusTone": statusTone}
	for _, name := range []string{"overview", "app", "history", "link", "error"} {
		t, err := template.New("layout.html").Funcs(funcs).ParseFS(pageFiles, "pages/layout.html", "pages/exchanges.html", "pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("console: page %s: %w", name, err)
		}
		c.pages[name] = t
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.overview)
	mux.HandleFunc("GET /apps/{app}", c.app)
	mux.HandleFunc("GET /apps/{app}/{kind}/{principal}", c.history)
	c.addLinks(mux)
	mux.Handle("GET "+style, asset("assets/console.css"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, http.StatusNotFound, "No page exists at this address.")
	})
	return localOnly(mux), nil
}

type console struct {
	source Source
	log    *slog.Logger
	pages  map[string]*template.Template
}

func (c *console) overview(w http.ResponseWriter, r *http.Request) {
	data, err := c.source.Overview(r.Context())
	c.render(w, r, "overview", data, err)
}

func (c *console) app(w http.ResponseWriter, r *http.Request) {
	data, err := c.source.App(r.Context(), r.PathValue("app"))
	c.render(w, r, "app", data, err)
}

func (c *console) history(w http.ResponseWriter, r *http.Request) {
	data, err := c.source.History(r.Context(), r.PathValue("app"), r.PathValue("kind"), r.PathValue("principal"))
	c.render(w, r, "history", data, err)
}

func (c *console) render(w http.ResponseWriter, r *http.Request, page string, data any, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		c.fail(w, r, http.StatusNotFound, "No app, user or group exists at this address.")
	case err != nil:
		c.log.ErrorContext(r.Context(), "console page", "page", page, "err", err)
		c.fail(w, r, http.StatusInternalServerError, "This page cannot be shown; the log has the cause.")
	default:
		c.write(w, r, http.StatusOK, page, data)
	}
}

func (c *console) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	c.write(w, r, status, "error", text)
}

// write renders the page before it writes the response, so that a failing template never sends a partial page.
func (c *console) write(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	var body bytes.Buffer
	if err := c.pages[page].Execute(&body, data); err != nil {
		c.log.ErrorContext(r.Context(), "console page", "page", page, "err", err)
		http.Error(w, "this page cannot be shown; the log has the cause", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// assetName returns the URL of an asset with a checksum of its content, so that browsers can cache it indefinitely.
func assetName(file string) (string, error) {
	data, err := fs.ReadFile(assetFiles, file)
	if err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	sum := sha256.Sum256(data)
	ext := path.Ext(file)
	return "/" + strings.TrimSuffix(file, ext) + "." + hex.EncodeToString(sum[:6]) + ext, nil
}

func asset(file string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeFileFS(w, r, assetFiles, file)
	})
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// tone returns the CSS class of the badge for a status.
func tone(word string) string {
	switch strings.ToLower(word) {
	case "in sync", "running", "active", "clean":
		return "good"
	case "failed", "error", "quarantined":
		return "bad"
	case "waiting", "retrying", "skipped", "dirty", "paused", "held", "out of sync":
		return "wait"
	default:
		return "quiet"
	}
}

func statusTone(status int) string {
	switch {
	case status >= 200 && status < 300:
		return "good"
	case status == 404:
		return "quiet"
	default:
		return "bad"
	}
}
