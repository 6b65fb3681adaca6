package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A reduction is a simpler form of one member of a new object: the member is omitted, or a list has fewer elements.
type reduction struct {
	member string
	keep   kept
}

// kept is the part of a list that a reduction keeps.
type kept int

const (
	nothing      kept = iota // the member is omitted
	onePerType               // the first element of each type
	onlyTheFirst             // the first element
)

const (
	// maxSuspects is the maximum number of members that are omitted one at a time because the error response names them.
	maxSuspects = 3
	// maxUseless is a number of objects: after the target has rejected all simpler forms of that many objects, the run tries no more
	// simpler forms in the collection.
	maxUseless = 3
	// maxFailed is a number of users: after the target did not store a default member in updates of that many users, the run no longer sets
	// this member.
	maxFailed = 2
	// maxSingleUpdates is the maximum number of members that are set one by one after a create.
	maxSingleUpdates = 4
)

// usualReductions are the reductions that are tried first, in this order, because some servers require them: a new user is active and has
// one email address, and a new group has no members.
var usualReductions = map[string][]string{
	"/Users":  {"active", "emails"},
	"/Groups": {"members"},
}

// indispensable are the members that are never omitted from a new object: its schemas and its name.
var indispensable = map[string][]string{
	"/Users":  {"schemas", "userName"},
	"/Groups": {"schemas", "displayName"},
}

// plainMembers are the members that [T.User] sets by default and that the target may reject, in the order in which they are omitted.
var plainMembers = []string{"emails", "active", "name"}

// reducedForms stores what the run has detected about objects that the target rejects in their complete form.
type reducedForms struct {
	accepted map[string][][]reduction // by collection: the sets of reductions with which an object was created
	useless  map[string]int           // by collection: the number of objects that no reduction made acceptable
	probed   bool                     // the run has tried to create plain users
	failed   map[string]int           // by default member: the number of users for which the target rejected it in updates too
	without  []string                 // the members that [T.User] omits, because the target creates no plain user with them
}

func newReducedForms() reducedForms {
	return reducedForms{accepted: map[string][][]reduction{}, useless: map[string]int{}, failed: map[string]int{}}
}

// reducible reports whether a rejection may depend on the optional members of the body. The builder of a fixture also tries simpler forms
// after a server error.
func (t *T) reducible(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusRequestEntityTooLarge ||
		t.building && status == http.StatusInternalServerError
}

// createReduced creates an object that the target has rejected with the response rejected. It omits some of the optional members from the
// create, and sets them afterwards by PATCH and PUT. It returns nil if the target accepts no simpler form. Objects of fixtures may lack
// members afterwards; see [Created.Lacks]. For any other object, createReduced skips the check if a member that the check sets itself is
// missing.
func (t *T) createReduced(ctx context.Context, collection string, body Doc, rejected *Response) *Created {
	forms := &t.session.reduced
	if !t.reducible(rejected.Status) || forms.useless[collection] >= maxUseless {
		return nil
	}
	for _, attempt := range t.reductionAttempts(collection, body, rejected) {
		res := t.Post(ctx, collection, reduce(body, attempt))
		c := t.createdBy(collection, res)
		if c == nil {
			continue
		}
		forms.remember(collection, attempt)
		c.Sent = body
		t.restore(ctx, c, attempt)
		if !t.building && slices.ContainsFunc(c.lacks, func(m string) bool { return !isDefault(body, m) }) {
			t.last = rejected.exchange
			t.Skip(fmt.Sprintf("blocked: %s, which prepares the check, %s: the target accepts the object only without %s",
				rejected.Name, rejected.Without("an id"), refused(body, c.lacks, attempt)))
		}
		return c
	}
	forms.useless[collection]++
	return nil
}

// refused describes what the target has not accepted of the members that an object lacks after the reductions.
func refused(body Doc, lacks []string, by []reduction) string {
	var out []string
	for _, r := range by {
		switch {
		case !slices.Contains(lacks, r.member):
		case r.keep == onePerType:
			out = append(out, "two elements of "+r.member+" with the type "+repeatedType(body[r.member]))
		case r.keep == onlyTheFirst:
			out = append(out, "a second element of "+r.member)
		default:
			out = append(out, r.member)
		}
	}
	return strings.Join(out, ", ")
}

// repeatedType returns the first type that two elements of a list have, "" if there is none.
func repeatedType(value any) string {
	seen := map[any]bool{}
	list, _ := value.([]Doc)
	for _, e := range list {
		kind, _ := e["type"].(string)
		if kind != "" && seen[kind] {
			return kind
		}
		seen[kind] = true
	}
	return ""
}

