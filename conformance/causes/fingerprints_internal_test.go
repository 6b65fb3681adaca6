package causes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFingerprint_Parts checks which parts of a finding its fingerprint depends on.
func TestFingerprint_Parts(t *testing.T) {
	finding := func(change func(s *shown)) string {
		s := shown{check: "patch.rename", what: "userName of /Users/17-a", want: "ada", got: `"scimconf-abc-1"`,
			exchange: sent("PATCH", "/Users/17-a", 400, `{"scimType":"invalidPath","detail":"no"}`)}
		s.exchange.RequestBody = `{"Operations":[{"op":"add","path":"emails[type eq \"work\"].value"}]}`
		change(&s)
		return s.symptom().fingerprints()[0]
	}
	plain := finding(func(*shown) {})
	require.Len(t, plain, fingerprintLength)
	for name, change := range map[string]func(s *shown){
		"ids and names of the run": func(s *shown) {
			s.what, s.got, s.exchange.URL = "userName of /Users/23-b", `"scimconf-xyz-2"`, base+"/Users/23-b"
		},
		"the detail":           func(s *shown) { s.exchange.ResponseBody = `{"scimType":"invalidPath","detail":"another text"}` },
		"the filter of a path": func(s *shown) { s.exchange.RequestBody = strings.Replace(s.exchange.RequestBody, "work", "home", 1) },
	} {
		require.Equal(t, plain, finding(change), name)
	}
	for name, change := range map[string]func(s *shown){
		"subject":  func(s *shown) { s.what = "displayName" },
		"value":    func(s *shown) { s.got = "nothing" },
		"status":   func(s *shown) { s.exchange.Status = 409 },
		"scimType": func(s *shown) { s.exchange.ResponseBody = `{"scimType":"noTarget"}` },
		"request":  func(s *shown) { s.exchange.URL += "?attributes=id" },
		"operation": func(s *shown) {
			s.exchange.RequestBody = strings.Replace(s.exchange.RequestBody, "add", "remove", 1)
		},
	} {
		require.NotEqual(t, plain, finding(change), name)
	}
	shape := func(change func(s *shown)) []string { return shapes([]string{finding(change)}) }
	for name, change := range map[string]func(s *shown){
		"subject":  func(s *shown) { s.what = "displayName" },
		"value":    func(s *shown) { s.got = "nothing" },
		"scimType": func(s *shown) { s.exchange.ResponseBody = `{"scimType":"noTarget"}` },
		"status":   func(s *shown) { s.exchange.Status = 409 },
	} {
		require.Equal(t, shapes([]string{plain}), shape(change), name)
	}
	require.NotEqual(t, shapes([]string{plain}), shape(func(s *shown) { s.exchange.URL += "?attributes=id" }))
	require.NotEqual(t, shapes([]string{plain}), shape(func(s *shown) { s.exchange.Status = 200 }))
	require.Equal(t, shapes([]string{plain}), shape(func(s *shown) { s.exchange.Status = 0 }), "no response")
	require.Nil(t, shown{check: "oracle.patch", what: "a"}.symptom().fingerprints(), "the requests of the check vary")
	require.Nil(t, shown{check: "concurrency.put-whole", what: "a"}.symptom().fingerprints())
}

// observedBy returns the symptoms by id, and a signature that they prove.
func observedBy(fault string, findings ...shown) (map[string]*symptom, Signature) {
	byID := map[string]*symptom{}
	s := Signature{Telling: findings[0].check, Faults: []string{fault}}
	for i, f := range findings {
		byID[f.check] = f.symptom()
		if i > 0 {
			s.Others = append(s.Others, f.check)
		}
		s.Fingerprints = withFingerprints(s.Fingerprints, f.check, byID[f.check].fingerprints())
	}
	return byID, s
}

