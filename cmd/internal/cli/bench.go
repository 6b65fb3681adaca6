package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/bench"
	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/scheme"
)

type benchCommand struct {
	URL      string        `arg:"" help:"Base URL of the SCIM server, such as https://example.com/scim/v2."`
	URL2     string        `arg:"" name:"url2" optional:"" help:"Base URL of a second server, which is measured in turns with the first."`
	Token    string        `help:"Bearer token of the first server." env:"SCIM_TOKEN" placeholder:"TOKEN"`
	Token2   string        `name:"token2" help:"Bearer token of the second server." env:"SCIM_TOKEN2" placeholder:"TOKEN"`
	PID      int           `name:"pid" help:"${benchPID}" placeholder:"N"`
	PID2     int           `name:"pid2" help:"Process id of the second server on this machine; see --pid." placeholder:"N"`
	Users    int           `help:"Number of users to create on each server, from 100 to 1000000." default:"1000"`
	Clients  int           `help:"Number of concurrent requests." default:"8"`
	Duration time.Duration `help:"${benchDuration}" default:"5s"`
	Timeout  time.Duration `help:"Time limit of the load. The removal of the created objects follows." default:"30m"`
	CAFile   string        `help:"PEM file with certificates to trust in addition to those of the system." type:"path" placeholder:"FILE"`
	JSON     string        `name:"json" help:"${benchJSON}" type:"path" placeholder:"FILE"`
	YesWrite bool          `help:"Allow the run to create and remove users and a group. Required."`
}

// Run measures the servers and prints the table. It returns an error if a server could not be measured or if objects remain.
func (c *benchCommand) Run(in *invocation) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if !c.YesWrite {
		return frame.Usage(o.Writes() + ": pass --yes-write to allow it")
	}
	o.Progress = func(line string) { fmt.Fprintln(in.stderr, line) }
	var file *os.File
	if c.JSON != "" && c.JSON != "-" {
		if file, err = os.Create(c.JSON); err != nil {
			return frame.Usage(fmt.Sprintf("--json: %v", err))
		}
		defer file.Close()
	}
	report, err := bench.Run(in.ctx, o)
	for _, t := range o.Targets {
		t.Transport.(*scheme.Transport).CloseIdleConnections()
	}
	if err != nil {
		return err
	}
	if c.JSON == "-" {
		err = report.WriteJSON(in.stdout)
	} else {
		fmt.Fprint(in.stdout, report.Text())
	}
	if file != nil {
		err = errors.Join(err, report.WriteJSON(file), file.Close())
	}
	return errors.Join(err, report.Err())
}

// options returns the options of a run for the flags.
func (c *benchCommand) options() (bench.Options, error) {
	if c.URL2 == "" && c.PID2 != 0 {
		return bench.Options{}, frame.Usage("--pid2 requires a second URL")
	}
	o := bench.Options{Users: c.Users, Clients: c.Clients, Duration: c.Duration, Timeout: c.Timeout}
	roots, err := frame.Roots(c.CAFile)
	if err != nil {
		return o, err
	}
	for _, t := range []bench.Target{{URL: c.URL, Token: c.Token, PID: c.PID}, {URL: c.URL2, Token: c.Token2, PID: c.PID2}} {
		if t.URL == "" && len(o.Targets) == 1 {
			break
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
		transport.MaxIdleConnsPerHost = c.Clients
		transport.DisableCompression = true // the numbers must not include the cost of compression
		t.Transport = scheme.New(transport)
		o.Targets = append(o.Targets, t)
	}
	if err := o.Check(); err != nil {
		return o, frame.Usage(err.Error())
	}
	return o, nil
}
