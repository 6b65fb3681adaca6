package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/lmittmann/tint"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/cli/engine"
	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/similar"
)

// Exit codes of all commands. The conformance commands use 1 for findings.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

const program = "scimwright"

const description = `Provisioning with SCIM 2.0: client, server and conformance tests.

Start with "scimwright sandbox": it needs no configuration and prints the next steps.`

type commands struct {
	Sandbox sandboxCommand `cmd:"" help:"Run the management API, the engine, a SCIM server and the console in one process."`
	Serve   struct {
		SCIM   serveSCIMCommand   `cmd:"" name:"scim" help:"Run only the SCIM server."`
		Engine serveEngineCommand `cmd:"" help:"Run the provisioning engine as a service for identity providers in any language."`
	} `cmd:"" help:"Run one component."`
	Conform conformCommand  `cmd:"" passthrough:"" help:"Test a SCIM server; the same commands as scim-conformance."`
	Bench   benchCommand    `cmd:"" help:"Measure a SCIM server, or two servers in turns, with users that are removed again."`
	OpenAPI openAPICommand  `cmd:"" name:"openapi" help:"Print the OpenAPI document of the management API, or of serve engine."`
	Engine  engine.Commands `cmd:"" help:"Operate the provisioning engine of a running sandbox or of serve engine, and show its state."`
	Doctor  doctorCommand   `cmd:"" help:"Check the ports, data directory, database, clock and targets, and say what to do."`
	Token   struct {
		Create tokenCreateCommand `cmd:"" help:"Create an API token in a running sandbox and print its secret once."`
	} `cmd:"" help:"Manage API tokens."`
	Console struct {
		Link consoleLinkCommand `cmd:"" help:"Print a new login link for the console of a running sandbox or serve engine."`
	} `cmd:"" help:"Log in to the console."`
	Completion completionCommand `cmd:"" help:"Print the completion script of a shell: bash, fish or zsh."`
	Man        manCommand        `cmd:"" help:"Print the manual page, for man -l or a directory of manual pages."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`

	LogLevel slog.Level `help:"Minimum level of log messages: debug, info, warn or error." default:"warn" env:"SCIMWRIGHT_LOG_LEVEL"`
}

// invocation is the data that every command receives in addition to its own flags.
type invocation struct {
	ctx            context.Context
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	log            *slog.Logger
}

// Run runs the command in args and returns the exit code. It stops when ctx ends. lookupEnv is os.LookupEnv.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, lookupEnv func(string) (string, bool)) int {
	args = frame.Arguments(args)
	// The conformance commands parse their own arguments, because they accept their flags in any position.
	if args[0] == "conform" {
		return conform.Run(ctx, program+" conform", args[1:], stdout, stderr, lookupEnv)
	}
	var cmds commands
	var exit *int // the exit code if kong has handled the arguments completely, as for --help
	parser, err := newParser(&cmds, stdout, stderr, func(code int) { exit = &code })
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return ExitFailure
	}
	parsed, err := parser.Parse(args)
	if exit != nil {
		return *exit
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n%s\n", program, frame.Problem(err), frame.Hint(program, parsed, err))
		return ExitUsage
	}
	in := &invocation{ctx: ctx, stdout: stdout, stderr: stderr, lookupEnv: lookupEnv, log: newLogger(stderr, cmds.LogLevel, lookupEnv)}
	err = parsed.Run(in, &engine.Invocation{Context: ctx, Stdin: os.Stdin, Stdout: stdout})
	var usage *frame.UsageError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n%s\n", program, err, frame.Hint(program, parsed, nil))
		return ExitUsage
	case err != nil:
		hint := ""
		if command := parsed.Command(); !slices.ContainsFunc(withoutURLFlag, func(name string) bool { return strings.HasPrefix(command, name) }) {
			hint = remote.Hint(err)
		}
		fmt.Fprintf(stderr, "%s: %s\n%s", program, errtext.Plain(err), hint)
		return ExitFailure
	}
	return ExitOK
}

// withoutURLFlag are the commands that have no flag for the address of a server, or start one: a hint about such a flag does not apply.
var withoutURLFlag = []string{"serve ", "sandbox", "bench"}

// newParser returns the parser of the commands. It calls exit if it has handled the arguments completely.
func newParser(cmds *commands, stdout, stderr io.Writer, exit func(code int)) (*kong.Kong, error) {
	return kong.New(cmds, kong.Name(program), kong.Description(description), kong.Vars{"version": frame.Build(program)}, flagHelp,
		kong.TypeMapper(reflect.TypeFor[slog.Level](), kong.MapperFunc(decodeLevel)),
		kong.Writers(stdout, stderr), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Exit(exit))
}

// decodeLevel parses the value of a flag for the level of log messages.
func decodeLevel(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("level", &text); err != nil {
		return err
	}
	var level slog.Level
	if level.UnmarshalText([]byte(text)) != nil {
		levels := []string{"debug", "info", "warn", "error"}
		return fmt.Errorf("level must be one of %s, but is %q%s", strings.Join(levels, ", "), text, similar.Hint(text, levels))
	}
	target.Set(reflect.ValueOf(level))
	return nil
}

// newLogger returns a logger that writes lines for a terminal, with colors unless NO_COLOR is set, and JSON elsewhere.
func newLogger(w io.Writer, level slog.Level, lookupEnv func(string) (string, bool)) *slog.Logger {
	if frame.IsTerminal(w) {
		noColor, _ := lookupEnv("NO_COLOR")
		return slog.New(terminalHandler(w, level, noColor != ""))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

func terminalHandler(w io.Writer, level slog.Level, noColor bool) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: noColor})
}

type conformCommand struct {
	Args []string `arg:"" optional:""`
}

// Run is called only if a global flag precedes the word conform.
func (c *conformCommand) Run(in *invocation) error {
	if code := conform.Run(in.ctx, program+" conform", c.Args, in.stdout, in.stderr, in.lookupEnv); code != ExitOK {
		return fmt.Errorf("conform exited with code %d", code)
	}
	return nil
}
