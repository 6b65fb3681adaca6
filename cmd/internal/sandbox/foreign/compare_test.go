package foreign_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
)

// findings are the differences between a target and the directory, by kind. admitted contains the differences that the engine also reports
// (the status of the principal is not clean, or the engine lists the attribute as ignored by the target). silent contains all other
// differences.
type findings struct {
	admitted, silent map[string]*finding
}

type finding struct {
	count   int
	example string
}

func (f *findings) add(admitted bool, what, example string, args ...any) {
	to := f.silent
	if admitted {
		to = f.admitted
	}
	if to[what] == nil {
		to[what] = &finding{example: fmt.Sprintf(example, args...)}
	}
	to[what].count++
}

// summary lists the differences with their numbers. Those that the engine does not report are in bold.
func (f findings) summary() string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(f.silent)) {
		out = append(out, fmt.Sprintf("**%s %d**", what, f.silent[what].count))
	}
	for _, what := range slices.Sorted(maps.Keys(f.admitted)) {
		out = append(out, fmt.Sprintf("%s %d", what, f.admitted[what].count))
	}
	if len(out) == 0 {
		return "as desired"
	}
	return strings.Join(out, ", ")
}

// compare reads the whole target and compares it with the directory.
func (r *run) compare() findings {
	r.t.Helper()
	f := findings{admitted: map[string]*finding{}, silent: map[string]*finding{}}
	states := map[string]engine.State{}
	for _, kind := range []engine.Kind{engine.User, engine.Group} {
		all, err := r.engine.States(r.t.Context(), engine.StateQuery{App: app, Kind: kind, Limit: 10_000})
		require.NoError(r.t, err)
		for _, s := range all {
			states[s.ID] = s
		}
	}
	known := func(id string) bool { return states[id].Status != engine.StatusClean }

	accounts := map[string]object{} // by userName in lower case
	for _, u := range r.target.all(r.t, "/Users") {
		name := strings.ToLower(text(u["userName"]))
		if accounts[name] != nil {
			f.add(false, "duplicate users", "%q", name)
		}
		accounts[name] = u
	}
	owners := map[string]*person{} // by id on the target
	expected := 0
	for _, p := range r.people {
		if !p.account {
			continue
		}
		u := accounts[strings.ToLower(p.userName)]
		if u == nil {
			f.add(known(p.id), "missing users", "%q", p.userName)
			continue
		}
		expected++
		owners[text(u["id"])] = p
		if active, ok := u["active"].(bool); !ok || active != (p.want == engine.Active) {
			f.add(known(p.id), "wrong active", "%s: %v", p.id, u["active"])
		}
		if p.want != engine.Active {
			continue
		}
		for path, want := range p.attributes() {
			got := attribute(u, path)
			if same := got == want || path == "userName" && strings.EqualFold(got, want); !same {
				_, unkept := states[p.id].IgnoredAttributes[path]
				f.add(unkept || known(p.id), path, "want %q, got %q", want, got)
			}
		}
	}
	for range len(accounts) - expected {
		f.add(false, "unmanaged accounts", "")
	}
	r.compareGroups(&f, owners, known)
	return f
}

func (r *run) compareGroups(f *findings, owners map[string]*person, known func(string) bool) {
	groups := map[string]string{} // id on the target by name
	for _, g := range r.target.all(r.t, "/Groups") {
		name := text(g["displayName"])
		if groups[name] != "" {
			f.add(false, "duplicate groups", "%q", name)
		}
		groups[name] = text(g["id"])
	}
	for _, g := range r.teams {
		id := groups[g.name]
		delete(groups, g.name)
		switch {
		case g.want == engine.Absent && g.erase && id != "":
			f.add(known(g.id), "groups not deleted", "%q", g.name)
		case g.want == engine.Absent:
		case id == "":
			f.add(known(g.id), "missing groups", "%q", g.name)
		default:
			r.compareMembers(f, g, r.target.members(r.t, id), owners, known(g.id))
		}
	}
	for name := range groups {
		if name != r.teams[3].name || r.teams[3].want == engine.Active {
			f.add(false, "unmanaged groups", "%q", name)
		}
	}
}

func (r *run) compareMembers(f *findings, g *team, ids []string, owners map[string]*person, known bool) {
	there := map[*person]bool{}
	for _, id := range ids {
		p := owners[id]
		switch {
		case there[p] && p != nil:
			f.add(known, "duplicate members", "%s in %q", p.id, g.name)
		case p == nil:
			f.add(known, "members without an account", "in %q", g.name)
		case !g.members[p]:
			f.add(known, "unexpected members", "%s in %q", p.id, g.name)
		}
		there[p] = true
	}
	for _, p := range g.sorted() {
		if !there[p] && p.account {
			f.add(known, "missing members", "%s in %q", p.id, g.name)
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// attribute returns the value of an attribute of an account. For a list, it is the value of its only element.
func attribute(u object, path string) string {
	at := any(u)
	steps := strings.Split(path, ".")
	if i := strings.LastIndex(path, ":"); i >= 0 {
		steps = []string{path[:i], path[i+1:]}
	}
	for _, name := range steps {
		o, _ := at.(object)
		at = o[name]
	}
	if list, ok := at.([]any); ok {
		if len(list) != 1 {
			return fmt.Sprintf("%d values", len(list))
		}
		o, _ := list[0].(object)
		at = o["value"]
	}
	return text(at)
}
