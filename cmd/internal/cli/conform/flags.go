package conform

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// address is the target's base URL, as the argument or, for configuration files, as a flag.
type address struct {
	URL     string `arg:"" optional:"" help:"Base URL of the SCIM server, such as https://example.com/scim/v2."`
	BaseURL string `name:"url" help:"The base URL, where the argument is not given." env:"SCIM_URL" placeholder:"URL"`
}

func (a address) base() (string, error) {
	switch {
	case a.URL != "":
		return a.URL, nil
	case a.BaseURL != "":
		return a.BaseURL, nil
	}
	return "", usage("no base URL is given: name the SCIM server, such as https://example.com/scim/v2")
}

// selection is which checks are meant.
type selection struct {
	Only    []string `help:"Only these: ids, areas, levels, clauses or sections such as RFC7644-3.5.2, separated by commas." placeholder:"ID,..."`
	Skip    []string `help:"Not these; as with --only." placeholder:"ID,..."`
	Level   string   `help:"Weakest level that is checked: must, should, interop or may." default:"may"`
	Profile []string `help:"Clients whose provisioning is tried: ${profiles}; rfc stands for the checks of the RFCs, all for these and every client. Without either, only the clients." placeholder:"CLIENT,..." default:"rfc"`
}

// rfc is the profile that stands for the checks themselves.
const rfc = "rfc"

// checks returns what was selected of the checks and of the profiles.
func (s selection) checks() ([]conformance.Check, []conformance.Profile, error) {
	var chosen []conformance.Profile
	withChecks := false
	for _, id := range s.Profile {
		if strings.EqualFold(id, rfc) {
			withChecks = true
			continue
		}
		withChecks = withChecks || strings.EqualFold(id, "all")
		p, err := profileNamed(id)
		if err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, p...)
	}
	if len(s.Profile) == 0 {
		withChecks = true
	}
	for _, name := range slices.Concat(s.Only, s.Skip) {
		client, _, _ := strings.Cut(name, ".")
		if _, err := profileNamed(client); err == nil {
			return nil, nil, usage("%s belongs to the conversations of a client, which are held as a whole: leave it out and use --profile %s", name,
				client)
		}
	}
	if !withChecks {
		if len(s.Only)+len(s.Skip) > 0 {
			return nil, nil, usage("--only and --skip select checks: add rfc to --profile, or leave them out")
		}
		return nil, chosen, nil
	}
	selected, err := conformance.Selection{Only: s.Only, Skip: s.Skip, Level: conformance.Level(s.Level)}.Apply(checks.All())
	return selected, chosen, err
}

func profileNamed(id string) ([]conformance.Profile, error) {
	if strings.EqualFold(id, "all") {
		return profiles.All(), nil
	}
	for _, p := range profiles.All() {
		if strings.EqualFold(p.ID, id) {
			return []conformance.Profile{p}, nil
		}
	}
	return nil, usage("no profile is called %q: profiles are %s", id, profileIDs())
}

func profileIDs() string {
	ids := []string{rfc}
	for _, p := range profiles.All() {
		ids = append(ids, p.ID)
	}
	return strings.Join(append(ids, "all"), ", ")
}

// limits are the bounds of a run.
type limits struct {
	ReadOnly     bool          `help:"Create nothing; run only the checks that need no objects of their own."`
	Rate         float64       `help:"Most requests per second. A 429 with its Retry-After is waited out in any case." placeholder:"N"`
	MaxRequests  int           `help:"Most requests to send; cleaning up is not bounded." default:"10000"`
	Concurrency  int           `help:"Most requests in flight at once. Only checks of concurrency send more than one." default:"8"`
	Settle       time.Duration `help:"How long to wait for what was written to become visible; the wait is measured once and reported. 0 waits for nothing." default:"5s"`
	UserDomain   string        `help:"Domain of the user names and addresses that are made up." default:"example.com"`
	Attributes   string        `help:"YAML or JSON file with what creating takes on this server, by resource type: {User: {userType: staff}}." type:"path" placeholder:"FILE"`
	Seed         string        `help:"What the checks that make up their requests (area oracle) draw them from: a number, or random. The report names it." default:"${seed}"`
	OracleRounds int           `help:"How often these checks ask, each time something new." default:"1"`
	ResourceType []string      `help:"Only these resource types, by name, separated by commas." placeholder:"NAME,..."`
}

// options turns the flags into the options of a run.
func (l limits) options() (conformance.Options, error) {
	opts := conformance.Options{
		ReadOnly: l.ReadOnly, Rate: l.Rate, MaxRequests: l.MaxRequests, Concurrency: l.Concurrency, Settle: l.Settle,
		UserDomain: l.UserDomain, ResourceTypes: l.ResourceType, OracleRounds: l.OracleRounds,
	}
	var err error
	if opts.Seed, err = readSeed(l.Seed); err != nil {
		return opts, err
	}
	for _, bound := range []struct {
		flag string
		ok   bool
	}{
		{"--rate must not be negative", l.Rate >= 0}, {"--max-requests must be positive", l.MaxRequests > 0},
		{"--concurrency must be positive", l.Concurrency > 0}, {"--settle must not be negative", l.Settle >= 0},
		{"--oracle-rounds must be positive", l.OracleRounds > 0},
		{"--user-domain must be a domain such as example.com", l.UserDomain != "" && !strings.ContainsAny(l.UserDomain, "@ /\"")},
	} {
		if !bound.ok {
			return opts, usage("%s", bound.flag)
		}
	}
	if l.Attributes != "" {
		attributes, err := readAttributes(l.Attributes)
		if err != nil {
			return opts, err
		}
		opts.Attributes = attributes
	}
	return opts, nil
}

// seedBits is the size of a seed: every reader of a JSON report keeps a number of so many bits as it is.
const seedBits = 53

// readSeed reads a seed, or draws one.
func readSeed(text string) (uint64, error) {
	if text == "random" {
		return 1 + rand.Uint64N(1<<32), nil
	}
	seed, err := strconv.ParseUint(text, 10, seedBits)
	if err != nil || seed == 0 {
		return 0, usage("--seed %q is neither a number from 1 to %d nor the word random", text, uint64(1)<<seedBits-1)
	}
	return seed, nil
}

// lines is a flag that may be repeated; in the environment and in a configuration file its values stand on lines of their own.
type lines []string

// Decode implements kong.MapperValue.
func (l *lines) Decode(ctx *kong.DecodeContext) error {
	var value string
	if err := ctx.Scan.PopValueInto("value", &value); err != nil {
		return err
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line != "" {
			*l = append(*l, line)
		}
	}
	return nil
}

func usage(format string, args ...any) error {
	return &conformance.UsageError{Problem: fmt.Sprintf(format, args...)}
}
