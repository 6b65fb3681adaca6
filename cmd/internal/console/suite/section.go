package suite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

//go:embed pages/*.html
var pageFiles embed.FS

// Section is the section of the conformance pages.
type Section struct {
	frame  *console.Frame
	runner *Runner
	// self is the base URL at which this process reaches its own SCIM servers; their URLs in the API are those of the clients.
	self   string
	recent recent
}

var _ console.Section = (*Section)(nil)

// NewSection returns the section for a runner. The console's host serves the SCIM servers of the sandbox API at the base URL self.
func NewSection(runner *Runner, self string) *Section { return &Section{runner: runner, self: self} }

// Links implements console.Section.
func (s *Section) Links() []console.Link {
	return []console.Link{{Label: "Conformance", Path: "/conformance", Key: "f"}}
}

// Actions implements console.Section. The suite has no operations of an API.
func (s *Section) Actions() map[string]console.Row { return nil }

// Mount implements console.Section.
func (s *Section) Mount(f *console.Frame) error {
	s.frame = f
	if err := f.Templates(pageFiles, "conformance", "conformancerun", "conformancecheck", "conformancecompare"); err != nil {
		return err
	}
	f.Get("/conformance", s.start)
	f.Post("/conformance", s.run)
	f.Get("/conformance/compare", s.compare)
	f.Get("/conformance/runs/{run}", s.show)
	f.Post("/conformance/runs/{run}/cancel", s.cancel)
	f.Get("/conformance/runs/{run}/checks/{check}", s.check)
	f.Get("/conformance/runs/{run}/report.json", s.download)
	return nil
}

// server is a SCIM server of the sandbox.
type server struct {
	Name, URL string
	Quirks    []string
}

const serversPath = "/sandbox/v1/scim"

// servers returns the SCIM servers of the sandbox. It returns none to a caller who may not manage them.
func (s *Section) servers(ctx context.Context, v *console.Visit) (all []server, err error) {
	err = s.frame.Management(v).Do(ctx, http.MethodGet, serversPath, nil, &all)
	if e, ok := errors.AsType[*api.Error](err); ok && e.Status == http.StatusForbidden {
		return nil, nil
	}
	return all, err
}

// option is a profile that a form offers.
type option struct {
	ID, Label string
	Checked   bool
}

// chosen are the profiles that the form of a new run selects.
var chosen = []string{profiles.RFC, "okta", "entra"}

func options(selected []string) []option {
	all := []option{{ID: profiles.RFC, Label: "RFC 7643, 7644 and 9865"}}
	for _, p := range profiles.All() {
		all = append(all, option{ID: p.ID, Label: p.Client})
	}
	for i := range all {
		all[i].Checked = slices.Contains(selected, all[i].ID)
	}
	return all
}

// StartPage has the form of a new run and the list of runs.
type StartPage struct {
	Servers  []server
	Options  []option
	URL      string
	ReadOnly bool
	Consent  bool
	Problem  string
	Active   *Progress
	Runs     []Run
	Limit    time.Duration
	Max      int
	May      bool
}

func (s *Section) start(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	s.showStart(w, r, v, Input{Profiles: chosen}, "")
}

func (s *Section) showStart(w http.ResponseWriter, r *http.Request, v *console.Visit, in Input, problem string) {
	p := StartPage{
		Options: options(in.Profiles), URL: in.URL, ReadOnly: in.ReadOnly, Consent: in.Consent, Problem: problem, Limit: Limit, Max: Max,
		May: v.Caller().May(engine.AccessWrite),
	}
	var err error
	if p.Servers, err = s.servers(r.Context(), v); err != nil {
		s.frame.Problem(w, r, v, err)
		return
	}
	if p.Runs, err = s.runner.o.Store.List(r.Context()); err != nil {
		s.frame.Problem(w, r, v, err)
		return
	}
	if active, ok := s.runner.Progress(); ok {
		p.Active = &active
	}
	s.frame.Write(w, r, v, "conformance", "Conformance", p)
}

