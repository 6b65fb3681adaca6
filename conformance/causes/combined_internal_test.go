package causes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// faultsOf returns the faults of picks, sorted.
func faultsOf(picks []pick) (out []string) {
	for _, p := range picks {
		out = append(out, p.signature.Faults...)
	}
	slices.Sort(out)
	return out
}

// groupTexts returns the checks of each group, sorted.
func groupTexts(groups []*group) (out []string) {
	for _, g := range groups {
		out = append(out, strings.Join(slices.Sorted(slices.Values(g.checks)), " "))
	}
	slices.Sort(out)
	return out
}

// TestExplain_HiddenPart checks that one fault, of which another fault makes a check pass, explains the symptoms better than several faults
// do, unless the findings are mostly those of unknown faults.
func TestExplain_HiddenPart(t *testing.T) {
	findings := severalMissed(6)
	symptoms, whole := observedBy("whole", findings...)
	whole.Others = append(whole.Others, "filter.z")
	signatures := []Signature{whole}
	for i := 0; i < len(findings); i += 2 {
		_, s := observedBy(fmt.Sprint("part ", i), findings[i], findings[i+1])
		signatures = append(signatures, s)
	}
	passed := map[string]bool{"filter.z": true}
	_, half := observedBy("half", findings[:3]...)
	_, rest := observedBy("rest", findings[3:]...)
	require.Equal(t, []string{"half", "rest"}, faultsOf(explain(symptoms, passed, []Signature{whole, half, rest})), "two faults cost no more")
	require.Equal(t, []string{"whole"}, faultsOf(explain(symptoms, passed, signatures)))
	for i := range 6 {
		other := accepts(fmt.Sprintf("patch.%c", 'a'+i))
		symptoms[other.check] = other.symptom()
	}
	require.Equal(t, []string{"part 0", "part 2", "part 4"}, faultsOf(explain(symptoms, passed, signatures)), "half of the symptoms are known")
}

// TestExplain_ChangedPart checks that one fault, of which another fault changes a finding, explains the symptoms better than several faults
// do.
func TestExplain_ChangedPart(t *testing.T) {
	explained := func(changed, size int) []string {
		findings := severalMissed(6)
		_, whole := observedBy("whole", findings...)
		for i := range changed {
			findings[i] = crash(findings[i].check, "GET")
		}
		symptoms, _ := observedBy("", findings...)
		signatures := []Signature{whole}
		for part := range slices.Chunk(findings, size) {
			_, s := observedBy("part "+part[0].check, part...)
			signatures = append(signatures, s)
		}
		return faultsOf(explain(symptoms, nil, signatures))
	}
	require.Equal(t, []string{"whole"}, explained(1, 2))
	require.Equal(t, []string{"part filter.a", "part filter.d"}, explained(1, 3), "two faults cost no more")
	require.Equal(t, []string{"part filter.a", "part filter.c", "part filter.e"}, explained(3, 2), "half of the findings are changed")
}

// TestExplain_Contradicted checks that a known fault does not explain a symptom with the finding about another fault, unless the findings
// are mostly those of unknown faults.
func TestExplain_Contradicted(t *testing.T) {
	symptoms, large := observedBy("large", missed("filter.a"), missed("filter.b"), missed("filter.c"))
	unavailable := shown{check: "list.a", what: "status of a list", want: "200", got: "503", exchange: sent("GET", "/Users", 503, "")}
	_, single := observedBy("single", unavailable)
	_, other := observedBy("other", crash("list.a", "GET"), crash("list.b", "GET"))
	symptoms["list.a"] = crash("list.a", "GET").symptom()
	faults := func(signatures ...Signature) []string {
		return faultsOf(explain(symptoms, map[string]bool{"list.b": true, "list.c": true}, append(signatures, large)))
	}
	require.Equal(t, []string{"large", "other"}, faults(single, other), "only the other fault has this finding")
	_, third := observedBy("third", crash("list.a", "GET"), crash("list.c", "GET"))
	require.Equal(t, []string{"large"}, faults(single, other, third), "two faults have this finding")
	require.Equal(t, []string{"large", "single"}, faults(single), "no known fault has this finding")
	symptoms["list.a"] = unavailable.symptom()
	require.Equal(t, []string{"large", "single"}, faults(single, other), "the finding is that about the fault")
	symptoms["list.a"] = crash("list.a", "GET").symptom()
	for _, id := range []string{"patch.a", "patch.b"} {
		symptoms[id] = accepts(id).symptom()
	}
	require.Equal(t, []string{"large", "single"}, faults(single, other), "half of the symptoms are known")
}

