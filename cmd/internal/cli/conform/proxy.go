package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/scheme"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/internal/counted"
)

// sides is the set of flags that select what is evaluated: the server or the client (the sides), and the checks.
type sides struct {
	Side []string `help:"Side to evaluate: server, client or both." enum:"server,client,both" default:"both"`
	Only []string `help:"Select only these checks: ids, areas, levels, clauses or sections." placeholder:"ID,..." complete:"@selections"`
	Skip []string `help:"Exclude these checks; same values as --only." placeholder:"ID,..." complete:"@selections"`
}

func (s sides) checks() ([]conformance.Check, error) {
	var chosen []observed.Side
	for _, side := range s.Side {
		if side == "both" {
			chosen = append(chosen, observed.Server, observed.Client)
		} else {
			chosen = append(chosen, observed.Side(side))
		}
	}
	return conformance.Selection{Only: s.Only, Skip: s.Skip}.Apply(observed.Checks(chosen...))
}

type proxyCommand struct {
	address
	certificates
	sides
	outputs
	printing
	Listen  string        `help:"${listenHelp}" default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Record  string        `help:"${recordHelp}" type:"path" placeholder:"FILE"`
	For     time.Duration `help:"Stop after this time. Default: on Ctrl-C." placeholder:"DURATION"`
	Max     int           `help:"Stop after this number of exchanges." default:"10000"`
	MaxBody int           `help:"Maximum size of recorded and evaluated bodies, in bytes. Larger bodies are only forwarded." default:"1048576"`
}

// Run records exchanges until the operator or a limit stops the proxy, then evaluates the exchanges.
func (c *proxyCommand) Run(in *invocation) error {
	base, err := c.base()
	if err != nil {
		return err
	}
	selected, err := c.checks()
	if err != nil {
		return err
	}
	if c.Max < 1 || c.MaxBody < 1 || c.For < 0 {
		return usage("--max and --max-body must be positive, --for must not be negative")
	}
	transport, err := c.transport()
	if err != nil {
		return err
	}
	transport.DisableCompression = true
	files, err := c.open(in.stdout, &c.printing)
	if err != nil {
		return err
	}
	defer discardAll(files)
	ctx, stop := until(in.ctx, c.For)
	defer stop()
	recording, err := createRecording(c.Record)
	if err != nil {
		return err
	}
	defer recording.Discard()
	tap := &tap{in: in, lines: !c.Quiet && frame.IsTerminal(in.stderr), recording: recording, left: c.Max, full: stop}
	recorder, err := observed.NewRecorder(base, observed.Options{Transport: scheme.New(transport), MaxBody: c.MaxBody, Each: tap.each})
	if err != nil {
		return usage("%v", err)
	}
	if err := tap.begin(recorder.Target()); err != nil {
		return err
	}
	err = serve(ctx, c.Listen, recorder, func(address string) {
		fmt.Fprintf(in.stderr, "Recording: the client's base URL is http://%s, the server is %s. Press Ctrl-C to stop.\n", address,
			recorder.Target())
	})
	exchanges := recorder.Exchanges()
	switch {
	case err != nil && len(exchanges) == 0:
		return err
	case err != nil:
		return errors.Join(err, tap.end())
	}
	if err := tap.end(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return conclude(in, observed.Judge(recorder.Target(), exchanges, selected), files, c.printing)
}

// createRecording creates the file of a recording, which is renamed to path when it is complete. It returns nil for an empty path. Only the
// owner can read the file, because it contains personal data.
func createRecording(path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	file, err := createOut(path, 0o600)
	if err != nil {
		return nil, usage("--record cannot be written: %v", err)
	}
	return file, nil
}

// A tap receives every exchange, shows it on a terminal and writes it to the recording.
type tap struct {
	in        *invocation
	lines     bool
	recording *outFile
	writer    *observed.Writer
	err       error
	left      int
	full      func()
}

func (t *tap) begin(target string) error {
	if t.recording == nil {
		return nil
	}
	var err error
	t.writer, err = observed.NewWriter(t.recording, target)
	return err
}

func (t *tap) each(x observed.Exchange) {
	if t.lines {
		fmt.Fprintln(t.in.stderr, x.Line())
	}
	if t.writer != nil && t.err == nil {
		t.err = t.writer.Write(x)
	}
	if t.left--; t.left == 0 {
		t.full()
	}
}

func (t *tap) end() error {
	if t.recording == nil {
		return nil
	}
	return errors.Join(t.err, t.recording.Close())
}

// shutdownTime is the maximum time for running requests when a server stops.
const shutdownTime = 5 * time.Second

// serve serves the handler until ctx ends, then waits for running requests. It calls listening with the address.
func serve(ctx context.Context, address string, handler http.Handler, listening func(address string)) error {
	listener, err := new(net.ListenConfig).Listen(context.WithoutCancel(ctx), "tcp", address)
	if err != nil {
		return usage("--listen: %v", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ctx, stopped := context.WithCancel(ctx)
	var wait sync.WaitGroup
	var served error
	wait.Go(func() {
		served = server.Serve(listener)
		stopped()
	})
	listening(listener.Addr().String())
	<-ctx.Done()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if server.Shutdown(limit) != nil {
		_ = server.Close() // abort the requests that still run after shutdownTime
	}
	wait.Wait()
	if !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return nil
}

// conclude writes the reports on the observed exchanges and returns the exit code.
func conclude(in *invocation, result *conformance.Result, files []outputFile, p printing) error {
	if err := errors.Join(writeAll(files, result), p.print(in, result, nil)); err != nil {
		return err
	}
	if p.Format == "text" && !p.Quiet && result.Verdict != conformance.Untested {
		for _, party := range []string{"server", "client", "outcome"} {
			failed, warned, judged := tally(result, party)
			if judged > 0 {
				fmt.Fprintf(in.stdout, "%s: %d of %s that applied failed, %d warned\n", party, failed, counted.Of(judged, "check"), warned)
			}
		}
	}
	return verdictCode(result.Verdict)
}

// party returns what a check of an observation evaluates: the server, the client, or the final outcome.
func party(c conformance.Check) string {
	switch {
	case c.Area() == clientgrade.Area, c.Area() == clientgrade.ContractArea:
		return "outcome"
	case observed.SideOf(c) == observed.Client:
		return "client"
	}
	return "server"
}

func tally(result *conformance.Result, of string) (failed, warned, judged int) {
	for _, c := range result.Checks {
		if party(c.Check) != of || c.Outcome == conformance.Skip {
			continue
		}
		judged++
		switch c.Outcome {
		case conformance.Fail:
			failed++
		case conformance.Warn:
			warned++
		}
	}
	return failed, warned, judged
}

type judgeCommand struct {
	Recording string `arg:"" help:"Recording of the command proxy." type:"path"`
	sides
	outputs
	printing
}

// Run evaluates a recording.
func (c *judgeCommand) Run(in *invocation) error {
	selected, err := c.checks()
	if err != nil {
		return err
	}
	file, err := os.Open(c.Recording)
	if err != nil {
		return usage("the recording cannot be read: %v", err)
	}
	defer file.Close()
	target, exchanges, err := observed.Read(file)
	if err != nil {
		return usage("%s: %v", c.Recording, err)
	}
	files, err := c.open(in.stdout, &c.printing)
	if err != nil {
		return err
	}
	defer discardAll(files)
	return conclude(in, observed.Judge(target, exchanges, selected), files, c.printing)
}
