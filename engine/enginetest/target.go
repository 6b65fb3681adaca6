package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/patch"
	"github.com/scimwright/scimwright/scim/schema"
)

// Target is a fake SCIM target, an http.Handler for the root of a test server. Set its options before use.
type Target struct {
	Token  string // required as bearer token; empty: not checked
	ETags  bool   // send entity tags and check If-Match
	Unique bool   // reject a duplicate userName (users) or displayName (groups) with 409
	// Seen is called with each request before the target processes it, in the order of arrival. Default: no call.
	Seen func(method, path string, body []byte)
	// Ignores names attributes that the target removes from every write.
	Ignores []string
	// ListsWithout names attributes that lists omit.
	ListsWithout []string
	// PageLimit is the maximum number of resources per page. Zero means no limit.
	PageLimit int
	// Config is the response of the ServiceProviderConfig endpoint. Nil means 404.
	Config *scim.Object

	mu       sync.Mutex
	seq      int
	kinds    map[string]*kind
	faults   []*Fault
	requests []string
	accepted []job // changes with a 202 response that are not applied yet
	txn      int
	reserved string // id of the next added resource; empty: the next free id
}

type kind struct {
	rt   *schema.ResourceType
	name string // unique attribute
	ids  []string
	all  map[string]*scim.Resource
	rev  map[string]int
	last *kind // copy of this kind before the last change, for Fault.Stale
}

// save copies k to k.last. It is called before each change.
func (k *kind) save() {
	before := *k
	before.ids, before.all, before.last = slices.Clone(k.ids), maps.Clone(k.all), nil
	k.last = &before
}

// NewTarget returns an empty target.
func NewTarget() *Target {
	t := &Target{Unique: true, kinds: map[string]*kind{}}
	t.kinds["Users"] = &kind{rt: schema.UserType(), name: "userName", all: map[string]*scim.Resource{}, rev: map[string]int{}}
	t.kinds["Groups"] = &kind{rt: schema.GroupType(), name: "displayName", all: map[string]*scim.Resource{}, rev: map[string]int{}}
	return t
}

// Requests returns the requests since the last call as "METHOD path".
func (t *Target) Requests() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.requests
	t.requests = nil
	return out
}

// Users returns copies of all users, in the order of their creation.
func (t *Target) Users() []*scim.Resource { return t.list("Users") }

// Groups returns copies of all groups, in the order of their creation.
func (t *Target) Groups() []*scim.Resource { return t.list("Groups") }

func (t *Target) list(name string) []*scim.Resource {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[name]
	out := make([]*scim.Resource, len(k.ids))
	for i, id := range k.ids {
		out[i] = k.all[id].Clone()
	}
	return out
}

// Add creates a resource without a request of the engine and returns its id. endpoint is "Users" or "Groups".
func (t *Target) Add(endpoint string, r *scim.Resource) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(t.kinds[endpoint], r.Clone()).ID()
}

// Replace replaces an existing resource without a request of the engine.
func (t *Target) Replace(endpoint string, r *scim.Resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[endpoint]
	k.save()
	k.all[r.ID()] = r.Clone()
	k.rev[r.ID()]++
}

// Remove deletes a resource without a request of the engine.
func (t *Target) Remove(endpoint, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kinds[endpoint].remove(id)
}

func (t *Target) nextID(k *kind) string {
	t.seq++
	return strings.ToLower(k.rt.Name[:1]) + strconv.Itoa(t.seq)
}

func (t *Target) add(k *kind, r *scim.Resource) *scim.Resource {
	if r.SetID(t.reserved); t.reserved == "" {
		r.SetID(t.nextID(k))
	}
	k.ids = append(k.ids, r.ID())
	k.all[r.ID()] = r
	return r
}

func (k *kind) remove(id string) {
	k.save()
	delete(k.all, id)
	k.ids = slices.DeleteFunc(k.ids, func(other string) bool { return other == id })
}

