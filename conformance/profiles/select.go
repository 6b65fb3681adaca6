package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/similar"
)

// RFC is the name in [Select] for all checks, and Everything that for all checks and all clients.
const (
	RFC        = "rfc"
	Everything = "all"
)

// Select returns the checks and the profiles for names, which are compared case-insensitively: RFC, Everything, or ids of profiles. Without
// RFC and Everything, the checks are those on which the clients of the profiles depend. Without names, Select returns all checks and no
// profile. The error for an unknown name is a [*conformance.UsageError].
func Select(checks []conformance.Check, names ...string) ([]conformance.Check, []conformance.Profile, error) {
	var chosen []conformance.Profile
	all := len(names) == 0
	for _, name := range names {
		if strings.EqualFold(name, RFC) {
			all = true
			continue
		}
		all = all || strings.EqualFold(name, Everything)
		p, err := byName(name)
		if err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, p...)
	}
	if !all {
		checks = Checks(checks, chosen...)
	}
	return checks, chosen, nil
}

func byName(name string) ([]conformance.Profile, error) {
	if strings.EqualFold(name, Everything) {
		return All(), nil
	}
	for _, p := range All() {
		if strings.EqualFold(p.ID, name) {
			return []conformance.Profile{p}, nil
		}
	}
	return nil, &conformance.UsageError{Problem: fmt.Sprintf("unknown profile %q: profiles are %s%s", name, strings.Join(Names(), ", "),
		similar.Hint(name, Names()))}
}

// Names returns the names that [Select] accepts: RFC, the ids of all profiles, and Everything.
func Names() []string {
	names := []string{RFC}
	for _, p := range All() {
		names = append(names, p.ID)
	}
	return slices.Concat(names, []string{Everything})
}
