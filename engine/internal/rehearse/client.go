package rehearse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Target sends read requests. *connect.Client implements it.
type Target interface {
	Do(ctx context.Context, r plan.Request) plan.Response
}

// Options configures a Client. The zero value works.
type Options struct {
	// Secrets are values that are removed from the recorded requests. Passwords and other members with secret names are removed in any case.
	Secrets []string
	// Redact removes the secrets of the connection from a string that quotes the target. Default: nothing is removed.
	Redact func(string) string
	// MaxBody is the maximum number of recorded bytes of a body. Default: no limit.
	MaxBody int
}

// Request is one recorded request and its response, without secrets.
type Request struct {
	Method    string
	Path      string // relative to the target's base URL, with the query
	IfMatch   string // entity tag, empty if absent
	Body      string // JSON, empty if absent
	Pretended bool   // simulated: not sent to the target
	Status    int    // of the response, 0 if none was received
	Answer    string // body of the response
	Error     string // why no complete response was received, otherwise empty
}

// Change is one resource with a simulated write.
type Change struct {
	Endpoint string // Users or Groups
	ID       string // generated if the resource was created
	// Before is the resource as read, nil if it was created. After is the simulated resource, nil if it was deleted.
	Before, After *scim.Resource
}

// Client simulates writes. It is used by one goroutine at a time.
type Client struct {
	target Target
	o      Options
	redact *wirelog.Redactor

	requests  []Request
	resources map[key]*resource
	written   []key // changed resources, in the order of their first write
	generated int   // number of generated ids and entity tags
}

type key struct{ endpoint, id string }

// resource is a resource as last read from the target, and as changed by simulated writes.
type resource struct {
	before, now *scim.Resource // nil: the resource does not exist
	etag        string
	simulated   bool // a simulated write has changed the resource
}

// New returns a client that forwards reads to a target.
func New(target Target, o Options) *Client {
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	return &Client{target: target, o: o, redact: wirelog.NewRedactor(o.Secrets...), resources: map[key]*resource{}}
}

// Requests returns the recorded requests, in order.
func (c *Client) Requests() []Request { return c.requests }

// Changes returns the simulated writes, in the order of the first write of each resource.
func (c *Client) Changes() []Change {
	out := make([]Change, len(c.written))
	for i, k := range c.written {
		r := c.resources[k]
		out[i] = Change{Endpoint: k.endpoint, ID: k.id, Before: r.before, After: r.now}
	}
	return out
}

// Do responds to a request and records it: 201 for a POST, 200 for PUT and PATCH, 204 for DELETE, with the simulated resource. Before the
// first change of a resource that was not read yet, Do reads the resource, without recording the read. If the target does not return the
// resource, the response to the change is the response to that read.
func (c *Client) Do(ctx context.Context, r plan.Request) plan.Response {
	answer, pretended := c.answer(ctx, r)
	c.record(r, answer, pretended)
	return answer
}

func (c *Client) answer(ctx context.Context, r plan.Request) (answer plan.Response, pretended bool) {
	k, query, err := split(r.Path)
	single := err == nil && k.id != ""
	switch {
	case r.Method == http.MethodGet && single:
		return c.read(ctx, r, k)
	case r.Method == http.MethodGet && err == nil:
		return c.list(ctx, r, k.endpoint, query)
	case r.Method == http.MethodPost && err == nil && !single && r.Body != nil:
		return c.create(k.endpoint, r.Body), true
	case r.Method == http.MethodPut && single && r.Body != nil:
		return c.change(ctx, k, func(*scim.Resource) (*scim.Resource, error) { return &scim.Resource{Object: *r.Body.Clone()}, nil }), true
	case r.Method == http.MethodPatch && single && r.Body != nil:
		return c.change(ctx, k, func(have *scim.Resource) (*scim.Resource, error) { return patched(have, r.Body, typeOf(k.endpoint)) }), true
	case r.Method == http.MethodDelete && single:
		return c.remove(ctx, k), true
	default:
		return errorResponse(scim.Errorf(http.StatusNotImplemented, "", "%s %s cannot be simulated", r.Method, r.Path)), true
	}
}

// split parses a path: /Users/7 or /Users?filter=…
func split(path string) (k key, query url.Values, err error) {
	u, err := url.Parse(path)
	if err != nil {
		return key{}, nil, err
	}
	var id string
	k.endpoint, id, _ = strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if k.id, err = url.PathUnescape(id); err == nil {
		query, err = url.ParseQuery(u.RawQuery)
	}
	return k, query, err
}

func typeOf(endpoint string) *schema.ResourceType {
	if endpoint == "Groups" {
		return schema.GroupType()
	}
	return schema.UserType()
}

func (c *Client) read(ctx context.Context, r plan.Request, k key) (plan.Response, bool) {
	if have := c.resources[k]; have != nil && have.simulated {
		return have.shown(http.StatusOK), true
	}
	answer := c.target.Do(ctx, r)
	c.note(k, answer)
	return answer, false
}

