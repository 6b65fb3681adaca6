package causes

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/conformance"
)

// A Signature is the set of checks that have findings about servers with one fault, and what their findings show.
type Signature struct {
	// Telling is the check whose finding describes the fault best.
	Telling string
	// Others are the other checks of the signature, sorted.
	Others []string
	// Blocks are the checks that have no result because of the fault, sorted.
	Blocks []string
	// Faults are the ids of the mutants with this signature, and those of quirks, which start with "quirk.", sorted.
	Faults []string
	// Fingerprints has for each check the fingerprints of its findings about these faults, sorted. A fingerprint is a short hash of the kind
	// of request, the response and the wrong value. The findings of a check that sends concurrent requests have no fingerprints, and those of
	// a check that generates its requests have some only if all checks of the signature do so.
	Fingerprints map[string][]string
}

// Checks returns the ids of all checks of the signature, the telling one first.
func (s Signature) Checks() []string { return append([]string{s.Telling}, s.Others...) }

//go:embed signatures.txt
var signaturesText string

// Signatures returns the signatures of all known faults, sorted. The caller may change the slice.
func Signatures() []Signature { return slices.Clone(known()) }

var known = sync.OnceValue(func() []Signature {
	signatures, err := parseSignatures(signaturesText)
	if err != nil {
		panic(err) // unreachable: a test parses the embedded file
	}
	return signatures
})

// parseSignatures parses the format of [FormatSignatures].
func parseSignatures(text string) ([]Signature, error) {
	var out []Signature
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		checks, faults, found := strings.Cut(line, " < ")
		checks, blocks, _ := strings.Cut(checks, " ! ")
		ids := expand(checks)
		if !found || len(ids) == 0 {
			return nil, fmt.Errorf("signatures.txt: line %d: expected checks, \" < \" and faults", number)
		}
		ids, fingerprints := cutFingerprints(ids)
		for check, list := range fingerprints {
			if slices.ContainsFunc(list, func(f string) bool { return len(f) != fingerprintLength }) {
				return nil, fmt.Errorf("signatures.txt: line %d: expected fingerprints of %d characters for %s", number, fingerprintLength, check)
			}
		}
		out = append(out, Signature{Telling: ids[0], Others: ids[1:], Blocks: expand(blocks), Faults: expand(faults), Fingerprints: fingerprints})
	}
	return out, nil
}

// cutFingerprints separates the fingerprints from the ids of the checks. It returns nil as fingerprints if there are none.
func cutFingerprints(ids []string) (checks []string, fingerprints map[string][]string) {
	for _, id := range ids {
		check, list, found := strings.Cut(id, "=")
		checks = append(checks, check)
		if found {
			fingerprints = withFingerprints(fingerprints, check, strings.Split(list, ","))
		}
	}
	return checks, fingerprints
}

// expand returns the ids of a list in which an id that starts with a dot has the area of the id before it.
func expand(list string) []string {
	ids := strings.Fields(list)
	area := ""
	for i, id := range ids {
		if id[0] == '.' {
			ids[i] = area + id
			continue
		}
		area, _, _ = strings.Cut(id, ".")
	}
	return ids
}

// shorten is the inverse of expand.
func shorten(ids []string) string {
	var out []string
	area := ""
	for _, id := range ids {
		if own, rest, _ := strings.Cut(id, "."); own != area {
			area = own
			out = append(out, id)
		} else {
			out = append(out, "."+rest)
		}
	}
	return strings.Join(out, " ")
}

// Observed is what a run against a server with one fault has shown. The checks have the order of the run.
type Observed struct {
	// Complaints are the ids of the checks with findings of the outcome Fail or Warn that are not waived. Blocked are the ids of the checks
	// that were blocked.
	Complaints, Blocked []string
	// Fingerprints has for each check of Complaints the fingerprints of its findings; see [Signature].
	Fingerprints map[string][]string
}

// Observe returns what a result shows.
func Observe(r *conformance.Result) Observed {
	var o Observed
	symptoms := symptomsOf(r)
	for _, s := range symptoms {
		o.Complaints = append(o.Complaints, s.check.ID)
		o.Fingerprints = withFingerprints(o.Fingerprints, s.check.ID, s.fingerprints())
	}
	if allGenerated(o.Complaints) {
		for _, s := range symptoms {
			o.Fingerprints = withFingerprints(o.Fingerprints, s.check.ID, s.generatedFingerprints())
		}
	}
	for _, b := range blockedOf(r) {
		o.Blocked = append(o.Blocked, b.checks...)
	}
	return o
}

// withFingerprints adds fingerprints of a check to a map, which may be nil, and returns the map.
func withFingerprints(all map[string][]string, check string, fingerprints []string) map[string][]string {
	if len(fingerprints) == 0 {
		return all
	}
	if all == nil {
		all = map[string][]string{}
	}
	all[check] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(all[check], fingerprints))))
	return all
}

