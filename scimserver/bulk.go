package scimserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// bulkWindow is the most operations of a job that run at once. They share the commits of a store that has group commit.
const bulkWindow = 128

// bulkMethods are the methods an operation may have.
var bulkMethods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// bulkJob is one bulk request (RFC 7644 section 3.7).
type bulkJob struct {
	s    *server
	base string
	ops  []*bulkOp
	byID map[string]*bulkOp // the POST operations by bulkId
}

// bulkOp is one operation of a job.
type bulkOp struct {
	scim.BulkOperation
	err     error         // a mistake that is seen before anything runs
	t       *resourceType // nil when the path names none
	target  string        // the id in the path; it may be a reference still
	refs    []string      // the bulkIds that path and data refer to
	claims  []string      // the unique values that a POST takes
	alone   bool          // cannot run beside other operations
	created string        // the id that a POST has made
	result  *scim.BulkOperation
}

// bulk answers POST on /Bulk. The job as a whole is not atomic, each operation is.
//
// The operations take effect as if one ran after the other in the order of the request, but for those that refer to a
// resource which is created later: they wait for it. POST operations that refer to each other in a circle succeed or fail
// together.
func (s *server) bulk(r *request) (*reply, error) {
	req, err := s.readBulk(r)
	if err != nil {
		return nil, err
	}
	j := &bulkJob{s: s, base: r.base, byID: map[string]*bulkOp{}}
	for _, o := range req.Operations {
		j.ops = append(j.ops, j.prepare(o))
	}
	for _, op := range j.ops {
		op.collectRefs()
	}
	errorsLeft := -1
	if req.FailOnErrors != nil {
		// 0 and 1 are the same: the job ends with the first error.
		errorsLeft = max(*req.FailOnErrors, 1)
	}
	for pending := j.units(); len(pending) > 0 && errorsLeft != 0; {
		// No more at once than errors are accepted: what comes after the last of them must not have run.
		most := bulkWindow
		if errorsLeft > 0 {
			most = min(most, errorsLeft)
		}
		var window []*bulkUnit
		window, pending = nextWindow(pending, most)
		j.run(r.Context(), window)
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

// readBulk reads the request and applies the limits: over one of them nothing is executed.
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

// prepare checks the shape of an operation.
func (j *bulkJob) prepare(o scim.BulkOperation) *bulkOp {
	op := &bulkOp{BulkOperation: o}
	op.err = j.check(op)
	if op.err == nil {
		op.claims, op.alone = op.reach()
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
		return bad(scim.InvalidValue, "method %s is none of %s", quoteSome([]string{op.Method})[0], strings.Join(bulkMethods, ", "))
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
			return bad(scim.InvalidSyntax, "bulkId is missing; POST needs one")
		}
		if j.byID[op.BulkID] != nil {
			return bad(scim.InvalidValue, "an earlier operation has this bulkId")
		}
	}
	if op.Data == nil && op.Method != http.MethodDelete {
		return bad(scim.InvalidSyntax, "data is missing or no object; %s needs it", op.Method)
	}
	return nil
}

// route finds the resource type and the id that a path names.
func (j *bulkJob) route(op *bulkOp) error {
	endpoint, last, single := strings.Cut(strings.TrimSuffix(op.Path[1:], "/"), "/")
	i := slices.IndexFunc(j.s.types, func(t *resourceType) bool { return t.path == endpoint })
	id, err := url.PathUnescape(last)
	if i < 0 || err != nil || strings.Contains(last, "/") || single && !plausibleID(id) {
		return scim.Errorf(http.StatusNotFound, "", "there is nothing at this path")
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

// run executes units side by side.
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
	if u.circle {
		j.runCycle(ctx, u.ops)
	} else {
		op := u.ops[0]
		op.finish(j, j.execute(ctx, op))
	}
	u.done = true
}

// execute runs one operation as the single request that it stands for.
func (j *bulkJob) execute(ctx context.Context, op *bulkOp) *reply {
	id, data, err := j.resolve(op)
	if err != nil {
		return j.s.answerTo(op.request(ctx, op.Method).Request, err)
	}
	return j.call(ctx, op, op.Method, id, data)
}

// call runs the action of a method. It answers in any case, as the server does for a request.
func (j *bulkJob) call(ctx context.Context, op *bulkOp, method, id string, data *scim.Object) (rep *reply) {
	r := op.request(ctx, method)
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
		return j.s.answerTo(r.Request, err)
	}
	return rep
}

// request is the request that an operation stands for. Its version is the precondition (RFC 7644 section 3.7).
func (op *bulkOp) request(ctx context.Context, method string) *request {
	h := &http.Request{Method: method, URL: &url.URL{Path: "/Bulk"}, Header: http.Header{}}
	if op.Version != "" && method == op.Method {
		h.Header.Set("If-Match", op.Version)
	}
	return &request{Request: h.WithContext(ctx), inBulk: true}
}

// finish keeps what an operation was answered with.
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
