// Command suite runs the conformance suite from Go against a SCIM server and prints the report. The server is the reference server of the
// module on a loopback address; pass another base URL and its token as arguments.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/scim/wirelog"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// status returns the method, the URL and the response status of the exchange of a finding. It returns an empty string if there is no
// exchange.
func status(e *wirelog.Exchange) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf(" (%s %s: %d)", e.Method, e.URL, e.Status)
}

func run(ctx context.Context, args []string) error {
	target := conformance.Target{Token: "secret"}
	switch len(args) {
	case 0:
		handler, err := scimserver.New(scimserver.Options{
			Store: memstore.New(), Tokens: scimserver.StaticTokens(target.Token), Prefix: "/scim/v2", PasswordCost: 4,
		})
		if err != nil {
			return err
		}
		server := httptest.NewServer(handler)
		defer server.Close()
		target.URL = server.URL + "/scim/v2"
	case 2:
		target.URL, target.Token = args[0], args[1]
	default:
		return errors.New("usage: suite [URL TOKEN]")
	}
	result, err := conformance.Run(ctx, target, conformance.Options{Checks: checks.All(), AllowWrites: true})
	if err != nil {
		return err
	}
	if err := report.Text(os.Stdout, result, report.TextOptions{}); err != nil {
		return err
	}
	// A program can read the findings as Go values. If a single HTTP exchange shows a finding, the finding contains that exchange.
	for _, check := range result.Checks {
		for _, finding := range check.Findings {
			fmt.Printf("%s: %s: expected %s, got %s%s\n", check.Check.ID, finding.What, finding.Want, finding.Got, status(finding.Exchange))
		}
	}
	if result.Verdict != conformance.Clean {
		return fmt.Errorf("the verdict is %s", result.Verdict)
	}
	return nil
}
