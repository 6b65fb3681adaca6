package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/console/session"
)

// Visit is a request with its session.
type Visit struct {
	client
	remote  string
	agent   string // User-Agent of the browser
	cookie  string
	session session.Session
	caller  Caller
}

// cookieName returns the name of the session cookie. The port is part of the name, because cookies do not distinguish ports, and a sandbox
// and a daemon may run on one machine.
func (c *console) cookieName(r *http.Request, secure bool) string {
	name := "scimwright"
	if _, port, err := net.SplitHostPort(r.Host); err == nil && strings.Trim(port, "0123456789") == "" {
		name += "_" + port
	}
	if secure {
		return "__Host-" + name
	}
	return name
}

func (c *console) setCookie(w http.ResponseWriter, r *http.Request, from client, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(r, from.secure), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: from.secure,
	})
}

// identify returns the session of a request. Without one, it returns session.ErrNone.
func (c *console) identify(w http.ResponseWriter, r *http.Request, from client) (*Visit, error) {
	v := &Visit{client: from, remote: r.RemoteAddr, agent: r.UserAgent()}
	cookie, err := r.Cookie(c.cookieName(r, from.secure))
	if err == nil && cookie.Value != "" {
		v.cookie = cookie.Value
		v.session, err = c.o.Sessions.Get(r.Context(), from.host, v.cookie)
	} else {
		err = session.ErrNone
	}
	if errors.Is(err, session.ErrNone) && c.o.Open && from.local {
		v.cookie, v.session, err = c.openSession(r.Context(), from.host)
		if err == nil {
			c.setCookie(w, r, from, v.cookie, int(session.Lifetime.Seconds()))
		}
	}
	if err != nil {
		return nil, err
	}
	v.caller, err = c.o.Host.Caller(r.Context(), v.session.Credential)
	if errors.Is(err, ErrNoCaller) { // the credential was revoked since the login
		_ = c.o.Sessions.Delete(r.Context(), v.cookie)
		return nil, session.ErrNone
	}
	return v, err
}

// openSession returns the session of callers without a login, one per host name, and creates it if necessary.
func (c *console) openSession(ctx context.Context, host string) (cookie string, s session.Session, err error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if cookie = c.opened[host]; cookie != "" {
		if s, err = c.o.Sessions.Get(ctx, host, cookie); !errors.Is(err, session.ErrNone) {
			return cookie, s, err
		}
	}
	credential, err := c.o.Host.Grant(ctx)
	if err != nil {
		return "", s, err
	}
	if cookie, err = c.o.Sessions.Create(ctx, host, credential, true); err != nil {
		return "", s, err
	}
	c.opened[host] = cookie
	s, err = c.o.Sessions.Get(ctx, host, cookie)
	return cookie, s, err
}

// LoginPath returns the path with a new one-time code that logs in the first caller who opens it.
func (c *console) LoginPath(ctx context.Context) (string, error) {
	code, err := c.o.Sessions.NewCode(ctx)
	if err != nil {
		return "", err
	}
	return c.o.Base + "/login?code=" + url.QueryEscape(code), nil
}

// LoginPage is the page with the form for a token.
type LoginPage struct {
	Problem string
	Next    string // path of the page that requires the login
	Scheme  string
	Open    bool
}

func (c *console) loginForm(w http.ResponseWriter, r *http.Request, from client) {
	next := c.local(r.URL.Query().Get("next"))
	code := r.URL.Query().Get("code")
	if code == "" {
		c.showLogin(w, r, from, http.StatusOK, LoginPage{Next: next})
		return
	}
	valid, err := c.o.Sessions.UseCode(r.Context(), code)
	if err != nil {
		c.broken(w, r, nil, err)
		return
	}
	if !valid {
		c.showLogin(w, r, from, http.StatusForbidden, LoginPage{Next: next,
			Problem: "This login link was used before or has expired. A link is valid once, within an hour."})
		return
	}
	credential, err := c.o.Host.Grant(r.Context())
	if err != nil {
		c.broken(w, r, nil, err)
		return
	}
	c.begin(w, r, from, credential, true, next)
}

