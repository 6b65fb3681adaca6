package console

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console/session"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/look"
)

const (
	themeCookie = "scimwright_theme"
	flashCookie = "scimwright_done"
	// headerFragment selects a part of a page, so that the script can replace it.
	headerFragment = "X-Fragment"
)

// view is the data of a template.
type view struct {
	Title string
	Theme string // light, dark or auto
	Path  string // with the query
	Flash *flash
	User  *visitor // nil without a login
	Links []Link   // of the navigation, those that the caller may open
	Now   time.Time
	D     any
}

// visitor is the caller as templates use it.
type visitor struct {
	Name, CSRF string
	may        func(access string) bool
}

// May reports whether the caller has a permission.
func (v *visitor) May(access string) bool { return v != nil && v.may(access) }

// flash is the result of an action that the next page shows.
type flash struct {
	Text string `json:"t"`
	Bad  bool   `json:"b,omitempty"`
	Curl string `json:"c,omitempty"`
}

// definePages sets the templates of the pages, which are parsed when a page is shown for the first time.
func (c *console) definePages() error {
	style, err := c.assetPath("assets/console.css")
	if err != nil {
		return err
	}
	script, err := c.assetPath("assets/console.js")
	if err != nil {
		return err
	}
	c.funcs = template.FuncMap{
		"style": func() string { return style }, "script": func() string { return script },
		"base": func() string { return c.o.Base }, "product": func() string { return c.o.Product },
		"mounted":  func(path string) bool { return c.mounted[path] },
		"connects": func(user *visitor) bool { return c.mounted[connectPath] && user.May(engine.AccessApps) },
		"clock":    clock, "ago": ago, "until": until, "iso": iso, "pill": pillOf, "httpPill": httpPill, "plural": plural, "json": look.Indent,
		"num":     num,
		"segment": url.PathEscape, "query": url.QueryEscape, "dict": dict, "lower": strings.ToLower, "duration": duration, "isURL": isURL,
		"action": c.describe, "buttonOf": c.button, "states": states, "hasValue": hasValue, "counted": counted, "parsed": parsed,
		"outcome": look.Outcome,
	}
	for _, name := range pageNames {
		// Most processes show few pages or none, and the templates of all pages take 2.5 MB.
		c.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			t, err := c.frameTemplate()
			if err != nil {
				return nil, err
			}
			return t.ParseFS(pageFiles, "pages/"+name+".html")
		})
	}
	return nil
}

// frameTemplate returns the templates that all pages have: the layout, the parts and the components.
func (c *console) frameTemplate() (*template.Template, error) {
	t, err := template.New("layout.html").Funcs(c.funcs).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	if _, err := look.Define(t); err != nil {
		return nil, err
	}
	return t, nil
}

// render executes a template of a page.
func (c *console) render(w io.Writer, page, template string, data any) error {
	t, err := c.pages[page]()
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, template, data)
}

