package causes

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// fingerprint returns a short hash of what a finding shows: the kind of request, the status and the scimType of the response, and the
// subject and the actual value of the finding, without ids and other variable parts. Texts that a target chooses, such as the detail of an
// Error, are not part of it. Findings of one check with the same fingerprint count as findings about the same fault.
//
// The first shapeLength characters are the shape: they depend only on the request and on whether it fails, with an error or without a
// response.
func (e evidence) fingerprint() string {
	fails := e.status == 0 || e.status >= 400
	parts := []string{normalize(e.operation), strconv.Itoa(e.status), e.scimType, e.what, e.got}
	return hash([]string{e.request, strconv.FormatBool(fails)}, shapeLength) + hash(parts, fingerprintLength-shapeLength)
}

// fingerprintLength is the number of characters of a fingerprint, each of which represents 5 bits. shapeLength is the number of those of
// its shape. A check has few fingerprints with the same shape, so that 15 bits distinguish them.
const (
	fingerprintLength = 5
	shapeLength       = 2
)

// hash returns a hash of several texts with n characters.
func hash(parts []string, n int) string {
	h := fnv.New32a()
	for _, part := range parts {
		_, _ = h.Write(append([]byte(part), 0)) // a hash returns no error
	}
	const digits = "0123456789abcdefghijklmnopqrstuv"
	sum := h.Sum32()
	sum ^= sum >> 20
	out := make([]byte, n)
	for i := range out {
		out[i] = digits[sum%uint32(len(digits))]
		sum /= uint32(len(digits))
	}
	return string(out)
}

// shapes returns the shapes of fingerprints. If a target has several faults, a finding about one of them can have another fingerprint,
// because another fault has changed the response, but mostly has the same shape.
func shapes(fingerprints []string) []string {
	var out []string
	for _, f := range fingerprints {
		out = append(out, f[:shapeLength])
	}
	return out
}

// fingerprints returns the fingerprints of the findings of a symptom, sorted and without duplicates. It returns nil for a check whose
// findings vary.
func (s *symptom) fingerprints() []string {
	if varies(s.check.ID) {
		return nil
	}
	return s.hashes()
}

// generatedFingerprints returns the fingerprints of the findings of a check that generates its requests, as fingerprints does for other
// checks. It returns nil for another check, and for a run with another seed than the runs behind the signatures, whose requests differ.
func (s *symptom) generatedFingerprints() []string {
	if observes[s.check.ID] == nil || !s.seeded {
		return nil
	}
	return s.hashes()
}

// hashes returns the fingerprints of the findings, whatever the check, sorted and without duplicates.
func (s *symptom) hashes() []string {
	var out []string
	for _, e := range s.evidence {
		out = append(out, e.fingerprint())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// varies reports whether the findings of a check vary from run to run, because it generates its requests or sends concurrent ones.
func varies(id string) bool { return observes[id] != nil || strings.HasPrefix(id, "concurrency.") }

// collects reports whether a check evaluates the requests of all other checks. Such a check reports the first requests that violate its
// requirement, which depend on all faults of the target.
func collects(id string) bool { return strings.HasPrefix(id, "traffic.") }

// allFingerprints returns for each check the fingerprints of its findings in all signatures.
func allFingerprints(signatures []Signature) map[string][]string {
	all := map[string][]string{}
	for _, s := range signatures {
		for id, fingerprints := range s.Fingerprints {
			all[id] = append(all[id], fingerprints...)
		}
	}
	return all
}