// maxNarrow is the greatest number of checks of a narrow signature. In a narrow signature, the telling check is the one that occurs in the
// fewest signatures. In a larger one, that check mostly tests a detail; the telling check is then the first one in the order of the run,
// which tests the basic function that fails.
const maxNarrow = 6

// NewSignatures returns one signature for each distinct set of checks that have findings about a fault. The keys of observed are the ids of
// the faults. A fault without findings has no signature. The telling check has the area of the fault if a check of the signature has it;
// see areaOf for several faults. Among these checks it is the one that has findings about the fewest faults or, if more than maxNarrow
// checks have findings, the first in the order of the run.
func NewSignatures(observed map[string]Observed) []Signature {
	frequency := map[string]int{}
	bySet := map[string][]string{}
	for fault, o := range observed {
		for _, c := range o.Complaints {
			frequency[c]++
		}
		if len(o.Complaints) > 0 {
			set := strings.Join(slices.Sorted(slices.Values(o.Complaints)), " ")
			bySet[set] = append(bySet[set], fault)
		}
	}
	var out []Signature
	for _, faults := range bySet {
		slices.Sort(faults)
		checks := observed[faults[0]].Complaints
		area := areaOf(faults, checks)
		telling := slices.MinFunc(checks, func(a, b string) int {
			foreign := cmp.Compare(outside(a, area), outside(b, area))
			if foreign != 0 || len(checks) > maxNarrow {
				return foreign
			}
			return cmp.Compare(frequency[a], frequency[b])
		})
		s := Signature{Telling: telling, Faults: faults}
		for _, c := range slices.Sorted(slices.Values(checks)) {
			if c != telling {
				s.Others = append(s.Others, c)
			}
		}
		for _, f := range faults {
			s.Blocks = append(s.Blocks, observed[f].Blocked...)
			for c, fingerprints := range observed[f].Fingerprints {
				s.Fingerprints = withFingerprints(s.Fingerprints, c, fingerprints)
			}
		}
		slices.Sort(s.Blocks)
		s.Blocks = slices.Compact(s.Blocks)
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Signature) int {
		return cmp.Or(cmp.Compare(a.Telling, b.Telling), slices.Compare(a.Others, b.Others))
	})
	return out
}

// areaOf returns the area of one of the faults with the same signature: the area that most checks of the signature have. The id of a quirk
// has no area: if no fault has the area of a check, areaOf returns the area that is a word of the name of a fault, for example delete for
// quirk.no-delete. If there is none, it returns the most frequent area of the checks. Of several such areas, it returns the first.
func areaOf(faults, checks []string) string {
	best, most := "", -1
	for _, f := range faults {
		area, _, _ := strings.Cut(f, ".")
		n := 0
		for _, c := range checks {
			n += 1 - outside(c, area)
		}
		if n > most {
			best, most = area, n
		}
	}
	if most > 0 {
		return best
	}
	words := strings.FieldsFunc(strings.Join(faults, " "), func(r rune) bool { return r < 'a' || r > 'z' })
	number := map[string]int{}
	for _, c := range checks {
		area, _, _ := strings.Cut(c, ".")
		if slices.Contains(words, area) {
			number[area] += len(checks) // more than any other area has
		}
		if number[area]++; number[area] > most {
			most = number[area]
		}
	}
	first := slices.IndexFunc(checks, func(c string) bool {
		area, _, _ := strings.Cut(c, ".")
		return number[area] == most
	})
	best, _, _ = strings.Cut(checks[first], ".")
	return best
}

// outside returns 1 for a check of another area, otherwise 0.
func outside(check, area string) int {
	if strings.HasPrefix(check, area+".") {
		return 0
	}
	return 1
}

// FormatSignatures returns the text of signatures.txt: one line for each signature with the telling check, the other checks, " ! " and the
// blocked checks if there are any, " < " and the faults. An id that starts with a dot has the area of the id before it. The fingerprints
// follow the id of a check after "=", with a comma between two.
func FormatSignatures(signatures []Signature) string {
	var b strings.Builder
	b.WriteString("# The checks that have findings about each known fault, and the fingerprints of these findings. Generated: make causes.\n")
	for _, s := range signatures {
		checks := s.Checks()
		for i, id := range checks {
			if fingerprints := s.Fingerprints[id]; len(fingerprints) > 0 {
				checks[i] += "=" + strings.Join(fingerprints, ",")
			}
		}
		b.WriteString(shorten(checks))
		if len(s.Blocks) > 0 {
			b.WriteString(" ! " + shorten(s.Blocks))
		}
		b.WriteString(" < " + shorten(s.Faults) + "\n")
	}
	return b.String()
}
