package foreign_test

import (
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// phase is one step of the history that every target goes through.
type phase struct {
	name string
	do   func(r *run)
}

// history contains the phases. Each phase is marked in one transaction, and the test waits for it.
var history = []phase{
	{"one user and one group, one change of each kind", func(r *run) { r.pilot() }},
	{"the other 499 users are assigned; one account exists already", func(r *run) {
		known := r.people[7]
		r.target.create(r.t, "/Users", object{
			"schemas": []string{scim.UserSchema}, "userName": known.userName, "title": "by hand", "active": true,
			"name":   object{"givenName": "By", "familyName": "Hand"},
			"emails": []any{object{"value": known.mail, "type": "work", "primary": true}},
		})
		for _, p := range r.people[1:] {
			p.want = engine.Active
			r.person(p)
		}
	}},
	{"the other 19 groups are pushed, 0 to 200 members; one exists already", func(r *run) {
		r.target.create(r.t, "/Groups", object{"schemas": []string{scim.GroupSchema}, "displayName": r.teams[3].name})
		for _, g := range r.teams {
			if g.want != engine.Active {
				g.want = engine.Active
				r.team(g, engine.Mark{AllMembers: true})
			}
		}
	}},
	{"150 users are changed, the title of 10 of them is removed", func(r *run) {
		for i, p := range some(r.organization, 150, r.people, r.active) {
			p.family, p.department = p.family+"-Neu", "Moved"
			p.display, p.title = p.given+" "+p.family, "Senior "+p.title
			if i < 10 {
				p.title = ""
			}
			r.person(p)
		}
	}},
	{"30 users are renamed", func(r *run) {
		for _, p := range some(r.organization, 30, r.people, r.active) {
			p.userName = "renamed." + p.id + "@example.com"
			p.mail = p.userName
			r.person(p)
		}
	}},
	{"100 users are deactivated, half of them by unassignment", func(r *run) {
		for i, p := range some(r.organization, 100, r.people, r.active) {
			p.want = []engine.Want{engine.Inactive, engine.Absent}[i%2]
			r.person(p)
		}
	}},
	{"50 of the deactivated users are activated again", func(r *run) {
		for _, p := range some(r.organization, 50, r.people, r.inactive) {
			p.want = engine.Active
			r.person(p)
		}
	}},
	{"5 groups are renamed", func(r *run) {
		for i, g := range some(r.organization, 5, r.teams, r.pushed) {
			g.name = fmt.Sprintf("Renamed team %d – “new”", i)
			r.team(g, engine.Mark{})
		}
	}},
	{"100 members are removed, 100 are added", func(r *run) {
		for range 100 {
			g := some(r.organization, 1, r.teams, func(g *team) bool { return len(g.members) > 0 })[0]
			r.member(g, some(r.organization, 1, g.sorted(), func(*person) bool { return true })[0], false)
			g = some(r.organization, 1, r.teams, r.pushed)[0]
			r.member(g, some(r.organization, 1, r.people, func(p *person) bool { return !g.members[p] })[0], true)
		}
	}},
	{"5 groups are no longer pushed, 3 of them are deleted on the target", func(r *run) {
		for i, g := range some(r.organization, 5, r.teams, r.pushed) {
			g.want, g.erase = engine.Absent, i < 3
			r.team(g, engine.Mark{})
		}
	}},
	{"another client deletes 1 account, then the directory changes the user", func(r *run) {
		g := some(r.organization, 1, r.teams, func(g *team) bool { return r.pushed(g) && len(g.members) > 4 })[0]
		p := some(r.organization, 1, g.sorted(), r.active)[0]
		r.target.remove(r.t, "/Users", r.remoteID(engine.User, p.id))
		p.title = "Phoenix"
		r.person(p)
	}},
	{"another client deletes 1 group, then the directory renames the group", func(r *run) {
		g := some(r.organization, 1, r.teams, func(g *team) bool { return r.pushed(g) && len(g.members) > 4 })[0]
		r.target.remove(r.t, "/Groups", r.remoteID(engine.Group, g.id))
		g.name = "Back again"
		r.team(g, engine.Mark{})
	}},
	{"all users and groups are marked again", func(r *run) { r.everything() }},
	{"all users and groups are marked once more", func(r *run) { r.everything() }},
}

// pilot makes one change of each kind to the first user and to the second group. The engine then knows the behavior of the target before
// many concurrent sequences start, so all later requests are the same in every run.
func (r *run) pilot() {
	p, g := r.people[0], r.teams[1]
	others := g.members
	user := func(change func()) func() { return func() { change(); r.person(p) } }
	group := func(m engine.Mark, change func()) func() { return func() { change(); r.team(g, m) } }
	for _, step := range []func(){
		user(func() { p.want = engine.Active }),
		group(engine.Mark{AllMembers: true}, func() { g.want, g.members = engine.Active, map[*person]bool{p: true} }),
		user(func() { p.title = "Pilot" }),
		user(func() { p.want = engine.Inactive }),
		user(func() { p.want = engine.Active }),
		group(engine.Mark{}, func() { g.name = "Pilots" }),
		func() { r.member(g, p, false) },
		func() { r.member(g, p, true) },
		group(engine.Mark{AllMembers: true}, func() {}),
		group(engine.Mark{AllMembers: true}, func() { g.members = others }),
	} {
		step()
		r.settle()
	}
}
