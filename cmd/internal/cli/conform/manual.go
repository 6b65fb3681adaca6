package conform

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/manual"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,fish,zsh" help:"bash, fish or zsh. The script says in its first lines where to write it."`
}

// Run prints the script.
func (c *completionCommand) Run(in *invocation, parsed *kong.Context) error {
	if err := standalone(in.program, "completion"); err != nil {
		return err
	}
	return manual.Completion(in.stdout, c.Shell, parsed.Model, Lists())
}

// Lists returns the values of flags and arguments that completion scripts offer, by the names in the tags complete.
func Lists() map[string][]string {
	var areas, ids, flaws []string
	for _, c := range slices.Concat(checks.All(), observed.ClientChecks()) {
		if !slices.Contains(areas, c.Area()) {
			areas = append(areas, c.Area())
		}
		ids = append(ids, c.ID)
	}
	for _, q := range quirks.All() {
		flaws = append(flaws, q.Name)
	}
	levels := []string{"must", "should", "interop", "may"}
	split := func(names string) []string { return strings.Split(names, ", ") }
	return map[string][]string{
		"checks": slices.Concat(areas, ids), "contracts": split(contractNames()), "kinds": lint.Kinds(), "clients": profiles.Names(),
		"quirks": flaws, "scenarios": split(scenarioNames()), "selections": slices.Concat(areas, levels), "servers": split(mockNames()),
	}
}

type manCommand struct{}

// Run prints the page.
func (*manCommand) Run(in *invocation, parsed *kong.Context) error {
	if err := standalone(in.program, "man"); err != nil {
		return err
	}
	return manual.Page(in.stdout, parsed.Model, frame.Version(), frame.Date(), []manual.Exit{
		{Code: ExitClean, Meaning: "all selected checks ran, without findings"},
		{Code: ExitFindings, Meaning: "at least one check failed or warned, or a client of --profile breaks"},
		{Code: ExitUsage, Meaning: "invalid arguments or configuration; nothing was sent"},
		{Code: ExitUntested, Meaning: "the server could not be tested, or not completely"},
	})
}

// standalone returns an error if these commands are a part of another program, which has the command itself.
func standalone(program, command string) error {
	if outer, _, part := strings.Cut(program, " "); part {
		return usage("run %q, which includes these commands", outer+" "+command)
	}
	return nil
}

// Model returns the commands and flags for the help of another program, whose command they are: program is the start of the command line,
// such as "scimwright conform".
func Model(program string) (*kong.Application, error) {
	parser, err := newParser(&commands{}, program, io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	for _, child := range parser.Model.Children {
		child.Hidden = child.Hidden || child.Name == "completion" || child.Name == "man"
	}
	return parser.Model, nil
}