func (s *Section) run(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	if !s.may(w, r, v) {
		return
	}
	in := Input{
		URL: r.PostFormValue("url"), Token: strings.TrimSpace(r.PostFormValue("token")), Profiles: r.PostForm["profile"],
		ReadOnly: r.PostFormValue("readOnly") != "", Consent: r.PostFormValue("consent") != "", By: v.Caller().Name,
	}
	if name := r.PostFormValue("server"); name != "" {
		if err := s.useServer(r.Context(), v, name, &in); err != nil {
			s.frame.Problem(w, r, v, err)
			return
		}
	}
	id, err := s.runner.Start(r.Context(), in)
	if err != nil && in.Done != nil {
		in.Done(context.WithoutCancel(r.Context()))
	}
	if _, ok := errors.AsType[*conformance.ConsentError](err); ok {
		s.showStart(w, r, v, in,
			"This server is on another machine. Permit the run to create and remove objects there, or choose a read-only run.")
		return
	}
	if e, ok := errors.AsType[*conformance.UsageError](err); ok {
		s.showStart(w, r, v, in, sentence(e.Problem))
		return
	}
	switch {
	case errors.Is(err, ErrBusy):
		s.showStart(w, r, v, in, "Another run is active. Wait for its end, or cancel it.")
	case err != nil:
		s.frame.Problem(w, r, v, err)
	default:
		http.Redirect(w, r, s.frame.Base()+"/conformance/runs/"+id, http.StatusSeeOther)
	}
}

// sentence returns a text of an error as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// useServer creates a token of a SCIM server of the sandbox for a run, which ends with the run.
func (s *Section) useServer(ctx context.Context, v *console.Visit, name string, in *Input) error {
	c, path := s.frame.Management(v), serversPath+"/"+url.PathEscape(name)
	var found server
	if err := c.Do(ctx, http.MethodGet, path, nil, &found); err != nil {
		return err
	}
	u, err := url.Parse(found.URL)
	if err != nil {
		return fmt.Errorf("suite: URL of the SCIM server %s: %w", name, err)
	}
	var made struct{ ID, Token string }
	if err := c.Do(ctx, http.MethodPost, path+"/tokens", struct{}{}, &made); err != nil {
		return err
	}
	in.URL, in.Token, in.Consent = s.self+u.Path, made.Token, true
	in.Done = func(ctx context.Context) {
		if err := c.Do(ctx, http.MethodDelete, path+"/tokens/"+url.PathEscape(made.ID), nil, nil); err != nil {
			s.runner.o.Logger.ErrorContext(ctx, "the token of a conformance run was not removed", "server", name, "token", made.ID, "error", err)
		}
	}
	return nil
}

func (s *Section) may(w http.ResponseWriter, r *http.Request, v *console.Visit) bool {
	if v.Caller().May(engine.AccessWrite) {
		return true
	}
	s.frame.Fail(w, r, v, http.StatusForbidden, "You may not do this: it requires the permission "+engine.AccessWrite+".",
		"Log in with a token that has it.")
	return false
}

func (s *Section) cancel(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	if !s.may(w, r, v) {
		return
	}
	id := r.PathValue("run")
	text := "The run has already ended."
	if s.runner.Cancel(id) {
		text = "The run stops and removes its objects."
	}
	s.frame.Done(w, r, v, s.frame.Base()+"/conformance/runs/"+url.PathEscape(id), text, "")
}

// command returns the command line of a run.
func command(r Run) string {
	parts := []string{"scim-conformance run", quoted(r.Target), `--token "$SCIM_TOKEN"`, "--profile " + quoted(r.Profiles)}
	if r.ReadOnly {
		parts = append(parts, "--read-only")
	} else {
		parts = append(parts, "--yes-write")
	}
	return strings.Join(append(parts, "--output html=report.html"), " ")
}

// quoted quotes a string for a POSIX shell, if it is necessary.
func quoted(text string) string {
	safe := func(r rune) bool {
		return r < 'z'+1 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
