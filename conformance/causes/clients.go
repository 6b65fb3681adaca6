package causes

import (
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A dependence lists the provisioning clients that depend on the requirements of a group of checks.
type dependence struct {
	prefix  string // of the ids of the checks, ending at a word
	clients []string
}

// The names of the clients, as their vendors write them.
const (
	entra     = "Microsoft Entra ID"
	okta      = "Okta"
	oneLogin  = "OneLogin"
	jumpCloud = "JumpCloud"
	ping      = "PingFederate"
	google    = "Google Workspace"
	authentik = "authentik"
)

var allClients = []string{entra, okta, oneLogin, jumpCloud, ping, google, authentik}

// dependences lists the requests that clients send, by vendors' documentation and recorded exchanges. The longest prefix applies. If no row
// matches a check, no client is known to depend on it.
var dependences = []dependence{
	{"auth", allClients},
	{"create", allClients},
	{"read", allClients},
	{"errors", []string{entra, okta}},
	{"discovery.schemas", []string{entra}},
	{"discovery.service", []string{authentik}},
	{"filter.eq", []string{entra, okta, oneLogin, jumpCloud, ping}},
	{"filter.and", []string{entra}},
	{"filter.case-insensitive", []string{entra}},
	{"list", []string{okta, ping}},
	{"projection", []string{entra}},
	{"put", []string{okta, ping, authentik}},
	{"patch", []string{entra, okta}},
	{"patch.remove", []string{entra, okta, authentik}},
	{"groups", []string{entra, okta, jumpCloud, oneLogin, authentik}},
	{"delete", []string{entra, jumpCloud, oneLogin}},

	// The checks of a profile's steps apply to its own client.
	{"entra", []string{entra}},
	{"okta", []string{okta}},
	{"onelogin", []string{oneLogin}},
	{"jumpcloud", []string{jumpCloud}},
	{"ping", []string{ping}},
	{"google", []string{google}},
	{"authentik", []string{authentik}},
}

// Clients returns the provisioning clients that are known to depend on the requirement of the check. The result is empty if no such client
// is known.
func Clients(c conformance.Check) []string {
	var best dependence
	for _, d := range dependences {
		rest, found := strings.CutPrefix(c.ID, d.prefix)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '-') && len(d.prefix) > len(best.prefix) {
			best = d
		}
	}
	return best.clients
}
