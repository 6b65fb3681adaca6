package checks

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/oracle"
	"github.com/scimwright/scimwright/scim"
)

// The checks of this area generate their requests from the target's schemas and the seed of the run, and compare the responses with the
// predictions of package oracle. The predictions start from the resources as the target returns them. The checks ignore attributes that the
// target does not store as sent, so that defaults and rules of the target cause no findings.

// oracles are the checks of this area.
var oracles = slices.Concat(oracleQueries, oracleChanges, oracleLists)

const (
	// userCount and otherCount are the numbers of objects per type that the checks use: of users, and of each other type.
	userCount, otherCount = 10, 4
	// shrinkTries is the maximum number of attempts to find the smallest request with a difference.
	shrinkTries = 40
)

// population is a fixture with objects of every type of the target. A label consists of the name of the type, a slash, a word, a dash and a
// number, for example "User/Ash-03".
var population = &conformance.Fixture{
	Name:     "forest",
	Requests: 3 * (userCount + 2*otherCount),
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		out := map[string]*conformance.Created{}
		_, domain, _ := strings.Cut(t.UserName(""), "@")
		for _, td := range oracleTypes(t) {
			p, model := objectCreator{t: t, td: td}, oracleType(td)
			r := oracle.Rand(t.Seed(), "forest "+td.name)
			habits := oracle.Habits(r, model, commonAttributes...)
			for i := range td.populationSize() {
				label := fmt.Sprintf("%s-%02d", []string{"Ash", "ash", "Beech", "BEECH", "Yew"}[r.IntN(5)], i)
				values := map[string]any{}
				for _, a := range model.Attributes {
					if !a.Free() {
						continue
					}
					if v := a.Value(r, habits[a.Path()], label, domain); v != nil {
						values[a.Path()] = v
					}
				}
				if td.endpoint == "/Groups" {
					values["members"] = twoMembers(r, out)
				}
				c := p.create(ctx, label, values)
				c.Resource = t.Read(ctx, c.Path()).Object()
				out[td.name+"/"+label] = c
			}
		}
		t.SkipIf(len(out) == 0, "the target does not describe its resource types and schemas")
		return out
	},
}

// twoMembers returns two random users of the objects as members of a group, nil if there are fewer than two users.
func twoMembers(r *rand.Rand, objects map[string]*conformance.Created) any {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(objects)), func(key string) bool { return objects[key].Collection != "/Users" })
	if len(keys) < 2 {
		return nil
	}
	var out []any
	for _, i := range r.Perm(len(keys))[:2] {
		out = append(out, doc{"value": objects[keys[i]].ID})
	}
	return out
}

// commonAttributes are attributes that every object of the population has if its type defines them.
var commonAttributes = []string{"name", "emails", "active"}

// oracleTypes returns users, groups and the first other type of the target. It omits types that the target does not serve or describe.
func oracleTypes(t *T) []typeDef {
	var out []typeDef
	own := false
	for _, td := range types(t) {
		switch {
		case td.endpoint == "/Users" && !t.Capabilities.Users, td.endpoint == "/Groups" && !t.Capabilities.Groups, td.custom() && own:
			continue
		}
		own = own || td.custom()
		out = append(out, td)
	}
	return out
}

// populationSize returns the number of objects of the type in the population.
func (td typeDef) populationSize() int {
	if td.endpoint == "/Users" {
		return userCount
	}
	return otherCount
}

// oracleType converts a resource type to the type of package oracle.
func oracleType(td typeDef) oracle.Type {
	var of func(a attrDef) oracle.Attribute
	of = func(a attrDef) oracle.Attribute {
		out := oracle.Attribute{
			URN: a.urn, Name: a.name, Kind: a.kind, Multi: a.multi, Required: a.required, CaseExact: a.caseExact, CaseStated: a.caseStated,
			Mutability: a.mutability, Returned: a.returned, Uniqueness: a.uniqueness, Canonical: a.canonical,
		}
		for _, s := range a.subs {
			out.Subs = append(out.Subs, of(s))
		}
		return out
	}
	out := oracle.Type{Schema: td.schema, Carrier: td.carrier}
	for _, a := range td.attributes {
		out.Attributes = append(out.Attributes, of(a))
	}
	return out
}

// An objectCreator creates objects of a type with generated values. After the target has rejected one request, the creator sends only
// values of the common attributes and the required attributes; after a second rejection, only the required attributes.
type objectCreator struct {
	t          *T
	td         typeDef
	rejections int // number of requests that the target has rejected
}

