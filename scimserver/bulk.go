package scimserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/processor"
	"github.com/scimwright/scimwright/scim"
)

// bulkWindow is the maximum number of operations of a bulk request that run concurrently. A store with group commit commits their changes
// together.
const bulkWindow = 128

// sharedWindow is bulkWindow while other servers of the process have requests, too. Their requests wait for a processor after all
// operations that are ready.
const sharedWindow = 4

// yieldOperations is the number of operations after which their preparation lets other threads run.
const yieldOperations = 4

// bulkMethods are the valid methods of an operation.
var bulkMethods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// bulkJob is one bulk request (RFC 7644 section 3.7).
type bulkJob struct {
	s    *server
	base string
	ops  []*bulkOp
	byID map[string]*bulkOp // the POST operations by bulkId
	turn turn
}

// bulkOp is one operation of a bulk request.
type bulkOp struct {
	scim.BulkOperation
	err          error         // an error detected before any operation runs
	t            *resourceType // nil if the path names no resource type
	target       string        // the id in the path; it may be an unresolved reference
	refs         []string      // the bulkIds that path and data refer to
	uniqueValues []string      // the unique values that a POST sets
	exclusive    bool          // must not run concurrently with other operations
	created      string        // the id of the resource that a POST created
	result       *scim.BulkOperation
}

// bulk handles POST on /Bulk. Each operation is atomic; the request as a whole is not.
//
// The result is the same as if the operations ran one after the other in the order of the request, with two exceptions. An operation that
// refers to a resource created later in the request waits for that resource. POST operations that refer to each other in a cycle all
// succeed or all fail.
func (s *server) bulk(r *request) (*reply, error) {
	req, err := s.readBulk(r)
	if err != nil {
		return nil, err
	}
	j := &bulkJob{s: s, base: r.base, byID: map[string]*bulkOp{}}
	if j.turn, err = s.turns.enterShared(r.Context()); err != nil {
		return nil, err
	}
	defer j.turn.leave()
	for i, o := range req.Operations {
		if i%yieldOperations == 0 {
			processor.Yield()
		}
		j.ops = append(j.ops, j.prepare(o))
	}
	for _, op := range j.ops {
		op.collectRefs()
	}
	errorsLeft := -1
	if req.FailOnErrors != nil {
		// The server handles failOnErrors 0 like 1: the request stops at the first error.
		errorsLeft = max(*req.FailOnErrors, 1)
	}
	for pending := j.units(); len(pending) > 0 && errorsLeft != 0; {
		// The number of operations in a window is at most the number of further errors after which the request stops. With more operations, an
		// operation could already have run when an earlier operation of the window stops the request.
		most := bulkWindow
		if j.turn.held() {
			most = sharedWindow
		}
		if errorsLeft > 0 {
			most = min(most, errorsLeft)
		}
		var window []*bulkUnit
		window, pending = nextWindow(pending, most)
		j.run(r.Context(), window)
		if err := j.turn.yield(r.Context()); err != nil {
			return nil, err
		}
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		if errorsLeft > 0 {
			errorsLeft = max(errorsLeft-failures(window), 0)
		}
	}
	answer := scim.BulkResponse{}
	for _, op := range j.ops {
		if op.result != nil {
			answer.Operations = append(answer.Operations, *op.result)
		}
	}
	return &reply{status: http.StatusOK, body: answer}, nil
}

// readBulk reads the request and applies the limits. If a limit is exceeded, no operation is executed.
func (s *server) readBulk(r *request) (*scim.BulkRequest, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, s.limits.MaxBulkPayload)
	body, err := s.readObject(r)
	if tooBig, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, scim.Errorf(http.StatusRequestEntityTooLarge, "", "the size of the bulk request exceeds the maxPayloadSize (%d)",
			tooBig.Limit)
	}
	if err != nil {
		return nil, err
	}
	req, err := scim.ParseBulkRequest(body)
	if err != nil {
		return nil, err
	}
	if n := len(req.Operations); n > s.limits.MaxBulkOperations {
		return nil, scim.Errorf(http.StatusRequestEntityTooLarge, "",
			"the %d operations of the bulk request exceed the maxOperations (%d)", n, s.limits.MaxBulkOperations)
	}
	if req.FailOnErrors != nil && *req.FailOnErrors < 0 {
		return nil, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "failOnErrors is negative")
	}
	return req, nil
}

// prepare checks the structure of an operation.
func (j *bulkJob) prepare(o scim.BulkOperation) *bulkOp {
	op := &bulkOp{BulkOperation: o}
	op.err = j.check(op)
	if op.err == nil {
		op.uniqueValues, op.exclusive = op.constraints()
	}
	if op.BulkID != "" && op.Method == http.MethodPost && j.byID[op.BulkID] == nil {
		j.byID[op.BulkID] = op
	}
	return op
}

