package foreign_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// organization is the directory of a run, in a form that can be compared with any target.
type organization struct {
	people []*person
	teams  []*team
	random *rand.Rand
}

type person struct {
	id, userName, mail, given, family, display, title, phone, department string

	want    engine.Want
	account bool // the desired state has included an account in this or an earlier phase, so the target must have the account
}

type team struct {
	id, name string
	members  map[*person]bool
	want     engine.Want
	erase    bool // with Absent: delete the group on the target
}

const (
	peopleCount = 500
	teamCount   = 20
)

// The users get these names in rotation.
var (
	givenNames = []string{"Ada", "Zoë", "Łukasz", "李", "Ngọc Ánh", "عائشة", "Anne-Marie", `Bo "Bobby"`, "Siân", "O", "Δημήτρης", "Jo\\hn",
		"🦊 Fox"}
	familyNames = []string{"Lovelace", "O'Brien", "Müller-Łęcki", "小龍", "d’Arc", "van der Berg", "Smith, Jr.", "Ünal", "x=1&y=2", "100%",
		"St. John"}
	titles      = []string{"Engineer", "Chef d'équipe", "Head of R&D", `"Acting" Director`, "Sales + Support"}
	departments = []string{"Research & Development", "Einkauf/Verkauf", "営業部", "Q"}
)

// specialUserNames are userNames that must be quoted or escaped in a lookup.
var specialUserNames = map[int]string{
	11: `quo"te`, 22: `back\slash`, 33: "o'neil@example.com", 44: "plus+sign@example.com", 55: "jürgen.größe@example.com",
	66: "per%cent&amp@example.com", 77: "two words", 88: "UPPER.Case@Example.com",
}

func newOrganization() *organization {
	o := &organization{random: rand.New(rand.NewPCG(5, 1))}
	for i := range peopleCount {
		p := &person{id: fmt.Sprintf("u-%04d", i), want: engine.Absent}
		p.given, p.family = givenNames[i%len(givenNames)], familyNames[i%len(familyNames)]
		p.display, p.title = p.given+" "+p.family, titles[i%len(titles)]
		p.phone, p.department = fmt.Sprintf("+49 30 %05d", i), departments[i%len(departments)]
		p.userName = fmt.Sprintf("person%04d@example.com", i)
		p.mail = p.userName
		if odd, is := specialUserNames[i]; is {
			p.userName = odd
		}
		o.people = append(o.people, p)
	}
	sizes := []int{0, 1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 99, 100, 101, 200}
	for i := range teamCount {
		g := &team{id: fmt.Sprintf("g-%02d", i), name: fmt.Sprintf("Team %02d", i), members: map[*person]bool{}, want: engine.Absent}
		for _, at := range o.random.Perm(peopleCount)[:sizes[i]] {
			g.members[o.people[at]] = true
		}
		o.teams = append(o.teams, g)
	}
	o.teams[4].name, o.teams[5].name, o.teams[6].name = "Équipe «Ω» & Co.", `The "A" team`, "Back\\slash, comma"
	return o
}

// some returns n random elements that satisfy fits.
func some[E any](o *organization, n int, all []E, fits func(E) bool) []E {
	var fitting []E
	for _, e := range all {
		if fits(e) {
			fitting = append(fitting, e)
		}
	}
	o.random.Shuffle(len(fitting), func(i, j int) { fitting[i], fitting[j] = fitting[j], fitting[i] })
	return fitting[:n]
}

func (o *organization) active(p *person) bool   { return p.want == engine.Active }
func (o *organization) inactive(p *person) bool { return p.want != engine.Active && p.account }
func (o *organization) pushed(g *team) bool     { return g.want == engine.Active }

// attributes returns the expected values of an account by their path in the engine.
func (p *person) attributes() map[string]string {
	return map[string]string{
		"userName": p.userName, "externalId": p.id, "name.givenName": p.given, "name.familyName": p.family, "displayName": p.display,
		"title": p.title, "emails": p.mail, "phoneNumbers": p.phone, scim.EnterpriseUserSchema + ":department": p.department,
	}
}

func (p *person) state() engine.UserState {
	r := &scim.Resource{}
	r.Set("schemas", []string{scim.UserSchema, scim.EnterpriseUserSchema})
	r.Set("userName", p.userName)
	r.Set("externalId", p.id)
	r.Set("name", object{"givenName": p.given, "familyName": p.family})
	r.Set("displayName", p.display)
	r.Set("title", p.title)
	if p.title == "" {
		r.Set("title", nil)
	}
	r.Set("emails", []any{object{"value": p.mail, "type": "work", "primary": true}})
	r.Set("phoneNumbers", []any{object{"value": p.phone, "type": "work"}})
	r.Set(scim.EnterpriseUserSchema, object{"department": p.department})
	return engine.UserState{Want: p.want, UserName: p.userName, Resource: r}
}

func (g *team) state() engine.GroupState {
	return engine.GroupState{Want: g.want, DisplayName: g.name, DeleteRemote: g.erase}
}

// sorted returns the members by id, so that random choices are the same in every run.
func (g *team) sorted() (out []*person) {
	for p := range g.members {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *person) int { return cmp.Compare(a.id, b.id) })
	return out
}
