package scimserver

import (
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// This file determines the order of the operations of a bulk request. Operations run concurrently if the result does not depend on their
// order.

// bulkUnit is an operation, or several POST operations that refer to each other in a cycle and run together.
type bulkUnit struct {
	ops   []*bulkOp
	cycle bool
	after []*bulkUnit // the units that have to finish first
	done  bool
}

func (u *bulkUnit) ready() bool {
	return !slices.ContainsFunc(u.after, func(other *bulkUnit) bool { return !other.done })
}

// units returns the units of a bulk request in the order of their first operations.
func (j *bulkJob) units() []*bulkUnit {
	needs := j.needs()
	var units []*bulkUnit
	of := make([]*bulkUnit, len(j.ops))
	component := components(needs)
	first := map[int]*bulkUnit{}
	for i, op := range j.ops {
		u := first[component[i]]
		if u == nil {
			u = &bulkUnit{}
			first[component[i]] = u
			units = append(units, u)
		}
		u.ops = append(u.ops, op)
		u.cycle = len(u.ops) > 1 || slices.Contains(needs[i], i)
		of[i] = u
	}
	for i := range j.ops {
		for _, k := range needs[i] {
			if of[k] != of[i] && !slices.Contains(of[i].after, of[k]) {
				of[i].after = append(of[i].after, of[k])
			}
		}
	}
	return units
}

// needs returns for each operation the indexes of the operations that have to run first: the POST operations that it refers to and the
// previous operation on the same resource.
func (j *bulkJob) needs() [][]int {
	position := make(map[*bulkOp]int, len(j.ops))
	for i, op := range j.ops {
		position[op] = i
	}
	needs := make([][]int, len(j.ops))
	type resource struct {
		t  *resourceType
		id string
	}
	last := map[resource]int{}
	for i, op := range j.ops {
		for _, ref := range op.refs {
			if other := j.byID[ref]; other != nil {
				needs[i] = append(needs[i], position[other])
			}
		}
		if op.err != nil || op.Method == http.MethodPost {
			continue
		}
		key := resource{op.t, op.target}
		if before, ok := last[key]; ok {
			needs[i] = append(needs[i], before)
		}
		last[key] = i
	}
	return needs
}

// components numbers the strongly connected components of a graph (Tarjan's algorithm). Nodes that reach each other get the same number.
func components(edges [][]int) []int {
	var (
		component = make([]int, len(edges))
		index     = make([]int, len(edges)) // 0: not visited
		low       = make([]int, len(edges))
		onStack   = make([]bool, len(edges))
		stack     []int
		visited   int
		visit     func(v int)
	)
	visit = func(v int) {
		visited++
		index[v], low[v], onStack[v] = visited, visited, true
		stack = append(stack, v)
		for _, w := range edges[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if onStack[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		for w := -1; w != v; {
			w = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			onStack[w], component[w] = false, v
		}
	}
	for v := range edges {
		if index[v] == 0 {
			visit(v)
		}
	}
	return component
}

// nextWindow returns the units to run next: the first unit that is ready, and later ones that are independent of the units in the window
// and of all pending units before them. The window has at most the given number of units. At least one unit is always ready, because
// operations that wait for each other form one unit.
func nextWindow(pending []*bulkUnit, most int) (window, rest []*bulkUnit) {
	var overtaken []*bulkUnit
	for i, u := range pending {
		dependent := func(other *bulkUnit) bool { return !independent(u, other) }
		switch {
		case !u.ready():
			overtaken = append(overtaken, u)
			continue
		case len(window) == 0:
			window = append(window, u)
		case len(window) == most || slices.ContainsFunc(window, dependent) || slices.ContainsFunc(overtaken, dependent):
			return window, append(overtaken, pending[i:]...)
		default:
			window = append(window, u)
		}
	}
	return window, overtaken
}

// independent reports whether two units may run concurrently or in any order. They may if both units are single operations with the same
// method, neither operation must run alone (see constraints), and the operations set no unique value in common. The order of operations on
// one resource and of operations that refer to each other is already determined by needs.
func independent(a, b *bulkUnit) bool {
	x, y := a.ops[0], b.ops[0]
	if a.cycle || b.cycle || x.exclusive || y.exclusive || x.Method != y.Method {
		return false
	}
	return !slices.ContainsFunc(x.uniqueValues, func(claim string) bool { return slices.Contains(y.uniqueValues, claim) })
}

// constraints returns the unique values that an operation sets, if it is a POST, and whether it must run alone. An operation with a
// precondition always runs alone. A PUT or PATCH runs alone if it may release a unique value that another operation sets.
func (op *bulkOp) constraints() (claims []string, alone bool) {
	unique := uniquePaths(op.t.ResourceType)
	switch op.Method {
	case http.MethodPost:
		for _, path := range unique {
			for _, v := range valuesAt(op.Data, path) {
				claims = append(claims, op.t.Name+" "+path.String()+" "+filter.Fold(string(scim.AppendValue(nil, v))))
			}
		}
	case http.MethodPut:
		alone = len(unique) > 0
	case http.MethodPatch:
		alone = patchReaches(op.Data, op.t, unique)
	}
	return claims, alone || op.Version != ""
}

// patchReaches reports whether a PATCH names one of the attributes. It is false for a malformed PATCH, which has no effect.
func patchReaches(data *scim.Object, t *resourceType, unique []scim.AttrPath) bool {
	req, err := scim.ParsePatchRequest(data)
	if err != nil {
		return false
	}
	for _, op := range req.Operations {
		for _, path := range writtenByOperation(op, t) {
			resolved, ok := t.Resolve(path)
			if !ok {
				return true
			}
			if slices.ContainsFunc(unique, func(u scim.AttrPath) bool {
				return scim.EqualName(u.URN, resolved.Path.URN) && (resolved.Attribute == nil || scim.EqualName(u.Name, resolved.Path.Name))
			}) {
				return true
			}
		}
	}
	return false
}

// uniquePaths returns the attributes that a type declares unique.
func uniquePaths(t *schema.ResourceType) []scim.AttrPath {
	var paths []scim.AttrPath
	isUnique := func(a *schema.Attribute) bool { return a.Uniqueness == schema.Server || a.Uniqueness == schema.Global }
	add := func(s *schema.Schema, urn string) {
		for _, a := range s.Attributes {
			if isUnique(a) {
				paths = append(paths, scim.AttrPath{URN: urn, Name: a.Name})
			}
			for _, sub := range a.SubAttributes {
				if isUnique(sub) {
					paths = append(paths, scim.AttrPath{URN: urn, Name: a.Name, Sub: sub.Name})
				}
			}
		}
	}
	add(t.Schema, "")
	for _, e := range t.Extensions {
		add(e.Schema, e.Schema.ID)
	}
	return paths
}

// valuesAt returns the values of an attribute in a representation.
func valuesAt(o *scim.Object, path scim.AttrPath) []any {
	if path.URN != "" {
		o = o.Complex(path.URN)
	}
	values := o.Array(path.Name)
	if path.Sub == "" {
		return values
	}
	var out []any
	for _, v := range values {
		element, _ := v.(*scim.Object)
		out = append(out, element.Array(path.Sub)...)
	}
	return out
}
