package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/lint"
	"github.com/scimwright/scimwright/conformance/profiles"
)

// The exit codes.
const (
	ExitClean    = 0 // all selected checks ran, without findings
	ExitFindings = 1 // at least one check failed or warned
	ExitUsage    = 2 // invalid arguments or configuration; nothing was sent
	ExitUntested = 3 // the target could not be tested, or not completely
)

const description = `Test a SCIM 2.0 server against RFC 7643, RFC 7644 and the requests of identity providers.

A run creates users and groups with a marker in their names, and removes them at the end. Exit codes: 0 without findings, 1 with findings,
2 invalid arguments or configuration, 3 not tested or not completely tested.`

type commands struct {
	Run     runCommand     `cmd:"" help:"Test the SCIM server with this base URL."`
	Plan    planCommand    `cmd:"" help:"Print the plan of a run without writing to the server."`
	List    listCommand    `cmd:"" help:"List the checks."`
	Explain explainCommand `cmd:"" help:"Explain a check or a clause: its purpose, and how to fix a violation."`
	Diff    diffCommand    `cmd:"" help:"Compare two JSON reports: findings that are new, fixed, remaining or not observed."`
	Matrix  matrixCommand  `cmd:"" help:"Combine JSON reports into one page that compares the tested products by client, area and clause."`
	Lint    lintCommand    `cmd:"" help:"Check documents offline: resources, lists, PATCH and bulk requests, errors, discovery documents."`
	Proxy   proxyCommand   `cmd:"" help:"Record a client's traffic to the SCIM server with this base URL, and evaluate both sides."`
	Judge   judgeCommand   `cmd:"" help:"Evaluate a recording of the command proxy, offline."`
	Mock    mockCommand    `cmd:"" help:"Grade a provisioning client with an in-memory SCIM server that has quirks."`
	Cleanup cleanupCommand `cmd:"" help:"Remove the objects that an aborted run created."`
	Schema  schemaCommand  `cmd:"" help:"Print the JSON Schema of the JSON report."`

	Completion completionCommand `cmd:"" help:"Print the completion script of a shell: bash, fish or zsh."`
	Man        manCommand        `cmd:"" help:"Print the manual page, for man -l or a directory of manual pages."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	Config      string           `help:"${configHelp}" type:"path" placeholder:"FILE"`
	VersionFlag kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// invocation is the data that every command receives in addition to its own flags.
type invocation struct {
	ctx            context.Context
	program        string // the start of the command line, such as "scimwright conform"
	stdin          io.Reader
	stdout, stderr io.Writer
}

// exitCode is an error of a command. The program prints no message for the error and exits with this code.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the command in args and returns the exit code. program is the start of the command line, without args, such as "scimwright
// conform". When ctx ends, a run stops, cleans up and reports the completed checks. lookupEnv is os.LookupEnv.
func Run(ctx context.Context, program string, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool)) int {
	args = frame.Arguments(args)
	var cmds commands
	parsed, done, err := parse(&cmds, program, args, stdout, stderr, lookupEnv)
	if err == nil && done == nil && cmds.Config != "" {
		// The path of the configuration file is known only after the arguments are parsed. They are then parsed again, with the settings of the
		// file as defaults.
		path := cmds.Config
		var s settings
		if s, err = readSettings(path); err == nil {
			cmds = commands{}
			parsed, done, err = parse(&cmds, program, args, stdout, stderr, lookupEnv, s.apply(path))
		}
	}
	if done != nil {
		return *done
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n%s\n", program, frame.Problem(err), frame.Hint(program, parsed, err))
		return ExitUsage
	}
	preferCredentials(parsed, lookupEnv)
	err = parsed.Run(&invocation{ctx: ctx, program: program, stdin: os.Stdin, stdout: stdout, stderr: stderr})
	var code exitCode
	var usage *conformance.UsageError
	switch {
	case err == nil:
		return ExitClean
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n%s\n", program, err, frame.Hint(program, parsed, nil))
		return ExitUsage
	default:
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return ExitUntested
	}
}

// parse parses the arguments. done is the exit code if parsing has handled them completely, as for --help.
func parse(cmds *commands, program string, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool),
	more ...kong.Option) (parsed *kong.Context, done *int, err error) {
	parser, err := newParser(cmds, program, stdout, stderr, lookupEnv, append(more, kong.Exit(func(code int) {
		if done == nil {
			done = &code
		}
	}))...)
	if err != nil {
		return nil, nil, err
	}
	parsed, err = parser.Parse(args)
	return parsed, done, err
}

// newParser returns the parser of the commands.
func newParser(cmds *commands, program string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool),
	more ...kong.Option) (*kong.Kong, error) {
	return kong.New(cmds, append([]kong.Option{
		kong.Name(program), kong.Description(description), kong.DefaultEnvars("SCIM_CONFORMANCE"), withoutEmptyVariables(lookupEnv),
		kong.Vars{"version": frame.Build(program), "forms": forms(), "formats": strings.ReplaceAll(forms(), " ", "") + ",none",
			"seed":  strconv.FormatUint(conformance.DefaultSeed, 10),
			"kinds": strings.Join(lint.Kinds(), ", "), "mocks": mockNames()}, flagHelp(),
		kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	}, more...)...)
}

// withoutEmptyVariables ignores empty environment variables: CI systems set an empty variable for a missing secret, and it must not
// override the configuration file.
func withoutEmptyVariables(lookupEnv func(string) (string, bool)) kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if flag, ok := node.(*kong.Flag); ok {
				flag.Tag.Envs = slices.DeleteFunc(slices.Clone(flag.Tag.Envs), func(name string) bool {
					value, set := lookupEnv(name)
					return set && value == ""
				})
				flag.Envs = flag.Tag.Envs
			}
			return next(nil)
		})
	})
}

// flagHelp returns the help of flags that does not fit into a struct tag.
func flagHelp() kong.Vars {
	return kong.Vars{
		"fromHelp":   "Sender of the documents: client, server or either. Some rules apply to one side only.",
		"listenHelp": "Address to listen on; port 0 chooses a free one. Default: 127.0.0.1:0.",
		"keepGoingHelp": "If the server deletes no objects, run all checks nevertheless; then all created objects remain. Default: skip the " +
			"checks that create objects, so that at most 5 objects remain.",
		"pageHelp":       "Write the page to a file (repeatable); - is standard output. Forms: " + pages() + ".",
		"pageFormatHelp": "Form of the page on standard output: " + pages() + " or none. Default: markdown, or none with --output.",
		"journalHelp": "Journal of created objects, for cleanup after a crash. Removed after a complete cleanup. Default: a new file in " +
			"the directory for temporary files.",
		"configHelp": "YAML or JSON file with flags by their long names. The command line and the environment override it.",
		"scenarioHelp": "Scenario for the client: " + scenarioNames() +
			", or a YAML or JSON file; docs/reference/conformance.md describes the format. Default: joiner-mover-leaver.",
		"contractHelp": "Expected requests: " + contractNames() +
			". resilient: any requests, but the client must recover from the deviations of the server. catalog, wizard: exactly the requests in " +
			"docs/reference/conformance.md, for catalog apps or custom apps. Default: the contract of the scenario, else resilient.",
		"profileHelp": "Profiles to select: " + strings.Join(profiles.Names(), ", ") + ". rfc is the checks of the RFCs; all is rfc and " +
			"the flows of every client; each other profile is the flows of one client and the checks on which this client depends. Default: rfc.",
		"onlyHelp":  "Select only these checks: ids, areas, levels, clauses or sections (RFC7644-3.5.2).",
		"quirkHelp": "Simulated deviation (repeatable); see --list-quirks.",
		"clients": "Profiles of clients, with the names of run: " + strings.Join(profiles.Names(), ", ") +
			". The client must send only requests of these clients. rfc and all permit every request. Default: rfc.",
		"settleHelp": "Maximum time that the checks wait until a write is visible. The run first measures the actual time and reports it. " +
			"0 means 2s.",
		"attributesHelp": "YAML or JSON file with the attributes that a create requires on this server, by resource type: " +
			"{User: {userType: staff}}.",
		"seedHelp": "Seed of the checks that generate their requests (area oracle): a number, or random. The report contains it.",
		"schemaHelp": "Schema documents of attributes beyond User, Group and the enterprise extension: a single schema, or the response" +
			" of /Schemas.",
		"recordHelp": "File for a recording of the exchanges, one JSON line each, for the command judge. It contains personal data, but" +
			" no passwords and tokens.",
	}
}