// TestExplain_OtherFinding checks that a known fault explains symptoms with other findings than those about the fault alone if each is
// about the same kind of request, which fails for both or for none, unless it is that of another known fault. If a check of the fault has
// passed, it does not explain other wrong values.
func TestExplain_OtherFinding(t *testing.T) {
	findings := severalMissed(12)
	value := func(got, path string) shown {
		return shown{what: "members", want: "3", got: got, exchange: sent("GET", path, 200, "")}
	}
	rejects := func(status int) shown {
		return shown{what: "status", want: "200", got: fmt.Sprint(status), exchange: sent("GET", "/Users", status, "")}
	}
	about := func(check string, s shown) shown {
		s.check = check
		return s
	}
	one, none, two := value("one", "/Users"), value("none", "/Users"), value("two", "/Users")
	checks := []string{"list.a", "list.b", "list.c"}
	for _, c := range []struct {
		name   string
		known  shown
		shown  [3]shown
		passed bool
		want   bool
	}{
		{"the findings about the fault", one, [3]shown{one, one, one}, false, true},
		{"other values", one, [3]shown{none, none, none}, false, true},
		{"other values, and a check has passed", one, [3]shown{none, none, none}, true, false},
		{"the values of another known fault", one, [3]shown{two, two, two}, false, false},
		{"other requests", one, [3]shown{value("none", "/Users/1"), value("none", "/Users/1"), value("none", "/Users/1")}, false, false},
		{"errors in place of wrong values", one, [3]shown{rejects(400), rejects(400), rejects(400)}, false, false},
		{"no responses in place of wrong values", one, [3]shown{rejects(0), rejects(0), rejects(0)}, false, false},
		{"other errors", rejects(400), [3]shown{rejects(415), rejects(415), rejects(415)}, false, true},
		{"other errors, and a check has passed", rejects(400), [3]shown{rejects(415), rejects(415), rejects(415)}, true, true},
		{"an error among other values", one, [3]shown{none, none, rejects(400)}, false, true},
		{"an error among other values, and a check has passed", one, [3]shown{none, none, rejects(400)}, true, false},
	} {
		symptoms, large := observedBy("large", findings...)
		var known, others []shown
		for i, check := range checks {
			symptoms[check] = about(check, c.shown[i]).symptom()
			known = append(known, about(check, c.known))
			others = append(others, about(check, two))
		}
		_, single := observedBy("single", known...)
		_, other := observedBy("other", append(others, accepts("put.a"), accepts("put.b"), accepts("put.c"))...)
		single.Others = append(single.Others, "list.d")
		passed := map[string]bool{"put.a": true, "put.b": true, "put.c": true, "list.d": c.passed}
		found := faultsOf(explain(symptoms, passed, []Signature{large, single, other}))
		require.Equal(t, c.want, slices.Contains(found, "single"), "%s: %s", c.name, found)
	}
}

// TestPartlyHidden_Candidates checks which candidates explain a finding that no chosen pick predicts, if half of their checks have passed.
func TestPartlyHidden_Candidates(t *testing.T) {
	candidate := func(fault string, same, certain int, check string, fingerprints ...string) pick {
		return pick{same: same, certain: certain, symptoms: map[string]bool{check: true},
			signature: Signature{Faults: []string{fault}, Fingerprints: map[string][]string{check: fingerprints}}}
	}
	shown := map[string][]string{"filter.a": {"f1"}, "traffic.a": {"t1"}, "traffic.b": {"t2", "t3"}}
	for _, c := range []struct {
		name       string
		candidates []pick
		want       []string
	}{
		{"the only one", []pick{candidate("a", 1, 1, "filter.a", "f1")}, []string{"a"}},
		{"another finding", []pick{candidate("a", 1, 1, "filter.a", "f2")}, nil},
		{"most checks have passed", []pick{candidate("a", 1, 2, "filter.a", "f1")}, nil},
		{"one of two", []pick{candidate("a", 1, 1, "filter.a", "f1"), candidate("b", 1, 0, "filter.a", "f1")}, nil},
		{"the other one is improbable", []pick{candidate("a", 1, 1, "filter.a", "f1"), candidate("b", 1, 9, "filter.a", "f1")}, []string{"a"}},
		{"one request of all", []pick{candidate("a", 1, 1, "traffic.a", "t1")}, nil},
		{"two requests of all", []pick{candidate("a", 1, 1, "traffic.b", "t2", "t3")}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, faultsOf(partlyHidden(nil, c.candidates, shown))) })
	}
}

