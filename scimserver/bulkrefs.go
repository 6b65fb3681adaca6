package scimserver

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// bulkRef begins a reference to the resource that another operation of the job creates (RFC 7644 section 3.7.2).
const bulkRef = "bulkId:"

// quotedRef is a reference inside of a PATCH path: members[value eq "bulkId:x"].
var quotedRef = regexp.MustCompile(`"bulkId:([^"\\]+)"`)

// rewriteText replaces the references in a text: one that is the whole text, in a "$ref" the last segment, in the "path" of
// a PATCH operation a quoted one. The name is that of the attribute.
func rewriteText(name, text string, replace func(bulkID string) string) string {
	if id, ok := strings.CutPrefix(text, bulkRef); ok {
		return replace(id)
	}
	switch {
	case scim.EqualName(name, "$ref"):
		if before, id, ok := strings.Cut(text, "/"+bulkRef); ok {
			return before + "/" + replace(id)
		}
	case scim.EqualName(name, "path"):
		return quotedRef.ReplaceAllStringFunc(text, func(match string) string {
			return `"` + replace(quotedRef.FindStringSubmatch(match)[1]) + `"`
		})
	}
	return text
}

// rewriteRefs replaces the references in a value. The result shares what has none.
func rewriteRefs(name string, v any, replace func(bulkID string) string) any {
	switch v := v.(type) {
	case string:
		return rewriteText(name, v, replace)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = rewriteRefs(name, e, replace)
		}
		return out
	case *scim.Object:
		out := &scim.Object{}
		for name, e := range v.All() {
			out.Set(name, rewriteRefs(name, e, replace))
		}
		return out
	}
	return v
}

// refsIn lists the references in a value.
func refsIn(name string, v any) []string {
	var ids []string
	rewriteRefs(name, v, func(id string) string {
		ids = append(ids, id)
		return ""
	})
	return ids
}

// collectRefs lists what path and data refer to, each once.
func (op *bulkOp) collectRefs() {
	if op.err != nil {
		return
	}
	if id, ok := strings.CutPrefix(op.target, bulkRef); ok {
		op.refs = append(op.refs, id)
	}
	if op.Data != nil && op.Method != http.MethodDelete {
		op.refs = append(op.refs, refsIn("", op.Data)...)
	}
	slices.Sort(op.refs)
	op.refs = slices.Compact(op.refs)
}

// resolve returns the id and the data of an operation with permanent ids for references. It fails when the operation is
// wrong in itself or refers to what has not been created.
func (j *bulkJob) resolve(op *bulkOp) (id string, data *scim.Object, err error) {
	if op.err != nil {
		return "", nil, op.err
	}
	for _, ref := range op.refs {
		if err := j.checkRef(ref); err != nil {
			return "", nil, err
		}
	}
	return j.realID(op.target), j.filled(op, op.Data), nil
}

// filled is data with permanent ids.
func (j *bulkJob) filled(op *bulkOp, data *scim.Object) *scim.Object {
	if len(op.refs) == 0 || data == nil {
		return data
	}
	return rewriteRefs("", data, func(id string) string { return j.byID[id].created }).(*scim.Object)
}

func (j *bulkJob) checkRef(ref string) error {
	switch other := j.byID[ref]; {
	case other == nil:
		return scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "no POST of this job has the bulkId %s", quoteSome([]string{ref})[0])
	case other.created == "":
		return scim.Errorf(http.StatusConflict, "", "the operation with the bulkId %s failed", quoteSome([]string{ref})[0])
	}
	return nil
}

// realID is the permanent id for the id of a path; a reference to what was not created stays.
func (j *bulkJob) realID(id string) string {
	if ref, ok := strings.CutPrefix(id, bulkRef); ok && j.byID[ref] != nil && j.byID[ref].created != "" {
		return j.byID[ref].created
	}
	return id
}

// runCircle executes POST operations that refer to each other. Each resource is created without what refers to those not
// yet there and completed when all are. If one of them cannot be, none is.
func (j *bulkJob) runCircle(ctx context.Context, ops []*bulkOp) {
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
			replies[i] = errorReply(scim.Errorf(http.StatusConflict, "", "the operation with the bulkId %s failed", quoteSome([]string{ops[failed].BulkID})[0]))
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

// createPart creates a resource without what refers to an open bulkId.
func (j *bulkJob) createPart(ctx context.Context, op *bulkOp, open func(ref string) bool) *reply {
	for _, ref := range op.refs {
		if open(ref) {
			continue
		}
		if err := j.checkRef(ref); err != nil {
			return j.s.answerTo(op.request(ctx, op.Method).Request, err)
		}
	}
	return j.call(ctx, op, http.MethodPost, "", j.filled(op, withoutRefs(op.Data, open)))
}

// withoutRefs leaves out of a representation the values that hold an open reference: elements of multi-valued attributes,
// single values as a whole. Extensions are no values, so it looks into them.
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