// ServeHTTP implements http.Handler.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RequestURI()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	t.mu.Lock()
	t.requests = append(t.requests, r.Method+" "+path)
	if t.Seen != nil {
		t.Seen(r.Method, path, body)
	}
	f := t.fault(r, path)
	var a response
	switch {
	case f.Accept:
		a = t.accept(r, body, f)
	case f.Status == 0 && !f.HTML && f.Hang == nil && !f.Drop:
		if f.Repeat {
			q := r.URL.Query()
			q.Set("startIndex", "1")
			r.URL.RawQuery = q.Encode()
		}
		t.read(r)
		a = t.handle(r, body, f.Stale)
	}
	t.mu.Unlock()

	switch {
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		a = response{status: f.Status, body: scim.Errorf(f.Status, "", "injected %d", f.Status)}
	case f.HTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>The service is down for maintenance</body></html>")
		return
	case f.Hang != nil:
		select {
		case <-f.Hang:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case f.Drop, f.DropAfter:
		panic(http.ErrAbortHandler)
	case f.Empty:
		a.body = nil
	case f.Twice:
		if list, ok := a.body.(scim.ListResponse); ok {
			list.Resources = slices.Concat(list.Resources, list.Resources)
			a.body = list
		}
	}
	a.write(w, f.Truncate)
}

// job is a change that was accepted with 202.
type job struct {
	do    func()
	after int // number of reads until the change is applied; 0: only CarryOut applies the change
}

// read counts a read for each accepted change, and applies the changes with no reads remaining.
func (t *Target) read(r *http.Request) {
	if r.Method != http.MethodGet {
		return
	}
	var left []job
	for _, j := range t.accepted {
		if j.after--; j.after == 0 {
			j.do()
			continue
		}
		left = append(left, j)
	}
	t.accepted = left
}

// accept stores a request for CarryOut and returns the 202 response.
func (t *Target) accept(r *http.Request, body []byte, f Fault) response {
	t.txn++
	a := response{status: http.StatusAccepted, txn: "t" + strconv.Itoa(t.txn)}
	id := ""
	if endpoint := strings.TrimPrefix(r.URL.Path, "/"); f.Locate && r.Method == http.MethodPost && t.kinds[endpoint] != nil {
		id = t.nextID(t.kinds[endpoint])
		a.location = "http://" + r.Host + "/" + endpoint + "/" + id
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	do := func() {
		t.reserved = id
		t.handle(again, body, false)
		t.reserved = ""
	}
	t.accepted = append(t.accepted, job{do, f.After})
	return a
}

// CarryOut applies the changes that were accepted with 202, in order, and returns their number. It discards errors.
func (t *Target) CarryOut() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	jobs := t.accepted
	t.accepted = nil
	for _, job := range jobs {
		job.do()
	}
	return len(jobs)
}

// Forget discards the changes that were accepted with 202 and are not applied yet.
func (t *Target) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepted = nil
}

type response struct {
	status        int
	etag          string
	body          any
	txn, location string
}

func reject(status int, kind scim.Type, format string, args ...any) response {
	return response{status: status, body: scim.Errorf(status, kind, format, args...)}
}

