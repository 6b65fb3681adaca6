package conform

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/mockserver"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

type mockCommand struct {
	outputs
	printing
	Scenario   string        `help:"${scenarioHelp}" default:"joiner-mover-leaver" placeholder:"NAME|FILE" complete:"@scenarios"`
	Contract   string        `help:"${contractHelp}" placeholder:"NAME" complete:"@contracts"`
	Quirk      []string      `help:"${quirkHelp}" placeholder:"NAME[=ARG]" sep:"none" complete:"@quirks"`
	Server     []string      `help:"Servers to simulate, each a set of quirks: ${mocks}." placeholder:"NAME,..." complete:"@servers"`
	Profile    []string      `help:"${clients}" placeholder:"CLIENT,..." default:"rfc" env:"SCIM_CONFORMANCE_MOCK_PROFILE" complete:"@clients"`
	Listen     string        `help:"${listenHelp}" default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Token      string        `help:"Bearer token for the client. Default: random." placeholder:"TOKEN" env:"SCIM_CONFORMANCE_MOCK_TOKEN"`
	Record     string        `help:"File for a recording of the exchanges, for the command judge." type:"path" placeholder:"FILE"`
	For        time.Duration `help:"Stop after this time. Default: on Ctrl-C." placeholder:"DURATION"`
	Max        int           `help:"Stop after this number of exchanges." default:"10000"`
	ListQuirks bool          `help:"List all quirks and servers and exit. With --json=-, print JSON."`
}

func scenarioNames() string {
	var names []string
	for _, s := range clientgrade.Scenarios() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func contractNames() string {
	var names []string
	for _, c := range clientgrade.Contracts() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func mockNames() string {
	var names []string
	for _, p := range mockserver.Profiles() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Run serves a client until the operator or a limit stops the server, then grades the client.
func (c *mockCommand) Run(in *invocation) error {
	if c.ListQuirks && c.JSON == "-" {
		return quirksJSON(in)
	}
	if c.ListQuirks {
		return listQuirks(in)
	}
	scenario, err := c.scenario()
	if err != nil {
		return err
	}
	if contract := clientgrade.Contract(c.Contract); contract != "" {
		if !slices.Contains(clientgrade.Contracts(), contract) {
			return usage("--contract: unknown contract %q: contracts are %s%s", c.Contract, contractNames(), hint(c.Contract, contractNames()))
		}
		scenario.Contract = contract
	}
	settings, err := c.settings()
	if err != nil {
		return err
	}
	if scenario.Profiles, err = c.clients(); err != nil {
		return err
	}
	if c.Max < 1 || c.For < 0 {
		return usage("--max must be positive, --for must not be negative")
	}
	token := c.Token
	if token == "" {
		token = "mock-" + strings.ToLower(rand.Text())
	}
	files, err := c.open(in.stdout, &c.printing)
	if err != nil {
		return err
	}
	defer discardAll(files)
	recording, err := createRecording(c.Record)
	if err != nil {
		return err
	}
	defer recording.Discard()
	ctx, stop := until(in.ctx, c.For)
	defer stop()
	tap := &tap{in: in, lines: !c.Quiet && frame.IsTerminal(in.stderr), recording: recording, left: c.Max, full: stop}
	server, err := mockserver.Start(in.ctx, mockserver.Options{
		Token: token, Listen: c.Listen, Quirks: settings, Scenario: scenario, Each: tap.each,
		Listening: func(url string) error {
			printInstructions(in, url, token, scenario)
			return tap.begin(url)
		},
	})
	if err != nil {
		return usage("the server cannot start: %v", err)
	}
	<-ctx.Done()
	result, err := server.Grade(ctx)
	if err != nil {
		return err
	}
	if err := tap.end(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return conclude(in, result, files, c.printing)
}

// printInstructions prints the instructions for the operator of the client.
func printInstructions(in *invocation, url, token string, s clientgrade.Scenario) {
	fmt.Fprintf(in.stderr, "SCIM base URL %s\nbearer token  %s\n\n%s:\n", url, token, s.Title)
	for i, step := range s.Do {
		fmt.Fprintln(in.stderr, wrapped(fmt.Sprintf("  %d. ", i+1), step))
	}
	fmt.Fprintln(in.stderr, "\nWhen the client is done, press Ctrl-C. The command then prints a report about the client.")
}

// textWidth is the maximum number of columns of a line on a terminal.
const textWidth = 100

// wrapped returns a text after a prefix in lines of at most textWidth columns. Further lines are indented.
func wrapped(prefix, text string) string {
	lines, line := []string{}, prefix
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > textWidth:
			lines = append(lines, line)
			line = strings.Repeat(" ", len(prefix)) + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

func (c *mockCommand) scenario() (clientgrade.Scenario, error) {
	if s, known := clientgrade.ScenarioNamed(c.Scenario); known {
		return s, nil
	}
	data, err := os.ReadFile(c.Scenario)
	if err != nil {
		return clientgrade.Scenario{}, usage("--scenario: %q is neither one of %s nor a readable file: %v%s", c.Scenario, scenarioNames(),
			err, hint(c.Scenario, scenarioNames()))
	}
	s, err := clientgrade.Parse(data)
	if err != nil {
		return s, usage("--scenario %s: %v", c.Scenario, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return s, nil
}

// clients returns the clients whose requests are expected, none if any request is permitted.
func (c *mockCommand) clients() ([]conformance.Profile, error) {
	var chosen []conformance.Profile
	permitted := false
	for _, id := range c.Profile {
		if strings.EqualFold(id, profiles.RFC) || strings.EqualFold(id, profiles.Everything) {
			permitted = true
			continue
		}
		_, p, err := profiles.Select(nil, id)
		if _, server := mockserver.ProfileNamed(id); err != nil && server {
			return nil, usage("--profile %s: this is a server, not a client: use --server %s", id, id)
		}
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, p...)
	}
	if permitted {
		return nil, nil
	}
	return chosen, nil
}

func (c *mockCommand) settings() ([]quirks.Setting, error) {
	var texts []string
	for _, name := range c.Server {
		p, known := mockserver.ProfileNamed(name)
		if !known {
			return nil, usage("--server: unknown server %q: servers are %s%s", name, mockNames(), hint(name, mockNames()))
		}
		texts = append(texts, p.Quirks...)
	}
	for _, text := range c.Quirk {
		if !slices.Contains(texts, text) { // a server profile may already contain the quirk
			texts = append(texts, text)
		}
	}
	settings, err := quirks.ParseAll(texts)
	if err != nil {
		return nil, usage("--quirk: %v", err)
	}
	if _, err := quirks.New(nil, settings...); err != nil {
		return nil, usage("--quirk: %v", err)
	}
	return settings, nil
}

func listQuirks(in *invocation) error {
	if err := quirks.WriteTable(in.stdout); err != nil {
		return err
	}
	w := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSERVER\tPRODUCT\tQUIRKS")
	for _, p := range mockserver.Profiles() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Title, strings.Join(p.Quirks, " "))
	}
	return w.Flush()
}

// until returns a context that ends after the time limit, 0 for none, or when stop is called.
func until(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
