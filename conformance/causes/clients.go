package causes

import (
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// Clients returns the provisioning clients that are known to depend on the requirement of the check. The result is empty if no such client
// is known.
func Clients(c conformance.Check) []string {
	var names []string
	for _, p := range profiles.Dependents(c) {
		names = append(names, p.Client)
	}
	return names
}
