// Package conform holds the commands of the conformance suite: run, plan, list, explain, diff, lint, proxy,
// judge, mock and cleanup. They are the whole of
// the program scim-conformance and one command group of scimwright. What is tested and how is the business of package
// conformance; this package reads arguments, prints, and chooses exit codes.
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
	"github.com/mattn/go-isatty"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/lint"
)

// The exit codes.
const (
	ExitClean    = 0 // everything asked for was tested, nothing was found
	ExitFindings = 1 // at least one check failed or warned
	ExitUsage    = 2 // the arguments or the configuration are wrong; nothing was sent
	ExitUntested = 3 // the target could not be tested, or not as far as asked
)

const description = `Tests a SCIM 2.0 server against RFC 7643, RFC 7644 and what identity providers send.

The objects it creates carry a marker in their names and are removed again. Exit codes: 0 clean, 1 findings, 2 usage or configuration, 3 could not test.`

type commands struct {
	Run     runCommand     `cmd:"" help:"Test the SCIM server with this base URL."`
	Plan    planCommand    `cmd:"" help:"Say what a run would do, without writing anything to the server."`
	List    listCommand    `cmd:"" help:"List the checks."`
	Explain explainCommand `cmd:"" help:"Explain a check: its clauses, why it matters, how to mend what it finds."`
	Diff    diffCommand    `cmd:"" help:"Compare two JSON reports: what is new, mended, still there or not observed."`
	Lint    lintCommand    `cmd:"" help:"Check documents offline: resources, lists, PATCHes, bulk jobs, errors, discovery documents."`
	Proxy   proxyCommand   `cmd:"" help:"Record a client's traffic to the SCIM server with this base URL, and judge both sides."`
	Judge   judgeCommand   `cmd:"" help:"Judge a recording of the proxy again."`
	Mock    mockCommand    `cmd:"" help:"Grade a provisioning client: run a SCIM server with quirks in memory, and say what the client coped with."`
	Cleanup cleanupCommand `cmd:"" help:"Remove what a run that was killed left behind."`
	Schema  schemaCommand  `cmd:"" help:"Print the JSON Schema of the JSON report."`
	Version versionCommand `cmd:"" help:"Print the version."`

	Config      string           `help:"YAML or JSON file with flags by their long names. The command line and the environment outweigh it." type:"path" placeholder:"FILE"`
	VersionFlag kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// invocation is what every command gets besides its own flags.
type invocation struct {
	ctx            context.Context
	program        string // as a user calls it
	stdin          io.Reader
	stdout, stderr io.Writer
}

// exitCode ends a command with a code other than ExitClean and without a message of its own.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the command that args name and returns the exit code. Program is what a user types before the arguments. When ctx
// ends, a run stops, cleans up and reports how far it came. lookupEnv is os.LookupEnv.
func Run(ctx context.Context, program string, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool)) int {
	args = frame.Arguments(args)
	var cmds commands
	parsed, done, err := parse(&cmds, program, args, stdout, stderr, lookupEnv)
	if err == nil && done == nil && cmds.Config != "" {
		// Only now is it known where the settings are: they become the defaults of a second reading.
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
		fmt.Fprintf(stderr, "%s: %v\n%s\n", program, err, frame.Hint(program, parsed, err))
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

// parse reads the arguments. Done is the exit code when that already answered them, as --help does.
func parse(cmds *commands, program string, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool),
	more ...kong.Option) (parsed *kong.Context, done *int, err error) {
	options := append([]kong.Option{
		kong.Name(program), kong.Description(description), kong.DefaultEnvars("SCIM_CONFORMANCE"), withoutEmptyVariables(lookupEnv),
		kong.Vars{"version": frame.Build(program), "forms": forms(), "formats": strings.ReplaceAll(forms(), " ", "") + ",none",
			"profiles": profileIDs(), "seed": strconv.FormatUint(conformance.DefaultSeed, 10),
			"kinds": strings.Join(lint.Kinds(), ", "), "scenarios": scenarioNames(), "contracts": contractNames(), "mocks": mockNames()},
		kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(func(code int) {
			if done == nil {
				done = &code
			}
		}),
	}, more...)
	parser, err := kong.New(cmds, options...)
	if err != nil {
		return nil, nil, err
	}
	parsed, err = parser.Parse(args)
	return parsed, done, err
}

// withoutEmptyVariables lets an empty variable say nothing: CI systems set one for a secret that is not there, and it must not
// outweigh the configuration file.
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

// isTerminal tells whether a person is looking.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
