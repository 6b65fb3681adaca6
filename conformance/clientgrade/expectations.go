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

// Area is the first part of the ids of the expectations.
const Area = "cope"

// expectations returns the expectations of the contract Resilient: first those about the final state of the server, then those about the
// requests.
func expectations() []expectation {
	row := func(id, title string, level conformance.Level, why, fix string, judge func(*grading)) expectation {
		return expectation{conformance.Check{ID: Area + "." + id, Title: title, Level: level, Why: why, Fix: fix}, judge}
	}
	return []expectation{
		row("users", "Every expected user exists with the expected values, and no user exists that must be absent", conformance.Must,
			"A missing account keeps a new employee from working; an extra account gives a former employee access.",
			"Compare the server with the directory after each change, and repeat changes that had no effect.",
			wantedUsers),
		row("groups", "Every expected group exists with exactly the expected members", conformance.Must,
			"Membership grants access: an additional member gains access, and a missing member loses access.",
			"Read the group after a change whose response was lost, and push all members.", wantedGroups),
		row("no-duplicates", "No user and no group exists twice", conformance.Must,
			"Two accounts of one user diverge; two groups with one name each grant a part of the access.",
			"Before a create, search by name and externalId, and link an existing resource.", duplicates),
		row("nothing-else", "The server has no other users and groups than expected", conformance.Interop,
			"Unexpected users and groups remain on the server, and may give access.",
			"Create only assigned users and groups, and remove test objects.", surplus),
		row("keeps-foreign-changes", "Changes that other clients made on the server are not overwritten", conformance.Interop,
			"A PUT with only the client's attributes deletes values that administrators or other clients have set.",
			"Send changed attributes by PATCH. If the server supports only PUT, read first and send all attributes back, with If-Match.",
			foreignChanges),
		row("deactivates", "A leaving user is deactivated, not deleted", conformance.Interop,
			"The data of the account is deleted with the account, and cannot be restored.",
			"Set active to false; delete a user only if the administrator has configured deletion.", deactivated),
		row("looks-after-lost-answer", "If the response to a create is lost, the client searches before it creates again", conformance.Interop,
			"The server may have created the resource: a second create makes a duplicate or a conflict.",
			"After a create with no response or a 5xx, search for the name or the externalId before the next create.", lostAnswers),
		row("links-on-conflict", "After a create is rejected with 409, the client searches for the resource", conformance.Interop,
			"The account already exists. A client that only repeats the create never updates or deactivates the account.",
			"Look up the user by userName, store its id and update it.",
			conflicts),
		row("comes-back", "A request with a temporary failure is retried", conformance.Interop,
			"If the client discards a change after one 503, the user never gets or never loses the access.",
			"Store the change, and send the request again with increasing delays until the server accepts it.",
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
				name = "an unknown user"
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
			continue // another expectation covers missing users
		}
		for _, path := range slices.Sorted(maps.Keys(m.Set)) {
			value, _ := scim.Value(m.Set[path])
			g.holds(has(found[0], path, m.Set[path]), -1, path+" of user "+m.UserName, describe(value)+", set by another client",
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
	names := map[string]string{} // path -> name of the resource
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
		g.holds(!open[key], i, "second create of "+name, "a lookup after the response was lost", "none")
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
			continue // the resource exists anyway, and the client may have found it
		}
		g.holds(false, open[key], g.exchanges[open[key]].Method+" "+path, "another attempt", "none")
	}
}