func (p *objectCreator) create(ctx context.Context, label string, values map[string]any) *conformance.Created {
	for {
		body := p.body(label, values)
		if p.rejections == 0 && (p.td.endpoint == "/Users" || p.td.endpoint == "/Groups") {
			if c := p.t.CreateReduced(ctx, p.td.endpoint, body); c != nil {
				return c
			}
			p.rejections++
			continue
		}
		res := p.t.Post(ctx, p.td.endpoint, body)
		if p.td.address(res) != "" {
			return &conformance.Created{ID: res.Object().Text("id"), Collection: p.td.endpoint, Sent: body, Resource: res.Object()}
		}
		p.rejections++
		p.t.SkipIf(p.rejections > 2, fmt.Sprintf("blocked: %s is a prerequisite and %s", res.Name, res.Without("an id")))
	}
}

// body returns the body that creates an object. A value that typeDef.fresh has set, for example one that the operator has configured, is
// replaced only if it belongs to a common attribute or to an extension.
func (p *objectCreator) body(label string, values map[string]any) doc {
	body := p.td.fresh(p.t, label)
	if p.rejections > 1 {
		return body
	}
	for _, a := range p.td.attributes {
		v, chosen := values[a.path()]
		_, given := body[a.name]
		known := a.urn == "" && slices.Contains(commonAttributes, a.name)
		if chosen && v != nil && (known || p.rejections == 0 && (a.urn != "" || !given)) {
			a.set(body, v)
		}
	}
	return body
}

// A typePopulation contains the objects of the population that have one resource type.
type typePopulation struct {
	td      typeDef
	model   oracle.Type // the type, with only the attributes that the target stores as sent and the naming attribute
	prefix  string      // prefix of the names of all objects
	objects map[string]*conformance.Created
}

// typePopulations returns the objects of the fixture population, grouped by resource type.
func typePopulations(t *T) []typePopulation {
	var out []typePopulation
	for _, td := range oracleTypes(t) {
		g := typePopulation{td: td, model: oracleType(td), objects: map[string]*conformance.Created{}}
		for key, c := range t.Fixture {
			if label, ok := strings.CutPrefix(key, td.name+"/"); ok {
				g.objects[label] = c
				name, _ := c.Sent[td.carrier].(string)
				g.prefix, _, _ = strings.Cut(name, label)
			}
		}
		g.model.Attributes = slices.DeleteFunc(g.model.Attributes, func(a oracle.Attribute) bool {
			if a.URN == "" && a.Name == td.carrier {
				return false
			}
			return !a.Free() || slices.ContainsFunc(g.labels(), func(label string) bool { return !storedAsSent(a, g.objects[label]) })
		})
		for i := range g.model.Attributes {
			g.model.Attributes[i].Observe(g.stored())
		}
		if len(g.objects) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// userPopulation returns the users of the fixture, and skips the check if there are none.
func userPopulation(t *T) typePopulation {
	all := typePopulations(t)
	i := slices.IndexFunc(all, func(g typePopulation) bool { return g.td.endpoint == "/Users" })
	t.SkipIf(i < 0, "the target does not describe users in its resource types and schemas")
	return all[i]
}

// storedAsSent reports whether the target has stored an attribute of an object as sent.
func storedAsSent(a oracle.Attribute, c *conformance.Created) bool {
	sent, _ := plain(c.Sent).(*scim.Object)
	return a.Same(a.Of(sent), a.Of(c.Resource))
}

func (g typePopulation) labels() []string { return slices.Sorted(maps.Keys(g.objects)) }

// stored returns the resources of the objects as the target has stored them, sorted by label.
func (g typePopulation) stored() []*scim.Object {
	var out []*scim.Object
	for _, label := range g.labels() {
		out = append(out, g.objects[label].Resource)
	}
	return out
}

// labelsOf translates ids to labels in the same order. An id of another resource becomes "another resource".
func (g typePopulation) labelsOf(ids []string) []string {
	out := []string{}
	for _, id := range ids {
		label := "another resource"
		for l, c := range g.objects {
			if c.ID == id {
				label = l
			}
		}
		out = append(out, label)
	}
	return out
}

// repeatHint returns the flags that run the check with this id again with the same requests, for the text of a finding.
func repeatHint(t *T, id string) string {
	rounds := ""
	if t.Rounds() > 1 {
		rounds = fmt.Sprintf(" --oracle-rounds %d", t.Rounds())
	}
	return fmt.Sprintf("; repeat with --seed %d%s --only %s", t.Seed(), rounds, id)
}

// shrinkCase returns the smallest case found for which the response still differs from the prediction, and the evidence, for example the
// response. The function differs sends the request of a case; it returns the evidence and reports whether the response differs from the
// prediction.
func shrinkCase[C, E any](start C, evidence E, smaller func(C) iter.Seq[C], differs func(C) (E, bool), tries int) (C, E) {
	smallest := oracle.Shrink(start, smaller, func(c C) bool {
		e, ok := differs(c)
		if ok {
			evidence = e
		}
		return ok
	}, tries)
	return smallest, evidence
}