// TestMostlyKnown_Share checks the share of the symptoms that must be those of known faults.
func TestMostlyKnown_Share(t *testing.T) {
	symptoms, s := observedBy("fault", missed("filter.a"), missed("filter.b"), missed("filter.c"))
	known := func() bool { return mostlyKnown(explain(symptoms, nil, []Signature{s}), symptoms) }
	require.True(t, known())
	symptoms["put.a"] = accepts("put.a").symptom()
	require.True(t, known(), "three of four")
	symptoms["put.b"] = accepts("put.b").symptom()
	require.False(t, known(), "three of five")
	require.False(t, mostlyKnown(nil, nil), "no symptoms")
}

// TestGroupsOf_KnownFaultsApart checks that a topic merges two known faults only if the target has other faults too.
func TestGroupsOf_KnownFaultsApart(t *testing.T) {
	byID, one := observedBy("one", accepts("body.trailing"))
	two, other := observedBy("two", accepts("body.two-objects"))
	byID["body.two-objects"] = two["body.two-objects"]
	group := func() []string {
		var symptoms []*symptom
		for _, s := range byID {
			symptoms = append(symptoms, s)
		}
		slices.SortFunc(symptoms, func(a, b *symptom) int { return strings.Compare(a.check.ID, b.check.ID) })
		picks := explain(byID, nil, []Signature{one, other})
		return groupTexts(groupsOf(symptoms, nil, picks, newLinker(symptoms, together{}), map[string]int{}))
	}
	require.Equal(t, []string{"body.trailing", "body.two-objects"}, group())
	byID["sort.missing-first"] = missed("sort.missing-first").symptom()
	require.Equal(t, []string{"body.trailing body.two-objects", "sort.missing-first"}, group())
}

// TestGroupsOf_PlainSymptom checks that a known fault whose only other symptom many faults can have keeps the symptom that describes it.
func TestGroupsOf_PlainSymptom(t *testing.T) {
	collecting := crash(anyServerError, "PUT")
	byID, large := observedBy("large", missed("filter.a"), missed("filter.b"), crash("put.a", "PUT"))
	byID[anyServerError] = collecting.symptom()
	_, small := observedBy("small", crash("put.a", "PUT"), collecting)
	var symptoms []*symptom
	for _, id := range []string{"filter.a", "filter.b", "put.a", anyServerError} {
		symptoms = append(symptoms, byID[id])
	}
	picks := explain(byID, nil, []Signature{large, small})
	require.Equal(t, []string{"large", "small"}, faultsOf(picks))
	require.Equal(t, []string{"filter.a filter.b", "put.a traffic.no-server-errors"},
		groupTexts(groupsOf(symptoms, nil, picks, newLinker(symptoms, together{}), map[string]int{})))
}

