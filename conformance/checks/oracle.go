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

// The checks of this area make up what they ask, from the target's own schemas and the seed of the run, and compare the answers
// with what package oracle foretells. Everything starts from what the target says it has stored, and attributes that it does not
// keep as they were sent are left alone, so that its own defaults and rules are not held against it.

// oracles are these checks.
var oracles = slices.Concat(oracleQueries, oracleChanges, oracleLists)

const (
	// manyTrees and fewTrees are how many objects of users, and of any other type, the checks work on.
	manyTrees, fewTrees = 10, 4
	// shrinkTries bounds how often a target is asked again to find the smallest request that shows a difference.
	shrinkTries = 40
)

// forest is a population of every type of the target: labels are the type's name, a slash, a word and a number.
var forest = &conformance.Fixture{
	Name:     "forest",
	Requests: 3 * (manyTrees + 2*fewTrees),
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		out := map[string]*conformance.Created{}
		_, domain, _ := strings.Cut(t.UserName(""), "@")
		for _, td := range oracleTypes(t) {
			p, model := planter{t: t, td: td}, modelled(td)
			r := oracle.Rand(t.Seed(), "forest "+td.name)
			habits := oracle.Habits(r, model, familiar...)
			for i := range td.trees() {
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
					values["members"] = somebody(r, out)
				}
				c := p.plant(ctx, label, values)
				c.Resource = t.Read(ctx, c.Path()).Object()
				out[td.name+"/"+label] = c
			}
		}
		t.SkipIf(len(out) == 0, "the target does not describe its resource types and schemas")
		return out
	},
}

// somebody are two of the users that are there, as members of a group; nil when there are none.
func somebody(r *rand.Rand, forest map[string]*conformance.Created) any {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(forest)), func(key string) bool { return forest[key].Collection != "/Users" })
	if len(keys) < 2 {
		return nil
	}
	var out []any
	for _, i := range r.Perm(len(keys))[:2] {
		out = append(out, doc{"value": forest[keys[i]].ID})
	}
	return out
}

// familiar are the attributes that every object of the forest has when its type knows them.
var familiar = []string{"name", "emails", "active"}

// oracleTypes are users, groups and the first of the target's own types, as far as they are served and described.
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

// trees is how many objects of the type the forest has.
func (td typeDef) trees() int {
	if td.endpoint == "/Users" {
		return manyTrees
	}
	return fewTrees
}

// modelled turns a type into what package oracle works with.
func modelled(td typeDef) oracle.Type {
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

// A planter creates objects of a type with made-up values. A target that rejects them gets the familiar ones only, and at last
// none beyond what creation needs.
type planter struct {
	t   *T
	td  typeDef
	shy int // how often the target has rejected
}

func (p *planter) plant(ctx context.Context, label string, values map[string]any) *conformance.Created {
	for {
		body := p.body(label, values)
		res := p.t.Post(ctx, p.td.endpoint, body)
		if p.td.address(res) != "" {
			return &conformance.Created{ID: res.Object().Text("id"), Collection: p.td.endpoint, Sent: body, Resource: res.Object()}
		}
		p.shy++
		p.t.SkipIf(p.shy > 2, fmt.Sprintf("blocked: %s, needed as a preparation, answered %d without an id", res.Name, res.Status))
	}
}

// body is what creates an object. What the operator says that creation needs is left as it is.
func (p *planter) body(label string, values map[string]any) doc {
	body := p.td.fresh(p.t, label)
	if p.shy > 1 {
		return body
	}
	for _, a := range p.td.attributes {
		v, chosen := values[a.path()]
		_, given := body[a.name]
		known := a.urn == "" && slices.Contains(familiar, a.name)
		if chosen && v != nil && (known || p.shy == 0 && (a.urn != "" || !given)) {
			a.set(body, v)
		}
	}
	return body
}

// A grove is the part of the forest that is of one type.
type grove struct {
	td     typeDef
	model  oracle.Type // the attributes that the target keeps as they were sent, and the carrier
	prefix string      // of the names of all objects
	trees  map[string]*conformance.Created
}

// groves returns what there is to work on, by type.
func groves(t *T) []grove {
	var out []grove
	for _, td := range oracleTypes(t) {
		g := grove{td: td, model: modelled(td), trees: map[string]*conformance.Created{}}
		for key, c := range t.Fixture {
			if label, ok := strings.CutPrefix(key, td.name+"/"); ok {
				g.trees[label] = c
				name, _ := c.Sent[td.carrier].(string)
				g.prefix, _, _ = strings.Cut(name, label)
			}
		}
		g.model.Attributes = slices.DeleteFunc(g.model.Attributes, func(a oracle.Attribute) bool {
			if a.URN == "" && a.Name == td.carrier {
				return false
			}
			return !a.Free() || slices.ContainsFunc(g.labels(), func(label string) bool { return !keeps(a, g.trees[label]) })
		})
		for i := range g.model.Attributes {
			g.model.Attributes[i].Observe(g.stored())
		}
		if len(g.trees) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// usersOf returns the grove of the users, and skips the check when there is none.
func usersOf(t *T) grove {
	all := groves(t)
	i := slices.IndexFunc(all, func(g grove) bool { return g.td.endpoint == "/Users" })
	t.SkipIf(i < 0, "the target does not describe its users")
	return all[i]
}

// keeps reports whether a target has stored an attribute of an object as it was sent.
func keeps(a oracle.Attribute, c *conformance.Created) bool {
	sent, _ := plain(c.Sent).(*scim.Object)
	return a.Same(a.Of(sent), a.Of(c.Resource))
}

func (g grove) labels() []string { return slices.Sorted(maps.Keys(g.trees)) }

// stored are the resources as the target has stored them, by label.
func (g grove) stored() []*scim.Object {
	var out []*scim.Object
	for _, label := range g.labels() {
		out = append(out, g.trees[label].Resource)
	}
	return out
}

// named translates ids into labels, in their order; strangers are called so.
func (g grove) named(ids []string) []string {
	out := []string{}
	for _, id := range ids {
		label := "a stranger"
		for l, c := range g.trees {
			if c.ID == id {
				label = l
			}
		}
		out = append(out, label)
	}
	return out
}

// again says how a finding of a check is had once more.
func again(t *T, id string) string {
	rounds := ""
	if t.Rounds() > 1 {
		rounds = fmt.Sprintf(" --oracle-rounds %d", t.Rounds())
	}
	return fmt.Sprintf("; again with --seed %d%s --only %s", t.Seed(), rounds, id)
}

// least looks for the smallest case that still differs and shows that one. Differs asks the target, keeps what it saw in the
// evidence, and reports whether the answer is another one than foretold.
func least[C, E any](start C, evidence E, smaller func(C) iter.Seq[C], differs func(C) (E, bool), tries int) (C, E) {
	smallest := oracle.Shrink(start, smaller, func(c C) bool {
		e, ok := differs(c)
		if ok {
			evidence = e
		}
		return ok
	}, tries)
	return smallest, evidence
}
