package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/scimwright/scimwright/scim"
)

// maxBody is the maximum size of a response.
const maxBody = 256 << 20

// A resource is a created object.
type resource struct{ path, id, name string }

// A session is the connection to one target and the objects that exist there.
type session struct {
	base      string
	token     string
	pid       process
	transport http.RoundTripper
	marker    string
	members   int // the size of the group
	clients   int

	users  []resource // the users of the rows
	spares []resource // one user per client, who is not a member of the group
	group  *group     // nil until a row needs it

	mu     sync.Mutex
	made   []resource // all created objects, oldest first
	unsure []resource // objects without an id, because no usable response to their creation arrived
}

func newSession(t Target, o Options, marker string) *session {
	return &session{
		base: strings.TrimRight(t.URL, "/"), token: t.Token, pid: process(t.PID), transport: t.Transport, marker: marker,
		members: o.members(), clients: o.Clients,
	}
}

// A worker is one concurrent client. Its fields belong to one goroutine.
type worker struct {
	number int
	body   bytes.Buffer // the last response
	random *rand.Rand
	turn   int // the number of its requests in the row
}

func newWorker(number int) *worker {
	return &worker{number: number, random: rand.New(rand.NewPCG(1, uint64(number)))}
}

// A statusError is a response with another status than expected.
type statusError struct {
	status int
	detail string
	after  string // Retry-After
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", e.status, http.StatusText(e.status)))
	if e.detail != "" {
		text += ": " + e.detail
	}
	return text
}

// statusOf returns the status of a response that is an error, or 0.
func statusOf(err error) int {
	if wrong, ok := errors.AsType[*statusError](err); ok {
		return wrong.status
	}
	return 0
}

// send sends a request and reads the response into the buffer of the worker. A status other than 2xx is a *statusError.
func (s *session) send(ctx context.Context, w *worker, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header["Accept"] = []string{scim.MediaType + ", application/json"}
	req.Header["User-Agent"] = []string{"scimwright-bench"}
	if len(body) > 0 {
		req.Header["Content-Type"] = []string{scim.MediaType}
	}
	if s.token != "" {
		req.Header["Authorization"] = []string{"Bearer " + s.token}
	}
	res, err := s.transport.RoundTrip(req)
	if err != nil {
		return s.transportError(ctx, err)
	}
	defer res.Body.Close()
	w.body.Reset()
	n, err := w.body.ReadFrom(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return s.transportError(ctx, err)
	case n > maxBody:
		return fmt.Errorf("the response is larger than %d MiB", maxBody>>20)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return &statusError{status: res.StatusCode, detail: s.detail(res, w.body.Bytes()), after: res.Header.Get("Retry-After")}
	}
	return nil
}

// transportError returns a short reason for a missing response.
func (s *session) transportError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no complete response within %s: %w", requestTime, context.DeadlineExceeded)
	}
	return fmt.Errorf("no response: %w", err)
}

// detail returns the reason that a response states: the location of a redirect, or the detail of a SCIM error.
func (s *session) detail(res *http.Response, body []byte) string {
	if location := res.Header.Get("Location"); res.StatusCode < 400 && location != "" {
		return s.printable("redirects are not followed: " + location)
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(body, &problem)
	return s.printable(problem.Detail)
}

// printable returns text of a server without control characters and the token, shortened to a line.
func (s *session) printable(text string) string {
	const longest = 160
	if s.token != "" {
		text = strings.ReplaceAll(text, s.token, "(token)")
	}
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
	if len(runes) > longest {
		runes = append(runes[:longest], []rune("...")...)
	}
	return strings.TrimSpace(string(runes))
}

// get reads a path and decodes the response.
func (s *session) get(ctx context.Context, w *worker, path string, into any) error {
	if err := s.send(ctx, w, http.MethodGet, path, nil); err != nil {
		return err
	}
	if err := json.Unmarshal(w.body.Bytes(), into); err != nil {
		return errors.New("the response is not the expected JSON")
	}
	return nil
}

// reach checks that the target responds to a list request and accepts the credentials. The target may reject the list itself.
func (s *session) reach(ctx context.Context) error {
	err := s.send(ctx, newWorker(0), http.MethodGet, "/Users?startIndex=1&count=1", nil)
	status := statusOf(err)
	if status >= 400 && !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, status) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("GET /Users: %w", err)
	}
	return nil
}

// create creates an object and returns it with its id. The object is removed later, also if the response has no id. An interrupt does not
// abort the request, because its object might then be created after the cleanup.
func (s *session) create(ctx context.Context, w *worker, made resource, body []byte) (resource, error) {
	err := s.send(context.WithoutCancel(ctx), w, http.MethodPost, made.path, body)
	if err == nil {
		var answer struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(w.body.Bytes(), &answer)
		made.id = answer.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case made.id != "":
		s.made = append(s.made, made)
		return made, nil
	case err == nil:
		err = errors.New("the response to a create has no id")
		s.unsure = append(s.unsure, made)
	case statusOf(err) == 0 || statusOf(err) >= 500: // the server may have created it
		s.unsure = append(s.unsure, made)
	}
	return made, err
}

// url is the path of a created object.
func (r resource) url() string { return r.path + "/" + url.PathEscape(r.id) }

// An account is a user in the body of a request. The types name and email are its attribute name and an element of its attribute emails
// (RFC 7643 section 4.1).
type account struct {
	Schemas     []string `json:"schemas"`
	UserName    string   `json:"userName"`
	ExternalID  string   `json:"externalId"`
	Name        name     `json:"name"`
	DisplayName string   `json:"displayName"`
	Emails      []email  `json:"emails"`
	Title       string   `json:"title"`
	Active      bool     `json:"active"`
}

type name struct {
	GivenName  string `json:"givenName"`
	FamilyName string `json:"familyName"`
}

type email struct {
	Value   string `json:"value"`
	Type    string `json:"type"`
	Primary bool   `json:"primary"`
}

// createUser creates user number n. Its email address equals its userName, because some servers search by email address.
func (s *session) createUser(ctx context.Context, w *worker, n int) (resource, error) {
	key := fmt.Sprintf("%s-%07d", s.marker, n)
	user := key + "@example.com"
	body, err := json.Marshal(account{
		Schemas: []string{scim.UserSchema}, UserName: user, ExternalID: key, Active: true, Title: "Engineer",
		Name: name{GivenName: "Given", FamilyName: fmt.Sprintf("Family%d", n)}, DisplayName: fmt.Sprintf("Given Family%d", n),
		Emails: []email{{Value: user, Type: "work", Primary: true}},
	})
	if err != nil {
		return resource{}, err
	}
	return s.create(ctx, w, resource{path: "/Users", name: user}, body)
}

// pause waits and reports whether the time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
