package clientgrade

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// Area begins the ids of all expectations.
const Area = "cope"

// expectations lists what a client has to manage: first what the server holds in the end, then the way there.
func expectations() []expectation {
	row := func(id, title string, level conformance.Level, why, fix string, judge func(*grading)) expectation {
		return expectation{conformance.Check{ID: Area + "." + id, Title: title, Level: level, Why: why, Fix: fix}, judge}
	}
	return []expectation{
		row("users", "Every wanted user is there with the wanted values, and who must not be there is not", conformance.Must,
			"This is what provisioning is for.", "Compare what the server holds with the directory after each change, and repeat what did not take.",
			wantedUsers),
		row("groups", "Every wanted group is there with exactly the wanted members", conformance.Must,
			"Membership gives access: one too many is a hole, one too few a call to the help desk.",
			"Read the group back after a change whose answer was lost, and push all members.", wantedGroups),
		row("no-duplicates", "Nobody and nothing is there twice", conformance.Must,
			"Two accounts of one person drift apart; two groups of one name each hold half of the access.",
			"Look for what is to be created by its name and its externalId, and link what is found.", duplicates),
		row("nothing-else", "The server holds nobody and nothing beyond what is wanted", conformance.Interop,
			"What nobody wants there nobody takes away either.", "Create what is assigned and nothing else; remove test objects.", surplus),
		row("keeps-foreign-changes", "What somebody else has set at the server stays", conformance.Interop,
			"A PUT of what the client knows takes everything away that it does not know.",
			"PATCH what changed; where only PUT is there, read first and send everything back, with If-Match.", foreignChanges),
		row("deactivates", "Who leaves is deactivated, not deleted", conformance.Interop,
			"With the account go the data that belongs to it, and it cannot be given back.",
			"Set active to false; delete only when the administrator has chosen so.", deactivated),
		row("looks-after-lost-answer", "When the answer to a create is lost, the client looks before it creates again", conformance.Interop,
			"The server may have done what it was asked: who creates again makes a duplicate or runs into a conflict.",
			"Ask for the name or the externalId first whenever a create got no answer or a 5xx.", lostAnswers),
		row("links-on-conflict", "A 409 to a create is answered by a lookup", conformance.Interop,
			"The account is there already. Creating again will never succeed.", "Look the user up by userName, keep its id and update it.",
			conflicts),
		row("comes-back", "What failed for the moment is tried again", conformance.Interop,
			"A change that is dropped after one 503 is never made.", "Keep the change and repeat it with growing delays until it succeeds.",
			comesBack),
	}
}

func wantedUsers(g *grading) {
	for _, want := range g.scenario.Want.Users {
		found := g.users(want.UserName)
		if want.Absent {
			g.holds(len(found) == 0, -1, "user "+want.UserName, "no such user", count(len(found)))
			continue
		}
		g.holds(len(found) > 0, -1, "user "+want.UserName, "a user", "none")
		if len(found) == 0 {
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(want.Attributes)) {
			value, _ := scim.Value(want.Attributes[path])
			var got any
			if all := values(found[0], path); len(all) == 1 {
				got = all[0]
			} else if len(all) > 1 {
				got = all
			}
			g.holds(has(found[0], path, want.Attributes[path]), -1, path+" of user "+want.UserName, describe(value), describe(got))
		}
	}
}

func wantedGroups(g *grading) {
	names := map[string]string{}
	for _, u := range g.held.Users {
		names[u.ID()] = strings.ToLower(u.Text("userName"))
	}
	for _, want := range g.scenario.Want.Groups {
		found := named(g.held.Groups, "displayName", want.DisplayName)
		if want.Absent {
			g.holds(len(found) == 0, -1, "group "+want.DisplayName, "no such group", count(len(found)))
			continue
		}
		g.holds(len(found) > 0, -1, "group "+want.DisplayName, "a group", "none")
		if len(found) == 0 {
			continue
		}
		var members, wanted []string
		for _, id := range values(found[0], "members.value") {
			text, _ := id.(string)
			name := names[text]
			if name == "" {
				name = "somebody unknown"
			}
			members = append(members, name)
		}
		for _, m := range want.Members {
			wanted = append(wanted, strings.ToLower(m))
		}
		g.holds(list(members) == list(wanted), -1, "members of group "+want.DisplayName, list(wanted), list(members))
	}
}

