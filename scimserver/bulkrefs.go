package scimserver

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// bulkRef is the prefix of a reference to the resource that another operation of the request creates (RFC 7644 section 3.7.2).
const bulkRef = "bulkId:"

// quotedRef is a reference inside a PATCH path: members[value eq "bulkId:x"].
var quotedRef = regexp.MustCompile(`"bulkId:([^"\\]+)"`)

// rewriteText replaces the references in a string: the whole string, the last segment of a "$ref", and a quoted reference in the "path" of
// a PATCH operation. name is the name of the attribute.
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

// rewriteRefs replaces the references in a value. Parts without references are shared with the result.
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

// refsIn returns the references in a value.
func refsIn(name string, v any) []string {
	var ids []string
	rewriteRefs(name, v, func(id string) string {
		ids = append(ids, id)
		return ""
	})
	return ids
}

// collectRefs collects the references in path and data, each once.
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

// resolve returns the id in the path and the data of an operation, with permanent ids instead of references. It fails if the operation is
// invalid or refers to a resource that was not created.
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

// filled returns the data with permanent ids instead of references.
func (j *bulkJob) filled(op *bulkOp, data *scim.Object) *scim.Object {
	if len(op.refs) == 0 || data == nil {
		return data
	}
	return rewriteRefs("", data, func(id string) string { return j.byID[id].created }).(*scim.Object)
}

func (j *bulkJob) checkRef(ref string) error {
	switch other := j.byID[ref]; {
	case other == nil:
		return scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "no POST of this bulk request has the bulkId %s",
			quoteSome([]string{ref})[0])
	case other.created == "":
		return scim.Errorf(http.StatusConflict, "", "the operation with the bulkId %s failed", quoteSome([]string{ref})[0])
	}
	return nil
}

// realID returns the permanent id of the created resource if the id in a path is a reference to it. Any other id is returned unchanged,
// also a reference to a resource that was not created.
func (j *bulkJob) realID(id string) string {
	if ref, ok := strings.CutPrefix(id, bulkRef); ok && j.byID[ref] != nil && j.byID[ref].created != "" {
		return j.byID[ref].created
	}
	return id
}
