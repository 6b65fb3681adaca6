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

// address is the target's base URL: an argument or, for configuration files, a flag.
type address struct {
	URL     string `arg:"" optional:"" help:"Base URL of the SCIM server, such as https://example.com/scim/v2."`
	BaseURL string `name:"url" help:"Base URL, if the argument is missing." env:"SCIM_URL" placeholder:"URL"`
}

func (a address) base() (string, error) {
	switch {
	case a.URL != "":
		return a.URL, nil
	case a.BaseURL != "":
		return a.BaseURL, nil
	}
	return "", usage("no base URL is given: add that of the SCIM server, such as https://example.com/scim/v2")
}

// selection is the set of flags that select checks.
type selection struct {
	Only    []string `help:"${onlyHelp}" placeholder:"ID,..." complete:"@selections"`
	Skip    []string `help:"Exclude these checks; same values as --only." placeholder:"ID,..." complete:"@selections"`
	Level   string   `help:"Lowest level of the checks: must, should, interop or may." default:"may" complete:"must,should,interop,may"`
	Profile []string `help:"${profileHelp}" placeholder:"CLIENT,..." default:"rfc" complete:"@clients"`
}

// checks returns the selected checks and profiles.
func (s selection) checks() ([]conformance.Check, []conformance.Profile, error) {
	available, chosen, err := profiles.Select(checks.All(), s.Profile...)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Concat(s.Only, s.Skip) {
		client, _, _ := strings.Cut(name, ".")
		if slices.ContainsFunc(profiles.Names(), func(id string) bool { return strings.EqualFold(id, client) && id != profiles.RFC }) {
			return nil, nil, usage("%s is a step of a client flow, which runs as a whole: use --profile %s without it", name,
				client)
		}
	}
	selected, err := conformance.Selection{Only: s.Only, Skip: s.Skip, Level: conformance.Level(s.Level)}.Apply(available)
	return selected, chosen, err
}

// limits is the set of flags that bound a run.
type limits struct {
	ReadOnly     bool          `help:"Create nothing: run only the checks that need no test objects."`
	Rate         float64       `help:"Maximum requests per second. A run always obeys 429 and Retry-After." placeholder:"N"`
	MaxRequests  int           `help:"Maximum number of requests. Requests of the cleanup do not count." default:"10000"`
	Concurrency  int           `help:"Maximum concurrent requests; only concurrency checks send more than one." default:"8"`
	Settle       time.Duration `help:"${settleHelp}" default:"5s"`
	UserDomain   string        `help:"Domain of generated user names and email addresses." default:"example.com"`
	Attributes   string        `help:"${attributesHelp}" type:"path" placeholder:"FILE"`
	Seed         string        `help:"${seedHelp}" default:"${seed}"`
	OracleRounds int           `help:"Number of rounds of the checks in the area oracle, each with new requests." default:"1"`
	ResourceType []string      `help:"Test only these resource types, by name." placeholder:"NAME,..."`
}

// options returns the options of a run for the flags.
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

// seedBits is the maximum number of bits of a seed: all JSON parsers preserve integers of this size.
const seedBits = 53

// readSeed parses a seed, or generates a random one.
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

// lines is a repeatable flag; in the environment and in a configuration file it has one value per line.
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
