package scimserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Operations of a bulk request that refer to each other in a cycle (RFC 7644 section 3.7.1).

// runCycle executes POST operations that refer to each other. If one of the resources cannot be created completely, the others are not
// created, or are deleted again.
func (j *bulkJob) runCycle(ctx context.Context, ops []*bulkOp) {
	if store, ok := j.s.store.(Batcher); ok {
		j.runBatch(ctx, store, ops)
		return
	}
	j.runSteps(ctx, ops)
}

// runBatch creates the resources of a cycle in one step of the store. The server chooses their ids beforehand, so every reference is known
// before the creation.
func (j *bulkJob) runBatch(ctx context.Context, store Batcher, ops []*bulkOp) {
	for _, op := range ops {
		op.created = newID()
	}
	recs, err := j.createTogether(ctx, store, ops)
	if err == nil {
		for i, op := range ops {
			op.finish(j, bulkReply(j.base, op.t, http.StatusCreated, recs[i]))
		}
		return
	}
	failure := j.s.errorReplyFor(ops[0].request(ctx, http.MethodPost).Request, err)
	one, ok := errors.AsType[*BatchError](err)
	for i, op := range ops {
		op.created = ""
		if ok && i != one.Index {
			op.finish(j, failedWith(ops[one.Index]))
		} else {
			op.finish(j, failure)
		}
	}
}

// createTogether creates the resources of a cycle. The error is a *BatchError if one of the operations caused it.
func (j *bulkJob) createTogether(ctx context.Context, store Batcher, ops []*bulkOp) (recs []*Record, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	all := make([]NewRecord, len(ops))
	for i, op := range ops {
		_, data, err := j.resolve(op)
		if err == nil {
			all[i], err = j.s.newRecord(op.t, op.created, data)
		}
		if err != nil {
			return nil, &BatchError{Index: i, Err: err}
		}
	}
	return store.CreateAll(ctx, all)
}

// failedWith returns the reply to an operation of a cycle in which another operation failed.
func failedWith(other *bulkOp) *reply {
	return errorReply(scim.Errorf(http.StatusConflict, "", "the operation with the bulkId %s failed", quoteSome([]string{other.BulkID})[0]))
}

// runSteps first creates each resource of a cycle without the references to resources that do not exist yet. It adds these references once
// all resources exist.
func (j *bulkJob) runSteps(ctx context.Context, ops []*bulkOp) {
	replies := make([]*reply, len(ops))
	failed := -1
	var incomplete []int
	for i, op := range ops {
		open := func(ref string) bool {
			other := j.byID[ref]
			return slices.Contains(ops, other) && other.created == ""
		}
		if replies[i] = j.createPart(ctx, op, open); replies[i].status >= http.StatusMultipleChoices {
			failed = i
			break
		}
		if slices.ContainsFunc(op.refs, open) {
			incomplete = append(incomplete, i)
		}
		op.created = replies[i].id
	}
	if failed < 0 {
		for _, i := range incomplete {
			op := ops[i]
			rep := j.call(ctx, op, http.MethodPut, op.created, j.filled(op, op.Data))
			if rep.status >= http.StatusMultipleChoices {
				replies[i], failed = rep, i
				break
			}
			replies[i].etag = rep.etag
		}
	}
	for i, op := range ops {
		if failed >= 0 && i != failed {
			replies[i] = failedWith(ops[failed])
		}
		if failed >= 0 && op.created != "" {
			id := op.created
			op.created = ""
			if rep := j.call(context.WithoutCancel(ctx), op, http.MethodDelete, id, nil); rep.status >= http.StatusInternalServerError {
				replies[i] = rep
			}
		}
	}
	for i, op := range ops {
		op.finish(j, replies[i])
	}
}

// createPart creates a resource without the values that refer to a bulkId for which open returns true.
func (j *bulkJob) createPart(ctx context.Context, op *bulkOp, open func(ref string) bool) *reply {
	for _, ref := range op.refs {
		if open(ref) {
			continue
		}
		if err := j.checkRef(ref); err != nil {
			return j.s.errorReplyFor(op.request(ctx, op.Method).Request, err)
		}
	}
	return j.call(ctx, op, http.MethodPost, "", j.filled(op, withoutRefs(op.Data, open)))
}

// withoutRefs removes the values with an open reference from a representation: elements of multi-valued attributes, and single values as a
// whole. An extension is not a value, so withoutRefs descends into it.
func withoutRefs(o *scim.Object, open func(ref string) bool) *scim.Object {
	holds := func(name string, v any) bool { return slices.ContainsFunc(refsIn(name, v), open) }
	out := &scim.Object{}
	for name, v := range o.All() {
		switch value := v.(type) {
		case []any:
			v = slices.DeleteFunc(slices.Clone(value), func(e any) bool { return holds(name, e) })
		case *scim.Object:
			if strings.Contains(name, ":") {
				v = withoutRefs(value, open)
			} else if holds(name, v) {
				continue
			}
		default:
			if holds(name, v) {
				continue
			}
		}
		out.Set(name, v)
	}
	return out
}