// remember stores reductions with which the target has created an object.
func (f *reducedForms) remember(collection string, attempt []reduction) {
	if !slices.ContainsFunc(f.accepted[collection], func(known []reduction) bool { return slices.Equal(known, attempt) }) {
		f.accepted[collection] = append(f.accepted[collection], attempt)
	}
}

// reductionAttempts returns the sets of reductions to try. They omit, in this order: the members without which the target has created
// objects before, the members that the error names, those of usualReductions, one half of the optional members, the other half, all of
// them. There are at most a dozen sets.
func (t *T) reductionAttempts(collection string, body Doc, rejected *Response) [][]reduction {
	members := t.optionalMembers(collection, body)
	var out [][]reduction
	add := func(attempt ...reduction) {
		if len(attempt) > 0 && !slices.ContainsFunc(out, func(known []reduction) bool { return slices.Equal(known, attempt) }) {
			out = append(out, attempt)
		}
	}
	single := func(member string) {
		if elements(body[member]) > 2 && repeatedType(body[member]) != "" {
			add(reduction{member, onePerType})
		}
		if elements(body[member]) > 1 {
			add(reduction{member, onlyTheFirst})
		}
		add(reduction{member, nothing})
	}
	for _, known := range t.session.reduced.accepted[collection] {
		add(applicable(known, members, body)...)
	}
	suspects := t.named(rejected, members)
	for _, member := range suspects[:min(len(suspects), maxSuspects)] {
		single(member)
	}
	for _, member := range usualReductions[collection] {
		if slices.Contains(members, member) && body[member] != any(true) {
			single(member)
		}
	}
	all := omitting(members)
	add(omitting(suspects)...)
	add(all[:len(all)/2]...)
	add(all[len(all)/2:]...)
	add(all...)
	return out
}

// applicable returns the reductions that change the body, of which members are the optional members.
func applicable(known []reduction, members []string, body Doc) []reduction {
	return slices.DeleteFunc(slices.Clone(known), func(r reduction) bool {
		return !slices.Contains(members, r.member) || r.keep == onlyTheFirst && elements(body[r.member]) < 2 ||
			r.keep == onePerType && repeatedType(body[r.member]) == ""
	})
}

// optionalMembers returns the members of a new object that may be omitted, sorted.
func (t *T) optionalMembers(collection string, body Doc) []string {
	resourceType := map[string]string{"/Users": "User", "/Groups": "Group"}[collection]
	if resourceType == "" {
		return nil
	}
	out := slices.Sorted(maps.Keys(body))
	return slices.DeleteFunc(out, func(member string) bool {
		_, configured := t.session.opts.Attributes[resourceType][member]
		return configured || member == secondName && !t.session.created.marked(nameOf(body, indispensable[collection][1])) ||
			slices.ContainsFunc(indispensable[collection], func(name string) bool { return scim.EqualName(name, member) })
	})
}

// named returns the members that the body of an error response names.
func (t *T) named(res *Response, members []string) []string {
	text := res.Object().Text("detail")
	if text == "" {
		text = string(res.Body)
	}
	words := word.FindAllString(text, -1)
	return slices.DeleteFunc(slices.Clone(members), func(member string) bool {
		name := t.substitution.path(member)
		return !strings.Contains(text, name) && !slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, name) })
	})
}

func omitting(members []string) []reduction {
	out := make([]reduction, len(members))
	for i, member := range members {
		out[i].member = member
	}
	return out
}