// write renders the page before it writes the response, so that a failing template never sends a partial page.
func (c *console) write(w http.ResponseWriter, r *http.Request, v *Visit, status int, page, title string, data any) {
	out := view{Title: title, Theme: "auto", Path: r.URL.RequestURI(), Now: c.o.Now(), D: data}
	if r.Method != http.MethodGet {
		out.Path = c.o.Base + "/"
	}
	if t, err := r.Cookie(themeCookie); err == nil && (t.Value == "light" || t.Value == "dark") {
		out.Theme = t.Value
	}
	if v != nil {
		out.User = &visitor{Name: v.caller.Name, CSRF: v.session.CSRF, may: v.caller.May}
		out.Links = c.linksFor(r, v)
	}
	if f, err := r.Cookie(flashCookie); err == nil && v != nil && r.Header.Get(headerFragment) == "" {
		out.Flash = readFlash(v, f.Value)
		http.SetCookie(w, &http.Cookie{
			Name: flashCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.secure,
		})
	}
	name := "layout.html"
	if part := r.Header.Get(headerFragment); part == "content" && status == http.StatusOK {
		name = part
	}
	var body bytes.Buffer
	if err := c.render(&body, page, name, out); err != nil {
		c.log.ErrorContext(r.Context(), "console page", "page", page, "error", err)
		http.Error(w, "this page cannot be shown; the log has the cause", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = body.WriteTo(w)
	}
}

// maxFlash is the maximum length of the command line of a flash, so that the cookie is not too large.
const maxFlash = 1500

// done redirects to a path, where the page shows a text.
func (c *console) done(w http.ResponseWriter, r *http.Request, v *Visit, to string, f flash) {
	if len(f.Curl) > maxFlash {
		f.Curl = ""
	}
	if len(f.Text) > maxFlash {
		f.Text = strings.ToValidUTF8(f.Text[:maxFlash], "") + "..."
	}
	data, err := json.Marshal(f)
	if err == nil {
		http.SetCookie(w, &http.Cookie{
			Name: flashCookie, Value: base64.RawURLEncoding.EncodeToString(data) + "." + signature(v, data), Path: "/", MaxAge: 60, HttpOnly: true,
			SameSite: http.SameSiteLaxMode, Secure: v.secure,
		})
	}
	http.Redirect(w, r, c.local(to), http.StatusSeeOther)
}

// signature returns the signature of a flash for a session. Cookies do not distinguish ports, so another server of this machine could
// otherwise show its texts and command lines.
func signature(v *Visit, data []byte) string {
	h := hmac.New(sha256.New, []byte("flash "+v.session.CSRF))
	h.Write(data)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func readFlash(v *Visit, value string) *flash {
	text, signed, _ := strings.Cut(value, ".")
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !session.Equal(signed, signature(v, data)) {
		return nil
	}
	var f flash
	if json.Unmarshal(data, &f) != nil || f.Text == "" {
		return nil
	}
	return &f
}

// assetPath returns the path of an asset with a checksum of its content, so that browsers can cache it indefinitely.
func (c *console) assetPath(file string) (string, error) {
	data, err := asset(file)
	if err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	sum := sha256.Sum256(data)
	ext := path.Ext(file)
	return c.o.Base + "/" + strings.TrimSuffix(file, ext) + "." + hex.EncodeToString(sum[:6]) + ext, nil
}

// pill is a status with its color, sign and word.
type pill = look.Pill

// tones are the tones and words of statuses of principals, lanes, plans, imports and outcomes.
var tones = map[string]struct{ tone, word string }{
	"clean": {"good", "in sync"}, "running": {"good", "running"}, "done": {"good", "done"}, "applied": {"good", "applied"},
	"active": {"good", "active"}, "works": {"good", "works"}, "linked": {"good", "linked"}, "equal": {"good", "equal"},
	"alive": {"good", "alive"},

	"dirty": {"wait", "waiting"}, "waiting": {"wait", "waiting for others"}, "retrying": {"warn", "retrying"},
	"pending": {"wait", "accepted (202)"}, "making": {"wait", "being made"}, "partial": {"wait", "partly applied"},
	"open": {"wait", "open"}, "matched": {"wait", "matched"}, "accepted": {"wait", "accepted"},
	"pause": {"warn", "paused by the target"}, "breaker": {"warn", "paused after failures"},
	"maintenance": {"wait", "maintenance"}, "transient": {"warn", "temporary failure"}, "throttled": {"warn", "rate limited"},
	"ambiguous": {"warn", "ambiguous"}, "halted": {"warn", "halted"}, "stopped": {"warn", "stopped"},

	"failed": {"bad", "failed"}, "quarantine": {"bad", "credentials rejected"}, "rejected": {"bad", "rejected"},
	"denied": {"bad", "denied"}, "refused": {"bad", "rejected"}, "lost": {"bad", "lost"}, "differs": {"bad", "differs"},
	"held": {"warn", "held"}, "missing": {"bad", "missing"},

	"skipped": {"quiet", "skipped"}, "dismissed": {"quiet", "dismissed"}, "paused": {"quiet", "not active"},
	"unknown-app": {"quiet", "not connected"}, "unknown": {"quiet", "unknown"}, "absent": {"quiet", "absent"},
	"ACTIVE": {"good", "active"}, "SUCCESS": {"good", "success"}, "SYNCHRONIZED": {"good", "in sync"},
	"ENROLLED": {"good", "enrolled"}, "STAGED": {"wait", "staged"}, "PROVISIONED": {"wait", "provisioned"},
	"PENDING_ACTIVATION": {"wait", "pending activation"}, "SYNCING": {"wait", "being provisioned"},
	"OUT_OF_SYNC": {"wait", "waiting"}, "RECOVERY": {"warn", "recovery"}, "LOCKED_OUT": {"warn", "locked out"},
	"PASSWORD_EXPIRED": {"warn", "password expired"}, "SUSPENDED": {"warn", "suspended"}, "FAILURE": {"bad", "failure"},
	"ERROR": {"bad", "failed"}, "DEPROVISIONED": {"quiet", "deprovisioned"}, "INACTIVE": {"quiet", "not active"},
	"EXPIRED": {"quiet", "expired"}, "DISABLED": {"quiet", "not provisioned"},

	"inactive": {"quiet", "inactive"}, "stranger": {"quiet", "unmanaged account"},
}

// pillOf returns the pill of a status.
func pillOf(status any) pill {
	word := fmt.Sprint(status)
	if t, ok := tones[word]; ok {
		return look.NewPill(t.tone, t.word)
	}
	return look.NewPill("quiet", word)
}

// httpPill returns the pill of a status of HTTP, 0 for no response.
func httpPill(status int) pill {
	p := pill{Tone: "bad", Word: fmt.Sprint(status)}
	switch {
	case status == 0:
		p.Word = "no response"
	case status < 300:
		p.Tone = "good"
	case status == http.StatusNotFound:
		p.Tone = "quiet"
	case status == http.StatusTooManyRequests, status >= 500:
		p.Tone = "warn"
	}
	return look.NewPill(p.Tone, p.Word)
}

// Clock returns a time as pages show it, empty for none.
func Clock(t time.Time) string { return clock(t) }

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// ago returns the time between two times in words: "3 min ago".
func ago(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	if d < 2*time.Second {
		return "now"
	}
	return span(d) + " ago"
}

// until returns the time that is left: "in 3 min".
func until(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if !t.After(now) {
		return "now"
	}
	return "in " + span(t.Sub(now))
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return num(n) + " " + stem + "ies"
	}
	return num(n) + " " + noun + "s"
}

// num returns a number with separators.
func num(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// dict returns a map of alternating names and values, the parameters of a part.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// states returns the statuses of principals in the order of the filter.
func states() []engine.Status {
	return []engine.Status{
		engine.StatusFailed, engine.StatusHeld, engine.StatusRetrying, engine.StatusDirty, engine.StatusWaiting, engine.StatusPending,
		engine.StatusClean, engine.StatusSkipped, engine.StatusDismissed,
	}
}

// hasValue reports whether a field of a form has a value.
func hasValue(values url.Values, name, value string) bool {
	return slices.Contains(values[name], value)
}

// counted returns the number of principals with a status.
func counted(counts map[engine.Status]int, status string) int { return counts[engine.Status(status)] }

// isURL reports whether a text is an address that a browser can open.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// parsed returns the time that a text of the API stands for, zero if it stands for none.
func parsed(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