// TestCollected_Attached checks that the finding of a check that evaluates all requests joins the group with the same request, unless it
// proves a known fault.
func TestCollected_Attached(t *testing.T) {
	read := shown{check: "read.by-id", what: "id", got: "nothing", exchange: sent("GET", "/Users/1", 200, "")}
	collecting := shown{check: "traffic.id", what: "an id", got: "none", exchange: sent("GET", "/Users/2", 200, "")}
	symptoms := []*symptom{read.symptom(), missed("filter.a").symptom(), collecting.symptom()}
	second := shown{check: "traffic.id", what: "an id", got: "none", exchange: sent("PUT", "/Users/2", 200, "")}.symptom()
	symptoms[2].evidence = append(symptoms[2].evidence, second.evidence...)
	byID := map[string]*symptom{"filter.a": symptoms[1], "read.by-id": symptoms[0], "traffic.id": symptoms[2]}
	attach := func(proved bool, fingerprints ...string) []string {
		groups := []*group{{checks: []string{"filter.a"}}, {checks: []string{"read.by-id"}}, {checks: []string{"traffic.id"}, proved: proved,
			fingerprints: map[string][]string{"traffic.id": fingerprints}}}
		return groupTexts(attachCollected(groups, byID, newLinker(symptoms, together{})))
	}
	apart := []string{"filter.a", "read.by-id", "traffic.id"}
	require.Equal(t, []string{"filter.a", "read.by-id traffic.id"}, attach(false))
	require.Equal(t, apart, attach(true))
	own := byID["traffic.id"].fingerprints()
	require.Equal(t, []string{"filter.a", "read.by-id traffic.id"}, attach(false, own[0]), "one request")
	require.Equal(t, apart, attach(false, own...), "two requests")
}

// TestServerErrors_Proved checks that the check of all server errors remains in the group of a known fault that has no other symptom, if
// most symptoms are those of known faults.
func TestServerErrors_Proved(t *testing.T) {
	symptoms := []*symptom{crash("bulk.unknown-path", "POST").symptom(), crash(anyServerError, "GET").symptom()}
	attach := func(proved, known bool) []string {
		groups := []*group{{checks: []string{"bulk.unknown-path"}}, {checks: []string{anyServerError}, proved: proved}}
		return groupTexts(attachServerErrors(groups, symptoms, known))
	}
	apart, together := []string{"bulk.unknown-path", anyServerError}, []string{"bulk.unknown-path " + anyServerError}
	require.Equal(t, apart, attach(true, true))
	require.Equal(t, together, attach(false, true), "the fault is not proved")
	require.Equal(t, together, attach(true, false), "most symptoms are those of unknown faults")
}

// TestPermuted_Values checks when a finding shows the expected values in another order.
func TestPermuted_Values(t *testing.T) {
	for got, want := range map[string]bool{`["b","a"]`: true, `["a"]`: false, `["a","c"]`: false, "[]": false, "null": false, "400": false} {
		require.Equal(t, want, permuted(conformance.Finding{Want: `["a","b"]`, Got: got}), got)
	}
	require.False(t, permuted(conformance.Finding{Want: `["a"]`, Got: `["a"]`}), "one value has no order")
}

// TestExplain_ChangingOrder checks that a target whose lists change their order explains findings about the order in the areas of its
// signature.
func TestExplain_ChangingOrder(t *testing.T) {
	byID, changing := observedBy("changing", missed(changingOrder), missed("sort.ascending"))
	_, reversed := observedBy("reversed", missed("sort.descending"))
	for check, want := range map[string]int{"sort.descending": 1, "put.order": 1} {
		order := shown{check: check, what: "order", want: `["a","b"]`, got: `["b","a"]`}
		byID[check] = order.symptom()
		picks := explain(byID, nil, []Signature{changing, reversed})
		require.Len(t, picks, want, check)
		require.Equal(t, check == "sort.descending", picks[0].symptoms[check], check)
		delete(byID, check)
	}
}

// TestExplain_Unblocked checks that a known fault explains the findings of the checks that it blocks, if most of them have findings:
// another fault has changed the response that blocks them. If a single known fault predicts one of these findings, it remains a cause.
func TestExplain_Unblocked(t *testing.T) {
	blocked := []string{"projection.c", "projection.d", "projection.e", "projection.f"}
	for _, c := range []struct {
		blocked, complaining, predicted int
		want                            []string
		added                           int // findings of blocked checks that the known fault explains
	}{
		{4, 3, 3, []string{"whole"}, 3},
		{4, 3, 2, []string{"whole"}, 3},
		{4, 3, 1, []string{"only projection.c", "whole"}, 2},
		{4, 2, 2, []string{"only projection.c", "only projection.d", "whole"}, 0},
		{2, 2, 2, []string{"whole"}, 2},
		{1, 1, 1, []string{"only projection.c", "whole"}, 0},
	} {
		findings := severalMissed(12)
		byID, whole := observedBy("whole", findings...)
		whole.Blocks = blocked[:c.blocked]
		signatures := []Signature{whole}
		for i, id := range blocked[:c.complaining] {
			symptoms, s := observedBy("only "+id, missed(id))
			byID[id] = symptoms[id]
			if i < c.predicted {
				signatures = append(signatures, s)
			}
		}
		picks := explain(byID, nil, signatures)
		require.Equal(t, c.want, faultsOf(picks), "%d of %d blocked checks, of which known faults predict %d", c.complaining, c.blocked,
			c.predicted)
		i := slices.IndexFunc(picks, func(p pick) bool { return p.signature.Faults[0] == "whole" })
		require.Len(t, picks[i].symptoms, len(findings)+c.added)
	}
}

