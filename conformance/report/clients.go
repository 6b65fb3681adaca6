package report

import (
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A dependence says which provisioning clients depend on what a group of checks asks for.
type dependence struct {
	prefix  string // of the ids of the checks, at a word
	clients []string
}

// The clients, as their makers call them.
const (
	entra     = "Microsoft Entra ID"
	okta      = "Okta"
	oneLogin  = "OneLogin"
	jumpCloud = "JumpCloud"
	ping      = "PingFederate"
	google    = "Google Workspace"
	authentik = "authentik"
)

var everybody = []string{entra, okta, oneLogin, jumpCloud, ping, google, authentik}

// dependences is what the vendors' documentation and recorded conversations show that clients send. The longest prefix
// counts. Where no row fits, no client is known to depend on it.
var dependences = []dependence{
	{"auth", everybody},
	{"create", everybody},
	{"read", everybody},
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

	// The profiles: each step is the client's own.
	{"entra", []string{entra}},
	{"okta", []string{okta}},
	{"onelogin", []string{oneLogin}},
	{"jumpcloud", []string{jumpCloud}},
	{"ping", []string{ping}},
	{"google", []string{google}},
	{"authentik", []string{authentik}},
}

// Clients names the provisioning clients that are known to depend on what the check asks for. Empty means that none is known.
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