// note stores a resource that was read.
func (c *Client) note(k key, answer plan.Response) {
	if answer.Err != nil || answer.Status != http.StatusOK || answer.Body == nil {
		return
	}
	read := &scim.Resource{Object: *answer.Body}
	if read.HasSchema(scim.ErrorMessage) {
		return
	}
	etag := answer.ETag
	if etag == "" {
		etag = read.Meta().Version
	}
	c.resources[k] = &resource{before: read, now: read, etag: etag}
}

// shown returns the resource as a response.
func (r *resource) shown(status int) plan.Response {
	if r.now == nil {
		return errorResponse(scim.Errorf(http.StatusNotFound, "", "deleted by a simulated request"))
	}
	return plan.Response{Status: status, ETag: r.etag, Body: r.now.Object.Clone()}
}

// readForChange returns the resource to change, or the response to return if it is unavailable.
func (c *Client) readForChange(ctx context.Context, k key) (*resource, *plan.Response) {
	if c.resources[k] == nil {
		answer := c.target.Do(ctx, plan.Request{Method: http.MethodGet, Path: "/" + k.endpoint + "/" + url.PathEscape(k.id)})
		if c.note(k, answer); c.resources[k] == nil {
			if answer.Err == nil && answer.Status < http.StatusBadRequest {
				answer.Err = errors.New("the target does not return the resource to change")
			}
			return nil, &answer
		}
	}
	have := c.resources[k]
	if have.now == nil {
		gone := have.shown(0)
		return nil, &gone
	}
	return have, nil
}

func (c *Client) create(endpoint string, body *scim.Object) plan.Response {
	made := &scim.Resource{Object: *body.Clone()}
	made.Delete("password")
	made.SetID(fmt.Sprintf("pretended-%d", c.next()))
	k := key{endpoint, made.ID()}
	c.resources[k] = &resource{now: made, simulated: true}
	c.written = append(c.written, k)
	return c.resources[k].shown(http.StatusCreated)
}

func (c *Client) next() int {
	c.generated++
	return c.generated
}

func (c *Client) change(ctx context.Context, k key, edit func(*scim.Resource) (*scim.Resource, error)) plan.Response {
	have, no := c.readForChange(ctx, k)
	if no != nil {
		return *no
	}
	next, err := edit(have.now)
	if err != nil {
		return errorResponse(err)
	}
	next.Delete("password")
	next.SetID(k.id)
	c.write(k, have, next)
	return have.shown(http.StatusOK)
}

func (c *Client) remove(ctx context.Context, k key) plan.Response {
	have, no := c.readForChange(ctx, k)
	if no != nil {
		return *no
	}
	c.write(k, have, nil)
	return plan.Response{Status: http.StatusNoContent}
}

// write stores a new version of a resource. If the target uses entity tags, write generates a new tag for the version, because an unchanged
// tag would mean that the write had no effect.
func (c *Client) write(k key, have *resource, next *scim.Resource) {
	if !have.simulated {
		c.written = append(c.written, k)
	}
	have.now, have.simulated = next, true
	if have.etag == "" || next == nil {
		return
	}
	have.etag = fmt.Sprintf(`W/"pretended-%d"`, c.next())
	if meta := next.Complex("meta"); meta.Text("version") != "" {
		meta = meta.Copy()
		meta.Set("version", have.etag)
		next.Set("meta", meta)
	}
}

// errorResponse returns an error as a response of a target.
func errorResponse(err error) plan.Response {
	e, ok := errors.AsType[*scim.Error](err)
	if !ok {
		e = scim.Errorf(http.StatusBadRequest, scim.InvalidSyntax, "%v", err)
	}
	text, _ := e.MarshalJSON() // no error is possible: the members are strings and a number
	body, _ := scim.Decode(text)
	return plan.Response{Status: e.Status, Body: body}
}

func (c *Client) record(r plan.Request, answer plan.Response, pretended bool) {
	clean := c.redact.Exchange(wirelog.Exchange{URL: r.Path, RequestBody: text(r.Body), ResponseBody: text(answer.Body)})
	out := Request{
		Method: r.Method, Path: c.o.Redact(clean.URL), IfMatch: r.IfMatch, Body: c.excerpt(clean.RequestBody),
		Pretended: pretended, Status: answer.Status, Answer: c.excerpt(clean.ResponseBody),
	}
	if answer.Err != nil {
		out.Error = c.o.Redact(c.redact.Text(answer.Err.Error()))
	}
	c.requests = append(c.requests, out)
}

func text(o *scim.Object) string {
	if o == nil {
		return ""
	}
	return string(o.AppendJSON(nil))
}

func (c *Client) excerpt(s string) string {
	s = c.o.Redact(s)
	n := c.o.MaxBody
	if n <= 0 || len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
