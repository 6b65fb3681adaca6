package checks

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A rejectedPatch is a test of PATCH requests that must fail, or at least must change nothing.
type rejectedPatch struct {
	id, title string
	reqs      []string
	level     conformance.Level
	before    func(t *T) doc
	// ops returns the operations of each request.
	ops func() [][]doc
	// types are the accepted values of scimType.
	types []string
	// expect, if set, checks the response to a request with the given operations. Default: the status must be 400 and scimType one of
	// types.
	expect func(t *T, res *conformance.Response, operations []doc)
	// removes means that the check is blocked if the target also rejects the removal of an optional attribute.
	removes bool
	// alone, if set, is the id of the check of the last operation. The check is blocked if the target also accepts this operation alone,
	// because then no operation fails whose predecessors could be reverted.
	alone string
	// wrongType means that the check is blocked if the target returns 5xx to each of its requests, and also to a PATCH that replaces name with
	// a string, which patch.wrong-type reports.
	wrongType bool
	// mayIgnore means that a success without a change is permitted too.
	mayIgnore bool
	// same lists the paths, in the syntax of look, of values that must not change.
	same     []string
	why, fix string
}

func (p rejectedPatch) check() check {
	n := patches
	return check{
		ID:           "patch." + p.id,
		Title:        p.title,
		Requirements: p.reqs,
		Level:        p.level,
		Needs:        n,
		Requests:     4 + len(p.ops()),
		Why:          p.why,
		Fix:          p.fix,
		Run: func(ctx context.Context, t *T) {
			var extra doc
			if p.before != nil {
				extra = p.before(t)
			}
			u := prepared(ctx, t, extra)
			before := t.Read(ctx, u.Path()).Object()
			var responses []*conformance.Response
			if p.removes {
				blockedIfNothingRemoved(ctx, t)
			}
			for _, operations := range p.ops() {
				res := t.Patch(ctx, u.Path(), operations...)
				responses = append(responses, res)
				if p.alone != "" && res.OK() {
					t.BlockedIf(func() string {
						status := p.failsAlone(ctx, t, extra, operations)
						if status >= 300 {
							return ""
						}
						return fmt.Sprintf("a PATCH with only the operation that has to fail, which %s tests, returned %d", p.alone, status)
					})
				}
				switch {
				case p.expect != nil:
					p.expect(t, res, operations)
				case p.alone != "" && res.Status >= 500 && p.failsAlone(ctx, t, extra, operations) == res.Status:
					t.Note("a PATCH with only the operation that has to fail returned %d too, which %s reports", res.Status, p.alone)
				case !p.mayIgnore || !res.OK():
					expectError(t, res, 400, p.types...)
				}
				if p.expect == nil && !p.mayIgnore && res.OK() && p.changed(before, t.Get(ctx, u.Path()).Object()) {
					break // the responses to further requests would show the effect of this one
				}
			}
			if p.wrongType && !slices.ContainsFunc(responses, func(res *conformance.Response) bool { return res.Status < 500 }) {
				blockedIfWrongTypeFails(ctx, t)
			}
			after := t.Get(ctx, u.Path())
			when := afterRejection("PATCH", responses...)
			if !t.Expect("status of "+after.Name+" "+when, 200, after.Status) {
				return
			}
			for _, path := range p.same {
				t.Expect(path+" "+when, look(before, path), look(after.Object(), path))
			}
		},
	}
}

// failsAlone returns the status of a PATCH of another user with only the last operation.
func (p rejectedPatch) failsAlone(ctx context.Context, t *T, extra doc, operations []doc) (status int) {
	return t.Patch(ctx, t.CreateUser(ctx, "alone", extra).Path(), operations[len(operations)-1]).Status
}

// displayNameRejected expects that a PATCH of displayName is rejected, in the form of rejectedPatch.expect.
func displayNameRejected(t *T, res *conformance.Response, operations []doc) {
	value := "the value " + jsonText(plain(operations[0]["value"]))
	if t.Expect("status of a PATCH of displayName with "+value, 400, res.Status) && res.ScimType() != "" {
		t.Warn(slices.Contains([]string{"invalidValue", "invalidSyntax", "invalidPath"}, res.ScimType()),
			"scimType of a PATCH of displayName with "+value, "invalidValue, invalidSyntax or invalidPath", res.ScimType())
	}
}

// blockedIfWrongTypeFails blocks the check if a PATCH that replaces name with a string returns 5xx, which patch.wrong-type reports.
func blockedIfWrongTypeFails(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		res := t.Patch(ctx, t.CreateUser(ctx, "named", nil).Path(), doc{"op": "replace", "path": "name", "value": "Ada Lovelace"})
		if res.Status < 500 {
			return ""
		}
		return fmt.Sprintf("a PATCH that replaces name with a string returned %d, which patch.wrong-type reports", res.Status)
	})
}

// changed reports whether one of the values that must not change has changed.
func (p rejectedPatch) changed(before, after *scim.Object) bool {
	return slices.ContainsFunc(p.same, func(path string) bool { return fmt.Sprint(look(before, path)) != fmt.Sprint(look(after, path)) })
}

func single(list ...doc) func() [][]doc {
	var out [][]doc
	for _, op := range list {
		out = append(out, []doc{op})
	}
	return func() [][]doc { return out }
}
