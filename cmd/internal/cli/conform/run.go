package conform

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/report"
)

type runCommand struct {
	address
	connection
	selection
	limits
	outputs
	printing
	waiving
	YesWrite  bool   `help:"Allow the run to create and remove test objects on a remote server."`
	KeepGoing bool   `help:"${keepGoingHelp}"`
	Journal   string `help:"${journalHelp}" type:"path" placeholder:"FILE"`
}

// Run tests the target and prints the report.
func (c *runCommand) Run(in *invocation) error {
	url, err := c.base()
	if err != nil {
		return err
	}
	selected, chosen, err := c.checks()
	if err != nil {
		return err
	}
	target, err := c.target(url)
	if err != nil {
		return err
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	accepted, err := c.read()
	if err != nil {
		return err
	}
	opts.Checks, opts.Profiles, opts.AllowWrites, opts.KeepGoing = selected, chosen, c.YesWrite, c.KeepGoing
	opts.Order = checks.Order()
	opts.Timeout, opts.RequestTimeout, opts.Journal = c.Timeout, c.RequestTimeout, c.journal()
	opts.LimitNames = conformance.LimitNames{Timeout: "--timeout", MaxRequests: "--max-requests"}
	files, err := c.open(in.stdout, &c.printing)
	if err != nil {
		return err
	}
	defer discardAll(files)
	opts.Record = wantTraffic(files)
	if form, ok := report.WriterNamed(c.Format); ok && form.Traffic {
		opts.Record = true
	}
	opts.JournalStarted = func(path string) {
		if !c.Quiet {
			fmt.Fprintf(in.stderr, "If this run is aborted, remove its objects with:\n  %s\n",
				report.WrapCommand(c.cleanup(in.program, path), len("  ")))
		}
	}
	if !c.Quiet {
		opts.Planned = func(p *conformance.Plan) { fmt.Fprint(in.stderr, forecast(p, c.Rate, c.Timeout)) }
	}
	if frame.IsTerminal(in.stderr) && !c.Quiet {
		opts.Progress = progress(in.stderr)
	}
	result, err := conformance.Run(in.ctx, target, opts)
	if result == nil {
		return consent(err)
	}
	accepted.Apply(result, time.Now(), c.WaiversStrict)
	if opts.Progress != nil {
		fmt.Fprint(in.stderr, clearLine)
	}
	if reportErr := errors.Join(writeAll(files, result),
		c.print(in, result, func(journal string) string { return c.cleanup(in.program, journal) })); reportErr != nil {
		return reportErr
	}
	if err != nil {
		return err
	}
	return verdictCode(result.Verdict)
}

func verdictCode(v conformance.Verdict) error {
	switch v {
	case conformance.Clean:
		return nil
	case conformance.Findings:
		return exitCode(ExitFindings)
	default:
		return exitCode(ExitUntested)
	}
}

// journal returns the file name of the journal. The name need not be unpredictable, because the run creates the file only if the file does
// not exist. The last part of the name distinguishes runs of one process.
func (c *runCommand) journal() string {
	switch {
	case c.ReadOnly:
		return ""
	case c.Journal != "":
		return c.Journal
	}
	return filepath.Join(os.TempDir(),
		fmt.Sprintf("scim-conformance-%s-%d-%s.journal", time.Now().Format("20060102-150405"), os.Getpid(), strings.ToLower(rand.Text()[:6])))
}

// cleanup returns the shell command that removes the objects in a journal. It contains the variables with the secrets, never the secrets.
func (c *runCommand) cleanup(program, journal string) string {
	words := []string{program, "cleanup", quote(journal)}
	if c.Token != "" {
		words = append(words, `--token "$SCIM_TOKEN"`)
	}
	if c.Basic != "" {
		words = append(words, `--basic "$SCIM_BASIC"`)
	}
	if c.OAuthSecret != "" {
		words = append(words, `--oauth-client-secret "$SCIM_OAUTH_CLIENT_SECRET"`)
	}
	for _, h := range c.Header {
		name, _, _ := strings.Cut(h, ":")
		words = append(words, "--header "+quote(name+": ..."))
	}
	for _, flag := range []struct{ name, value string }{
		{"--ca-file", c.CAFile}, {"--client-cert", c.ClientCert}, {"--client-key", c.ClientKey}, {"--oauth-token-url", c.OAuthTokenURL},
		{"--oauth-client-id", c.OAuthClientID},
	} {
		if flag.value != "" {
			words = append(words, flag.name+" "+quote(flag.value))
		}
	}
	for _, scope := range c.OAuthScope {
		words = append(words, "--oauth-scope "+quote(scope))
	}
	return strings.Join(words, " ")
}

// plain matches a string that a shell reads as one word without quotes.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// consent adds the names of the flags that give the consent to a *conformance.ConsentError. It returns other errors unchanged.
func consent(err error) error {
	if _, ok := errors.AsType[*conformance.ConsentError](err); ok {
		return usage("%v: pass --yes-write, or --read-only", err)
	}
	return err
}