func (c *console) login(w http.ResponseWriter, r *http.Request, from client) {
	next := c.local(r.PostFormValue("next"))
	token := strings.TrimSpace(r.PostFormValue("token"))
	_, err := c.enter(r.Context(), token)
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "60")
		c.showLogin(w, r, from, http.StatusTooManyRequests, LoginPage{Next: next, Problem: tooManyLogins})
	case errors.Is(err, ErrNoCaller):
		c.showLogin(w, r, from, http.StatusForbidden, LoginPage{Next: next,
			Problem: "This token gives no access to the engine. Check that it is complete and not revoked."})
	case err != nil:
		c.broken(w, r, nil, err)
	default:
		c.begin(w, r, from, token, false, next)
	}
}

// errTooMany is returned instead of the caller after too many failed logins.
var errTooMany = errors.New("console: too many failed logins")

const tooManyLogins = "There were too many failed logins. Wait a minute."

// enter returns the caller of a token that a login presents. The error is errTooMany, or ErrNoCaller, which counts as a failed login.
func (c *console) enter(ctx context.Context, token string) (Caller, error) {
	if !c.failures.allow(c.o.Now()) {
		return Caller{}, errTooMany
	}
	caller, err := c.o.Host.Caller(ctx, strings.TrimSpace(token))
	if token == "" || errors.Is(err, ErrNoCaller) {
		c.failures.add(c.o.Now())
		return Caller{}, ErrNoCaller
	}
	return caller, err
}

// begin creates a new session, whatever cookie the browser has: a cookie that another party has set never becomes a session.
func (c *console) begin(w http.ResponseWriter, r *http.Request, from client, credential string, granted bool, next string) {
	cookie, err := c.o.Sessions.Create(r.Context(), from.host, credential, granted)
	if err != nil {
		c.broken(w, r, nil, err)
		return
	}
	c.setCookie(w, r, from, cookie, int(session.Lifetime.Seconds()))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (c *console) logout(w http.ResponseWriter, r *http.Request, v *Visit) {
	if v.session.Granted {
		if err := c.o.Host.Revoke(r.Context(), v.session.Credential); err != nil {
			c.broken(w, r, v, err)
			return
		}
	}
	if err := c.o.Sessions.Delete(r.Context(), v.cookie); err != nil {
		c.broken(w, r, v, err)
		return
	}
	c.setCookie(w, r, v.client, "", -1)
	http.Redirect(w, r, c.o.Base+"/login", http.StatusSeeOther)
}

func (c *console) showLogin(w http.ResponseWriter, r *http.Request, _ client, status int, p LoginPage) {
	p.Scheme, p.Open = c.o.Scheme, c.o.Open
	c.write(w, r, nil, status, "login", "Log in", p)
}

// local returns a path of the console, and the path of the overview for everything else, so that a link cannot redirect to another site.
func (c *console) local(path string) string {
	if !strings.HasPrefix(path, c.o.Base+"/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return c.o.Base + "/"
	}
	if u, err := url.Parse(path); err != nil || u.Host != "" || u.Scheme != "" {
		return c.o.Base + "/"
	}
	return path
}

// maxFailures is the maximum number of failed logins per minute, of all callers.
const maxFailures = 30

// failures counts failed logins.
type failures struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

func (f *failures) allow(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return now.Sub(f.since) >= time.Minute || f.n < maxFailures
}

func (f *failures) add(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.since) >= time.Minute {
		f.since, f.n = now, 0
	}
	f.n++
}

// maxForm is the maximum size of a form in bytes.
const maxForm = 64 << 10

// sameOrigin reports whether a page of this console has sent a form. A browser sends Origin or Sec-Fetch-Site with a POST;
// without both, a form of another site cannot be told apart, and is rejected.
func (c *console) sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" {
		return r.Header.Get("Sec-Fetch-Site") == "same-origin"
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := r.Host
	if c.trusts(r.RemoteAddr) {
		if forwarded := lastValue(r.Header, "X-Forwarded-Host"); forwarded != "" {
			host = forwarded
		}
	}
	return strings.EqualFold(u.Host, host)
}