// TestExplain_FingerprintsDistinguish checks that the fingerprints select between one known fault and three known faults with the same
// checks.
func TestExplain_FingerprintsDistinguish(t *testing.T) {
	ids := []string{"put.rename", "patch.rename", "filter.eq"}
	one, whole := observedBy("one", missed(ids[0]), missed(ids[1]), missed(ids[2]))
	three := map[string]*symptom{}
	signatures := []Signature{whole}
	for _, id := range ids {
		symptoms, s := observedBy("only "+id, accepts(id))
		signatures = append(signatures, s)
		three[id] = symptoms[id]
	}
	faults := func(symptoms map[string]*symptom) (out []string) {
		for _, p := range explain(symptoms, nil, signatures) {
			require.True(t, p.proved())
			out = append(out, p.signature.Faults...)
		}
		slices.Sort(out)
		return out
	}
	require.Equal(t, []string{"one"}, faults(one))
	require.Equal(t, []string{"only filter.eq", "only patch.rename", "only put.rename"}, faults(three))
}

// TestPick_Proved checks how many findings may show something else than those about the known fault.
func TestPick_Proved(t *testing.T) {
	findings := severalMissed(20)
	proved := func(others int, passed ...string) bool {
		symptoms, s := observedBy("fault", findings...)
		for _, f := range findings[:others] {
			symptoms[f.check] = accepts(f.check).symptom()
		}
		s.Others = append(s.Others, passed...)
		ran := map[string]bool{}
		for _, id := range passed {
			ran[id] = true
		}
		picks := explain(symptoms, ran, []Signature{s})
		require.Len(t, picks, 1)
		return picks[0].proved()
	}
	require.True(t, proved(0))
	require.True(t, proved(2))
	require.False(t, proved(3), "three of twenty findings show something else")
	require.False(t, proved(0, "filter.z"), "a check of the signature has passed")
	require.True(t, proved(0, "oracle.filter"), "the results of a check that generates its requests vary")
	withoutFingerprints := explain(map[string]*symptom{"filter.a": findings[0].symptom()}, nil, []Signature{{Telling: "filter.a"}})
	require.False(t, withoutFingerprints[0].proved())
	collecting, s := observedBy("fault", crash("filter.empty", "GET"), crash(anyServerError, "GET"))
	collecting[anyServerError] = crash(anyServerError, "POST").symptom()
	require.True(t, explain(collecting, nil, []Signature{s})[0].proved(), "the check reports the requests of another fault")
}

// TestExplain_UnsteadyValues checks that the values in the findings need not be equal if lists change their order.
func TestExplain_UnsteadyValues(t *testing.T) {
	for check, want := range map[string]bool{"steadiness.list-order": true, "list.stable-order": false} {
		symptoms, s := observedBy("fault", missed(check), missed("sort.ascending"), missed("sort.user-name"))
		for _, id := range s.Others {
			symptoms[id] = shown{check: id, what: "order", want: "a, b", got: "b, a", exchange: sent("GET", "/Users?sortBy", 200, "")}.symptom()
		}
		require.Equal(t, want, explain(symptoms, nil, []Signature{s})[0].proved(), check)
	}
}

// TestGroupsOf_OnlyVaryingChecks checks that a group is no known fault if only checks with generated requests of its signature remain in
// it: another fault explains the others, and would have no other check with a fixed request.
func TestGroupsOf_OnlyVaryingChecks(t *testing.T) {
	pages, sorted := shown{check: "oracle.pages", what: "pages"}, shown{check: "oracle.sort", what: "order"}
	larger, order := observedBy("order", missed("sort.case-insensitive"), pages)
	larger["oracle.sort"] = sorted.symptom()
	_, codePoint := observedBy("code point", missed("sort.case-insensitive"), sorted)
	var symptoms []*symptom
	for _, id := range []string{"sort.case-insensitive", "oracle.pages", "oracle.sort"} {
		symptoms = append(symptoms, larger[id])
	}
	picks := append(explain(larger, nil, []Signature{order}), explain(larger, nil, []Signature{codePoint})...)
	require.Len(t, picks, 2)
	groups := groupsOf(symptoms, nil, picks, newLinker(symptoms, together{}), map[string]int{})
	require.Len(t, groups, 1, "the check with generated requests belongs to the fault of its feature")
	require.Len(t, groups[0].checks, 3)
}

