package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// A row is one line of the result: a kind of request.
type row struct {
	id, title string
	// prepare sends the request once, verifies its effect and returns the request for the load. An error is the reason why the target cannot
	// be measured in this row.
	prepare prepare
	// requests is the total number of requests of a row that is not limited by time, or 0.
	requests int
}

// A request sends one request of the load and checks the response briefly.
type request func(ctx context.Context, w *worker) error

// rows returns the rows in the order of their measurement. The rows about groups come last: a membership adds a value to the attribute
// groups of the user, and would change what the rows about users read.
func rows(o Options) []row {
	members := grouped(o.members())
	return []row{
		{id: "create", title: "POST a user", prepare: prepareCreate, requests: o.Users},
		{id: "get", title: "GET a user by id", prepare: withUsers(1, prepareGet)},
		{id: "userName", title: "userName eq", prepare: withUsers(1, prepareLookup)},
		{id: "page", title: "first page of 100", prepare: withUsers(page, preparePage)},
		{id: "lastPage", title: "last page of 100 by startIndex", prepare: withUsers(page, prepareLastPage)},
		{id: "patch", title: "PATCH a user", prepare: withUsers(1, preparePatch)},
		{id: "group", title: "GET a group of " + members, prepare: withUsers(page, prepareGroup)},
		{id: "members", title: "add, remove 1 of its members", prepare: withUsers(page, prepareMembers)},
	}
}

type prepare = func(ctx context.Context, s *session, w *worker) (request, error)

// withUsers returns a function that calls next if the target has at least n users, and returns an error otherwise.
func withUsers(n int, next prepare) prepare {
	return func(ctx context.Context, s *session, w *worker) (request, error) {
		if len(s.users) < n {
			return nil, fmt.Errorf("this row needs %d users, and %d were created", n, len(s.users))
		}
		return next(ctx, s, w)
	}
}

func prepareCreate(_ context.Context, s *session, _ *worker) (request, error) {
	var next atomic.Int64
	return func(ctx context.Context, w *worker) error {
		made, err := s.createUser(ctx, w, int(next.Add(1)))
		if err == nil {
			s.mu.Lock()
			s.users = append(s.users, made)
			s.mu.Unlock()
		}
		return err
	}, nil
}

// anyUser returns a user for the next request.
func (s *session) anyUser(w *worker) resource { return s.users[w.random.IntN(len(s.users))] }

func prepareGet(ctx context.Context, s *session, w *worker) (request, error) {
	user := s.users[0]
	var got struct {
		ID       string `json:"id"`
		UserName string `json:"userName"`
	}
	if err := s.get(ctx, w, user.url(), &got); err != nil {
		return nil, err
	}
	if got.ID != user.id || got.UserName != user.name {
		return nil, errors.New("the response is not the user with this id")
	}
	return func(ctx context.Context, w *worker) error {
		user := s.anyUser(w)
		return s.expect(ctx, w, user.url(), user.name)
	}, nil
}

// expect sends a GET whose response must contain a string.
func (s *session) expect(ctx context.Context, w *worker, path, contained string) error {
	if err := s.send(ctx, w, http.MethodGet, path, nil); err != nil {
		return err
	}
	if !bytes.Contains(w.body.Bytes(), []byte(contained)) {
		return errors.New("the response does not contain the requested user")
	}
	return nil
}

// A list is a list response.
type list struct {
	Total     json.Number `json:"totalResults"` // some servers write a string
	Resources []struct {
		ID string `json:"id"`
	} `json:"Resources"`
}

func byUserName(name string) string { return byName("/Users", "userName", name) }

// byName returns the path of a list of the objects with a name.
func byName(path, attribute, name string) string {
	return path + "?filter=" + url.PathEscape(attribute+` eq "`+name+`"`)
}