// elements returns the number of elements of a list, 0 for any other value.
func elements(value any) int {
	switch v := value.(type) {
	case []Doc:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

// reduce returns a copy of a body with reductions. Without the members of an extension, its URN is not in schemas.
func reduce(body Doc, by []reduction) Doc {
	out := maps.Clone(body)
	for _, r := range by {
		if r.keep == nothing {
			delete(out, r.member)
			if list, ok := out["schemas"].([]string); ok {
				out["schemas"] = slices.DeleteFunc(slices.Clone(list), func(urn string) bool { return scim.EqualName(urn, r.member) })
			}
			continue
		}
		switch v := out[r.member].(type) {
		case []Doc:
			if r.keep == onePerType {
				out[r.member] = oneOfEachType(v)
				continue
			}
			out[r.member] = v[:1]
		case []any:
			out[r.member] = v[:1]
		}
	}
	return out
}

// oneOfEachType returns the elements of a list without those whose type an earlier element has.
func oneOfEachType(list []Doc) []Doc {
	var out []Doc
	seen := map[any]bool{}
	for _, e := range list {
		kind, typed := e["type"]
		if !typed || !seen[kind] {
			out = append(out, e)
		}
		seen[kind] = true
	}
	return out
}

// isDefault reports whether a member of a user has the value that [T.User] sets by default.
func isDefault(body Doc, member string) bool {
	_, specific := withoutDefaults(Request{Body: body}).Body.(Doc)[member]
	return !specific && body["userName"] != nil
}

// restore sets the members with which the target did not create an object: by one PATCH, by a PUT of the whole object, and by a PATCH for
// each member. Members that no response shows as sent remain in c.lacks.
func (t *T) restore(ctx context.Context, c *Created, by []reduction) {
	for _, r := range by {
		c.lacks = append(c.lacks, r.member)
	}
	supported, known := t.Capabilities.Supports("patch")
	patch := func(members []string) {
		var operations []Doc
		for _, member := range members {
			kind := "replace"
			if member == "members" {
				kind = "add"
			}
			operations = append(operations, Doc{"op": kind, "path": member, "value": c.Sent[member]})
		}
		t.shownAfter(ctx, c, t.Patch(ctx, c.Path(), operations...))
	}
	if supported || !known {
		patch(c.lacks)
	}
	if len(c.lacks) > 0 {
		t.shownAfter(ctx, c, t.Put(ctx, c.Path(), c.Sent))
	}
	if missing := slices.Clone(c.lacks); (supported || !known) && len(missing) > 1 {
		for _, member := range missing[:min(len(missing), maxSingleUpdates)] {
			patch([]string{member})
		}
	}
}

// shownAfter reads an object after a successful update. It removes from c.lacks the members that the response shows as sent. A password is
// never shown.
func (t *T) shownAfter(ctx context.Context, c *Created, update *Response) {
	if !update.OK() {
		return
	}
	c.updated = true
	res := t.Get(ctx, c.Path())
	if !res.OK() || res.Object() == nil {
		return
	}
	c.Resource = res.Object()
	c.lacks = slices.DeleteFunc(c.lacks, func(member string) bool {
		got, _ := c.Resource.Get(member)
		return member == "password" || sentIsShown(c.Sent[member], got)
	})
}

// addDefaults sets the default members with which the target creates no user. A member that the target rejected twice is not set again.
func (t *T) addDefaults(ctx context.Context, c *Created, whole Doc) {
	forms := &t.session.reduced
	missing := slices.DeleteFunc(slices.Clone(forms.without), func(member string) bool {
		_, sent := c.Sent[member]
		return sent || whole[member] == nil || forms.failed[member] >= maxFailed
	})
	if len(missing) == 0 {
		return
	}
	before := slices.Clone(c.lacks)
	c.Sent = whole
	t.restore(ctx, c, omitting(missing))
	for _, member := range c.lacks {
		if !slices.Contains(before, member) {
			forms.failed[member]++
		}
	}
}

// learnPlainUser searches once per run, after the target rejected the users of a check, for the default members of [T.User] without which
// the target creates a user. It reports whether it found some, so that the check must be run again.
func (s *session) learnPlainUser(ctx context.Context, t *T) bool {
	if !t.userRejected || t.outcome == Pass || s.reduced.probed || s.opts.ReadOnly || s.rights.denied != "" || !s.caps.Users {
		return false
	}
	s.reduced.probed = true
	checking := s.wire.checking
	s.wire.checking = ""
	defer func() { s.wire.checking = checking }()
	s.scratch(ctx, "plain", func(t *T, where string, _ Doc) {
		for i, without := range subsets(plainMembers) {
			body := t.User(fmt.Sprint("plain", i), nil)
			for _, member := range without {
				if _, configured := s.opts.Attributes["User"][member]; !configured {
					delete(body, member)
				}
			}
			if res := t.Post(ctx, where, body); res.OK() {
				s.reduced.without = without
				return
			} else if !t.reducible(res.Status) {
				return
			}
		}
	})
	return len(s.reduced.without) > 0
}

// subsets returns all subsets of a list, smaller ones first.
func subsets(list []string) [][]string {
	var out [][]string
	for bits := range 1 << len(list) {
		var set []string
		for i, item := range list {
			if bits&(1<<i) != 0 {
				set = append(set, item)
			}
		}
		out = append(out, set)
	}
	slices.SortStableFunc(out, func(a, b []string) int { return len(a) - len(b) })
	return out
}

// caution returns a sentence about the default members that the run omits from users, "" if it omits none.
func (f *reducedForms) caution() string {
	if len(f.without) == 0 {
		return ""
	}
	return "the target rejects plain users with " + strings.Join(f.without, " and ") + ": the checks created their users without these members"
}

// lackedBy returns the members that objects of a fixture lack, sorted.
func lackedBy(objects map[string]*Created) []string {
	var out []string
	for _, c := range objects {
		out = append(out, c.lacks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