// TestExplain_Reordered checks that a known fault that changes the order of lists explains the findings about orders if other faults would
// explain them too, although some of its checks have passed: chance decides which of them have findings.
func TestExplain_Reordered(t *testing.T) {
	for _, c := range []struct {
		passed []string
		want   []string
	}{
		{[]string{"sort.e"}, []string{"reordered"}},
		{[]string{"sort.e", "sort.f", "sort.g"}, []string{"reordered"}},
		{[]string{"sort.e", "sort.f", "sort.g", "sort.h"},
			[]string{"only list.order", "only sort.a", "only sort.b", "only sort.c", "only sort.d", "only " + changingOrder}},
	} {
		byID, reordered := observedBy("reordered", missed(changingOrder), missed("list.order"), missed("sort.a"), missed("sort.b"),
			missed("sort.c"), missed("sort.d"))
		var signatures []Signature
		for _, id := range reordered.Checks() {
			_, s := observedBy("only "+id, missed(id))
			signatures = append(signatures, s)
		}
		reordered.Others = append(reordered.Others, c.passed...)
		passed := map[string]bool{}
		for _, id := range c.passed {
			passed[id] = true
		}
		require.Equal(t, c.want, faultsOf(explain(byID, passed, append(signatures, reordered))), "%d checks have passed", len(c.passed))
	}
}

// TestExplain_OnlyVaries checks that a known fault is no cause if only a check that generates its requests needs it as an explanation.
func TestExplain_OnlyVaries(t *testing.T) {
	byID, large := observedBy("large", missed("projection.a"), missed("projection.b"))
	generated := shown{check: "oracle.projection", what: "name"}
	_, small := observedBy("small", missed("projection.a"), generated)
	byID[generated.check] = generated.symptom()
	picks := explain(byID, nil, []Signature{large, small})
	require.Equal(t, []string{"large"}, faultsOf(picks))
	symptoms := []*symptom{byID["projection.a"], byID["projection.b"], byID[generated.check]}
	require.Equal(t, []string{"oracle.projection projection.a projection.b"},
		groupTexts(groupsOf(symptoms, nil, picks, newLinker(symptoms, together{}), map[string]int{})))
	delete(byID, "projection.b")
	require.Equal(t, []string{"small"}, faultsOf(explain(byID, map[string]bool{"projection.b": true}, []Signature{large, small})))
}

// TestGroupsOf_ProjectionEmpty checks that reads with the same parameter that omit attributes are one cause, even if each one is a known
// fault.
func TestGroupsOf_ProjectionEmpty(t *testing.T) {
	for faults, want := range map[int]int{4: 4, 5: 1} {
		byID := map[string]*symptom{}
		var symptoms []*symptom
		var signatures []Signature
		for i := range faults {
			id := fmt.Sprintf("projection.%c", 'a'+i)
			read := sent("GET", "/Users/1?attributes=name", 200, "")
			of, s := observedBy("only "+id, shown{check: id, what: "attribute of " + id, want: id, got: "nothing", exchange: read})
			byID[id] = of[id]
			symptoms = append(symptoms, of[id])
			signatures = append(signatures, s)
		}
		picks := explain(byID, nil, signatures)
		require.Len(t, picks, faults)
		require.Len(t, groupsOf(symptoms, nil, picks, newLinker(symptoms, together{}), map[string]int{}), want, "%d faults", faults)
	}
}