// TestTopic_Joins checks when proved groups belong to a topic: most of its checks have findings, both checks of its pair do, or it has many
// groups.
func TestTopic_Joins(t *testing.T) {
	required := topicByID["required"]
	passed := map[string]bool{}
	for _, id := range required.checks {
		passed[id] = true
	}
	byID := map[string]*symptom{}
	gather := func(ids ...string) int {
		var symptoms []*symptom
		var groups []*group
		clear(byID)
		ran := map[string]bool{}
		for id := range passed {
			ran[id] = !slices.Contains(ids, id)
			if !ran[id] {
				delete(ran, id)
			}
		}
		for _, id := range ids {
			symptoms = append(symptoms, accepts(id).symptom())
			groups = append(groups, &group{checks: []string{id}, exact: true, sure: true, proved: true, predicted: map[string]bool{id: true}})
		}
		return len(gatherTopics(groups, symptoms, ran))
	}
	require.Equal(t, 2, gather("put.null-required", "patch.remove-required"), "six of eight checks have passed")
	require.Equal(t, 1, gather(required.pair...), "the pair")
	require.Equal(t, 3, gather("put.null-required", "patch.remove-required", "patch.replace-required"))
	require.Equal(t, 1, gather("put.null-required", "patch.remove-required", "patch.replace-required", "groups.put-no-display-name"),
		"many groups")
	conflicts := topicByID["unique"].checks
	passed = map[string]bool{conflicts[3]: true}
	require.Equal(t, 1, gather(conflicts[:3]...), "three of four checks have findings")
	passed[conflicts[2]] = true
	require.Equal(t, 2, gather(conflicts[:2]...), "two of four checks have findings")
}

// TestBroadRules_ProvedFaultsApart checks that equal values do not merge proved groups, and that they merge other groups.
func TestBroadRules_ProvedFaultsApart(t *testing.T) {
	for _, proved := range []bool{false, true} {
		var symptoms []*symptom
		var groups []*group
		for _, id := range []string{"filter.a", "filter.b", "filter.c", "filter.d"} {
			symptoms = append(symptoms, shown{check: id, what: "users found by " + id, want: `["ada"]`, got: `["bob"]`,
				exchange: sent("GET", "/Users?filter=a", 200, "")}.symptom())
			groups = append(groups, &group{checks: []string{id}, proved: proved})
		}
		want := 1
		if proved {
			want = 4
		}
		require.Len(t, mergeBroad(broadRules, groups, symptoms), want, "proved: %v", proved)
	}
}

// TestJoinUniform_Proved checks that a proved symptom joins only a wide group with the same error.
func TestJoinUniform_Proved(t *testing.T) {
	for checks, want := range map[int]int{wideFault - 1: 2, wideFault: 1} {
		byID := map[string]*symptom{}
		uniform := &group{}
		for i := range checks {
			id := fmt.Sprintf("filter.%c", 'a'+i)
			byID[id] = crash(id, "GET").symptom()
			uniform.checks = append(uniform.checks, id)
		}
		byID["list.overflow"] = crash("list.overflow", "GET").symptom()
		single := &group{checks: []string{"list.overflow"}, proved: true}
		require.Len(t, joinUniform([]*group{uniform, single}, byID), want, "%d checks", checks)
	}
}

// TestFormatSignatures_Fingerprints checks that the text of signatures contains the fingerprints, and that it is parsed.
func TestFormatSignatures_Fingerprints(t *testing.T) {
	want := []Signature{{Telling: "put.a", Others: []string{"put.b", "read.c"}, Faults: []string{"put.fault"},
		Fingerprints: map[string][]string{"put.a": {"0a1bc", "2c3de"}, "read.c": {"vvvvv"}}}}
	text := FormatSignatures(want)
	require.Contains(t, text, "\nput.a=0a1bc,2c3de .b read.c=vvvvv < put.fault\n")
	got, err := parseSignatures(text)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, want[0].Fingerprints, got[0].Fingerprints)
	require.Equal(t, want[0].Checks(), got[0].Checks())
	for fault, fingerprints := range map[string][]string{"x": {"0000"}, "y": {"1111", "0000"}} {
		both := NewSignatures(map[string]Observed{
			"x": {Complaints: []string{"put.a"}, Fingerprints: map[string][]string{"put.a": {"0000"}}},
			"y": {Complaints: []string{"put.a"}, Fingerprints: map[string][]string{"put.a": fingerprints}},
		})
		require.Len(t, both, 1, fault)
		require.Equal(t, slices.Compact(slices.Sorted(slices.Values(append(fingerprints, "0000")))), both[0].Fingerprints["put.a"], fault)
	}
}
