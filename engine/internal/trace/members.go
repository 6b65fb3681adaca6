package trace

import (
	"cmp"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim"
)

// memberDiff compares the members of two versions of a group. users has the members known to the engine, by their id on the target.
func memberDiff(before, after *scim.Resource, users map[string]store.Member) *engine.MemberDiff {
	was, is := memberRefs(before, users), memberRefs(after, users)
	d := &engine.MemberDiff{}
	d.Added, d.Add = lacking(is, was)
	d.Removed, d.Remove = lacking(was, is)
	if d.Added+d.Removed == 0 {
		return nil
	}
	return d
}

// mergeDiffs combines the changes of two steps.
func mergeDiffs(d, more *engine.MemberDiff) *engine.MemberDiff {
	if d == nil || more == nil {
		return cmp.Or(d, more)
	}
	add, remove := slices.Concat(d.Add, more.Add), slices.Concat(d.Remove, more.Remove)
	return &engine.MemberDiff{
		Added: d.Added + more.Added, Removed: d.Removed + more.Removed,
		Add: add[:min(len(add), engine.MaxNamed)], Remove: remove[:min(len(remove), engine.MaxNamed)],
	}
}

func memberRefs(r *scim.Resource, users map[string]store.Member) (out []engine.MemberRef) {
	if r == nil {
		return nil
	}
	for _, v := range r.Array("members") {
		o, _ := v.(*scim.Object)
		m := engine.MemberRef{ID: o.Text("value"), Name: o.Text("display")}
		if u, ok := users[m.ID]; ok {
			m.User, m.Name = u.User, u.RemoteName
		}
		out = append(out, m)
	}
	return out
}

// lacking returns the number of members in all that are missing from others, and the first of these members.
func lacking(all, others []engine.MemberRef) (n int, named []engine.MemberRef) {
	there := make(map[string]bool, len(others))
	for _, m := range others {
		there[m.ID] = true
	}
	for _, m := range all {
		if there[m.ID] {
			continue
		}
		if n++; n <= engine.MaxNamed {
			named = append(named, m)
		}
	}
	return n, named
}