func (a response) write(w http.ResponseWriter, truncate bool) {
	var data []byte
	if a.body != nil {
		data, _ = json.Marshal(a.body)
		w.Header().Set("Content-Type", scim.MediaType)
	}
	for name, value := range map[string]string{"ETag": a.etag, "Set-Txn": a.txn, "Location": a.location} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	if truncate {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
		data = data[:len(data)/2]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(data)
	if truncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (t *Target) handle(r *http.Request, body []byte, stale bool) response {
	if t.Token != "" && r.Header.Get("Authorization") != "Bearer "+t.Token {
		return reject(http.StatusUnauthorized, "", "the token is not valid")
	}
	endpoint, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	k := t.kinds[endpoint]
	if endpoint == "ServiceProviderConfig" && t.Config != nil {
		return response{status: http.StatusOK, body: t.Config}
	}
	if k == nil {
		return reject(http.StatusNotFound, "", "no such endpoint")
	}
	if id == "" {
		return t.collection(r, k, body)
	}
	have := k.all[id]
	if have == nil {
		return reject(http.StatusNotFound, "", "%s %s not found", k.rt.Name, id)
	}
	if match := r.Header.Get("If-Match"); t.ETags && match != "" && match != k.etag(id) {
		return reject(http.StatusPreconditionFailed, "", "the resource was changed")
	}
	if stale && r.Method == http.MethodGet && k.last != nil && k.last.all[id] != nil {
		have = k.last.all[id]
	}
	var err error
	next := have
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		k.remove(id)
		return response{status: http.StatusNoContent}
	case http.MethodPut:
		if next, err = scim.DecodeResource(body); err == nil {
			next.SetID(id)
		}
	case http.MethodPatch:
		next, err = t.patched(k, have, body)
	default:
		return reject(http.StatusMethodNotAllowed, "", "method %s is not supported", r.Method)
	}
	if err != nil {
		return failed(err)
	}
	if r.Method != http.MethodGet {
		if other := t.taken(k, next.Text(k.name)); t.Unique && other != "" && other != id {
			return reject(http.StatusConflict, scim.Uniqueness, "%s is not unique", k.name)
		}
		t.ignore(next)
		k.save()
		k.all[id] = next
		k.rev[id]++
	}
	return t.resource(k, http.StatusOK, next)
}

func (t *Target) patched(k *kind, have *scim.Resource, body []byte) (*scim.Resource, error) {
	o, err := scim.Decode(body)
	if err != nil {
		return nil, err
	}
	req, err := scim.ParsePatchRequest(o)
	if err != nil {
		return nil, err
	}
	next, _, err := patch.Apply(have, req, k.rt, patch.Options{Accept: lenient.All})
	return next, err
}

func failed(err error) response {
	if e, ok := errors.AsType[*scim.Error](err); ok {
		return response{status: e.Status, body: e}
	}
	return reject(http.StatusBadRequest, scim.InvalidSyntax, "%v", err)
}

func (t *Target) collection(r *http.Request, k *kind, body []byte) response {
	switch r.Method {
	case http.MethodGet:
		return t.search(r, k)
	case http.MethodPost:
		next, err := scim.DecodeResource(body)
		if err != nil {
			return failed(err)
		}
		if t.Unique && t.taken(k, next.Text(k.name)) != "" {
			return reject(http.StatusConflict, scim.Uniqueness, "%s is not unique", k.name)
		}
		t.ignore(next)
		k.save()
		return t.resource(k, http.StatusCreated, t.add(k, next))
	default:
		return reject(http.StatusMethodNotAllowed, "", "method %s is not supported", r.Method)
	}
}

func (t *Target) ignore(r *scim.Resource) {
	for _, name := range t.Ignores {
		r.Delete(name)
	}
}

func (t *Target) taken(k *kind, name string) string {
	for _, id := range k.ids {
		if strings.EqualFold(k.all[id].Text(k.name), name) {
			return id
		}
	}
	return ""
}

func (t *Target) search(r *http.Request, k *kind) response {
	list := scim.ListResponse{StartIndex: 1, Resources: []*scim.Resource{}}
	var match filter.Expr
	if text := r.URL.Query().Get("filter"); text != "" {
		var err error
		if match, err = filter.Parse(text); err != nil {
			return failed(err)
		}
	}
	for _, id := range k.ids {
		if match == nil || filter.Eval(match, k.all[id], k.rt) {
			list.Resources = append(list.Resources, t.listed(k.all[id]))
		}
	}
	list.TotalResults, list.ItemsPerPage = len(list.Resources), len(list.Resources)
	if count, err := strconv.Atoi(r.URL.Query().Get("count")); err == nil {
		start, _ := strconv.Atoi(r.URL.Query().Get("startIndex"))
		t.page(&list, start, count)
	}
	return response{status: http.StatusOK, body: list}
}

// listed returns a resource in the form in which lists contain it.
func (t *Target) listed(r *scim.Resource) *scim.Resource {
	if len(t.ListsWithout) == 0 {
		return r
	}
	shown := r.Clone()
	for _, name := range t.ListsWithout {
		shown.Delete(name)
	}
	return shown
}

// Change edits a resource without a request of the engine.
func (t *Target) Change(endpoint, id string, edit func(*scim.Resource)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[endpoint]
	k.save()
	next := k.all[id].Clone()
	edit(next)
	k.all[id] = next
	k.rev[id]++
}

// page selects a page of a list (RFC 7644 section 3.4.2.4), of at most PageLimit resources.
func (t *Target) page(list *scim.ListResponse, start, count int) {
	if t.PageLimit > 0 {
		count = min(count, t.PageLimit)
	}
	list.StartIndex = max(start, 1)
	from := min(list.StartIndex-1, len(list.Resources))
	list.Resources = list.Resources[from:min(from+max(count, 0), len(list.Resources))]
	list.ItemsPerPage = len(list.Resources)
}

func (t *Target) resource(k *kind, status int, r *scim.Resource) response {
	shown := r.Clone()
	shown.Delete("password")
	a := response{status: status, body: shown}
	if t.ETags {
		a.etag = k.etag(r.ID())
	}
	return a
}

func (k *kind) etag(id string) string { return fmt.Sprintf(`W/"%d"`, k.rev[id]) }