func (j *bulkJob) check(op *bulkOp) error {
	bad := func(t scim.Type, format string, args ...any) error {
		return scim.Errorf(http.StatusBadRequest, t, format, args...)
	}
	if op.Method == "" {
		return bad(scim.InvalidSyntax, "method is missing")
	}
	if !slices.Contains(bulkMethods, op.Method) {
		return bad(scim.InvalidValue, "method %s is not one of %s", quoteSome([]string{op.Method})[0], strings.Join(bulkMethods, ", "))
	}
	if op.Path == "" {
		return bad(scim.InvalidSyntax, "path is missing")
	}
	if op.Path[0] != '/' || strings.ContainsAny(op.Path, "?#") || strings.HasPrefix(op.Path, "//") {
		return bad(scim.InvalidValue, "path is not an endpoint or a resource below the base URL, such as /Users or /Users/{id}")
	}
	if err := j.route(op); err != nil {
		return err
	}
	if op.Method == http.MethodPost {
		if op.BulkID == "" {
			return bad(scim.InvalidSyntax, "bulkId is missing; POST requires one")
		}
		if j.byID[op.BulkID] != nil {
			return bad(scim.InvalidValue, "an earlier operation has the same bulkId")
		}
	}
	if op.Data == nil && op.Method != http.MethodDelete {
		return bad(scim.InvalidSyntax, "data is missing or not an object; %s requires it", op.Method)
	}
	return nil
}

// route determines the resource type and the id that a path names.
func (j *bulkJob) route(op *bulkOp) error {
	endpoint, last, single := strings.Cut(strings.TrimSuffix(op.Path[1:], "/"), "/")
	i := slices.IndexFunc(j.s.types, func(t *resourceType) bool { return t.path == endpoint })
	id, err := url.PathUnescape(last)
	if i < 0 || err != nil || strings.Contains(last, "/") || single && !plausibleID(id) {
		return scim.Errorf(http.StatusNotFound, "", "no endpoint at this path")
	}
	op.t, op.target = j.s.types[i], id
	route := j.s.routes[endpoint]
	if single {
		route = j.s.routes[endpoint+"/"+anySegment]
	}
	if _, ok := route[op.Method]; !ok {
		return &methodError{method: op.Method, allow: route.allow()}
	}
	return nil
}

// run executes the units of a window concurrently.
func (j *bulkJob) run(ctx context.Context, window []*bulkUnit) {
	if len(window) == 1 {
		j.runUnit(ctx, window[0])
		return
	}
	var wg sync.WaitGroup
	for _, u := range window {
		wg.Go(func() { j.runUnit(ctx, u) })
	}
	wg.Wait()
}

func (j *bulkJob) runUnit(ctx context.Context, u *bulkUnit) {
	if u.cycle {
		j.runCycle(ctx, u.ops)
	} else {
		op := u.ops[0]
		op.finish(j, j.execute(ctx, op))
	}
	u.done = true
}

// execute runs one operation as the equivalent single request.
func (j *bulkJob) execute(ctx context.Context, op *bulkOp) *reply {
	id, data, err := j.resolve(op)
	if err != nil {
		return j.s.errorReplyFor(op.request(ctx, op.Method).Request, err)
	}
	return j.call(ctx, op, op.Method, id, data)
}

// call runs the action of a method. It always returns a reply, also after an error or a panic.
func (j *bulkJob) call(ctx context.Context, op *bulkOp, method, id string, data *scim.Object) (rep *reply) {
	r := op.request(ctx, method)
	r.inTurn = j.turn.held()
	r.base, r.id, r.body = j.base, id, data
	defer func() {
		if value := recover(); value != nil {
			rep = j.s.panicReply(r.Request, value)
		}
	}()
	path := op.t.path
	if method != http.MethodPost {
		path += "/" + anySegment
	}
	rep, err := j.s.routes[path][method](r)
	if err != nil {
		return j.s.errorReplyFor(r.Request, err)
	}
	return rep
}

// request returns the single request that is equivalent to an operation. Its version is the precondition (RFC 7644 section 3.7).
func (op *bulkOp) request(ctx context.Context, method string) *request {
	h := &http.Request{Method: method, URL: &url.URL{Path: "/Bulk"}, Header: http.Header{}}
	if op.Version != "" && method == op.Method {
		h.Header.Set("If-Match", op.Version)
	}
	return &request{Request: h.WithContext(ctx), inBulk: true}
}

// finish stores the reply of an operation as its result.
func (op *bulkOp) finish(j *bulkJob, rep *reply) {
	res := &scim.BulkOperation{Method: op.Method, BulkID: op.BulkID, Status: rep.status, Version: rep.etag, Location: rep.location}
	switch {
	case rep.status >= http.StatusMultipleChoices:
		if v, err := scim.Value(rep.body); err == nil {
			res.Response, _ = v.(*scim.Object)
		}
		if id := j.realID(op.target); op.Method != http.MethodPost && op.t != nil && !strings.HasPrefix(id, bulkRef) {
			res.Location = location(j.base, op.t, id)
		}
	case op.Method == http.MethodPost:
		op.created = rep.id
	default:
		res.Location = location(j.base, op.t, j.realID(op.target))
	}
	op.result = res
}

func failures(window []*bulkUnit) int {
	n := 0
	for _, u := range window {
		for _, op := range u.ops {
			if op.result.Status >= http.StatusBadRequest {
				n++
			}
		}
	}
	return n
}