func prepareLookup(ctx context.Context, s *session, w *worker) (request, error) {
	user := s.users[0]
	var found list
	if err := s.get(ctx, w, byUserName(user.name), &found); err != nil {
		return nil, err
	}
	if len(found.Resources) != 1 || found.Resources[0].ID != user.id {
		return nil, fmt.Errorf("the filter must find 1 user, and the response has %d resources", len(found.Resources))
	}
	return func(ctx context.Context, w *worker) error {
		name := s.anyUser(w).name
		return s.expect(ctx, w, byUserName(name), name)
	}, nil
}

// readPage reads the page from an index and returns it with a request that repeats it.
func (s *session) readPage(ctx context.Context, w *worker, startIndex int) (list, request, error) {
	path := fmt.Sprintf("/Users?startIndex=%d&count=%d", startIndex, page)
	var first list
	if err := s.get(ctx, w, path, &first); err != nil {
		return first, nil, err
	}
	if n := len(first.Resources); n != page {
		return first, nil, fmt.Errorf("the page has %d of %d resources", n, page)
	}
	return first, s.repeat(path, w.body.Len()), nil
}

// repeat returns a GET whose response must have at least half the size of the verified one.
func (s *session) repeat(path string, size int) request {
	return func(ctx context.Context, w *worker) error {
		if err := s.send(ctx, w, http.MethodGet, path, nil); err != nil {
			return err
		}
		if w.body.Len() < size/2 {
			return errors.New("the response is less than half as long as the verified response")
		}
		return nil
	}
}

func preparePage(ctx context.Context, s *session, w *worker) (request, error) {
	_, send, err := s.readPage(ctx, w, 1)
	return send, err
}

func prepareLastPage(ctx context.Context, s *session, w *worker) (request, error) {
	first, _, err := s.readPage(ctx, w, 1)
	if err != nil {
		return nil, err
	}
	total, err := first.Total.Int64()
	if err != nil || int(total) < len(s.users) {
		return nil, fmt.Errorf("totalResults is %q, and at least %d users exist", first.Total, len(s.users))
	}
	last, send, err := s.readPage(ctx, w, int(total)-page+1)
	if err == nil && total >= 2*page && last.Resources[0].ID == first.Resources[0].ID {
		err = errors.New("the last page starts with the same user as the first page")
	}
	return send, err
}

// A change is a PATCH request.
type change struct {
	Schemas    []string    `json:"schemas"`
	Operations []operation `json:"Operations"`
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path,omitempty"`
	Value any    `json:"value,omitempty"`
}

// A value refers to a user.
type value struct {
	Value string `json:"value"`
}

type displayName struct {
	DisplayName string `json:"displayName"`
}

func (s *session) patch(ctx context.Context, w *worker, path string, op operation) error {
	body, err := json.Marshal(change{Schemas: []string{scim.PatchOpMessage}, Operations: []operation{op}})
	if err != nil {
		return err
	}
	return s.send(ctx, w, http.MethodPatch, path, body)
}

// renames are the forms of an operation that changes the displayName of a user. The first accepted one is measured.
var renames = []func(to string) operation{
	func(to string) operation { return operation{Op: scim.OpReplace, Path: "displayName", Value: to} },
	func(to string) operation { return operation{Op: scim.OpReplace, Value: displayName{to}} },
}

func preparePatch(ctx context.Context, s *session, w *worker) (request, error) {
	var failed error
	for _, rename := range renames {
		const to = "Changed Name"
		user := s.users[0]
		if failed = s.patch(ctx, w, user.url(), rename(to)); failed != nil {
			continue
		}
		var got displayName
		if failed = s.get(ctx, w, user.url(), &got); failed == nil && got.DisplayName != to {
			failed = errors.New("the user has not changed after a PATCH that succeeded")
		}
		if failed == nil {
			return func(ctx context.Context, w *worker) error {
				w.turn++
				return s.patch(ctx, w, s.anyUser(w).url(), rename(fmt.Sprintf("Changed %d %d", w.number, w.turn)))
			}, nil
		}
	}
	return nil, failed
}