func duplicates(g *grading) {
	for _, kind := range []struct {
		resources []*scim.Resource
		keys      []string
		name      string
	}{{g.held.Users, []string{"userName", "externalId"}, "user"}, {g.held.Groups, []string{"displayName", "externalId"}, "group"}} {
		for _, key := range kind.keys {
			seen := map[string]int{}
			for _, r := range kind.resources {
				if value := strings.ToLower(r.Text(key)); value != "" {
					seen[value]++
				}
			}
			for _, value := range slices.Sorted(maps.Keys(seen)) {
				g.holds(seen[value] == 1, -1, kind.name+" with "+key+" "+value, "one", count(seen[value]))
			}
		}
	}
}

func surplus(g *grading) {
	if !g.scenario.Exactly {
		return
	}
	for _, u := range g.held.Users {
		name := u.Text("userName")
		wanted := slices.ContainsFunc(g.scenario.Want.Users, func(w User) bool { return strings.EqualFold(w.UserName, name) }) ||
			slices.ContainsFunc(g.scenario.Exists, func(e map[string]any) bool { return strings.EqualFold(fmt.Sprint(e["userName"]), name) })
		g.holds(wanted, -1, "user "+name, "no such user", "one")
	}
	for _, r := range g.held.Groups {
		name := r.Text("displayName")
		g.holds(slices.ContainsFunc(g.scenario.Want.Groups, func(w Group) bool { return strings.EqualFold(w.DisplayName, name) }), -1,
			"group "+name, "no such group", "one")
	}
}

func foreignChanges(g *grading) {
	for _, m := range g.scenario.Meddle {
		found := g.users(m.UserName)
		if len(found) == 0 {
			continue // whether the user is there is another question
		}
		for _, path := range slices.Sorted(maps.Keys(m.Set)) {
			value, _ := scim.Value(m.Set[path])
			g.holds(has(found[0], path, m.Set[path]), -1, path+" of user "+m.UserName, describe(value)+", as somebody else has set it",
				describe(values(found[0], path)))
		}
	}
}

func deactivated(g *grading) {
	leavers := map[string]bool{}
	for _, u := range g.scenario.Want.Users {
		if active, said := u.Attributes["active"].(bool); said && !active {
			leavers[strings.ToLower(u.UserName)] = true
			g.concerned = true
		}
	}
	names := map[string]string{} // by path
	for i, x := range g.exchanges {
		if _, name := creates(x); name != "" {
			if created, err := scim.Decode([]byte(x.ResponseBody)); err == nil && created.Text("id") != "" {
				names[x.Path+"/"+created.Text("id")] = name
			}
		}
		if name := names[x.Path]; x.Method == http.MethodDelete && leavers[name] {
			g.holds(false, i, "user "+name, "active false", "DELETE")
		}
	}
}

func lostAnswers(g *grading) {
	open := map[string]bool{}
	for i, x := range g.exchanges {
		for key := range open {
			if collection, _, _ := strings.Cut(key, "\x00"); asks(x, collection) && !lost(x) {
				delete(open, key)
			}
		}
		collection, name := creates(x)
		if name == "" {
			continue
		}
		key := collection + "\x00" + name
		g.holds(!open[key], i, "second create of "+name, "a lookup after the answer was lost", "none")
		delete(open, key)
		if lost(x) {
			g.concerned = true
			open[key] = true
		}
	}
}

func conflicts(g *grading) {
	open := map[string]int{}
	for i, x := range g.exchanges {
		for key := range open {
			if collection, _, _ := strings.Cut(key, "\x00"); asks(x, collection) {
				delete(open, key)
			}
		}
		collection, name := creates(x)
		if name == "" {
			continue
		}
		key := collection + "\x00" + name
		if _, again := open[key]; again {
			g.holds(false, i, "create of "+name, "a lookup after 409", "the same create again")
		}
		if x.Status == http.StatusConflict {
			g.concerned = true
			open[key] = i
		}
	}
	for _, key := range slices.Sorted(maps.Keys(open)) {
		_, name, _ := strings.Cut(key, "\x00")
		g.holds(false, open[key], "create of "+name, "a lookup after 409", "nothing")
	}
}

func comesBack(g *grading) {
	open := map[string]int{}
	for i, x := range g.exchanges {
		if x.Method == http.MethodGet {
			continue
		}
		key := x.Path
		if _, name := creates(x); name != "" {
			key += "\x00" + name
		}
		delete(open, key)
		if lost(x) || x.Status == http.StatusTooManyRequests {
			g.concerned = true
			open[key] = i
		}
	}
	for _, key := range slices.Sorted(maps.Keys(open)) {
		path, name, _ := strings.Cut(key, "\x00")
		if name != "" && (len(g.users(name)) > 0 || len(named(g.held.Groups, "displayName", name)) > 0) {
			continue // it was created all the same, and the client may have found it
		}
		g.holds(false, open[key], g.exchanges[open[key]].Method+" "+path, "another attempt", "none")
	}
}
