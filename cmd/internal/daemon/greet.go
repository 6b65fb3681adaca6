package daemon

import (
	"context"
	"fmt"
	"io"

	"github.com/scimwright/scimwright/cmd/internal/serving"
)

// LogStart logs the start.
func (d *Daemon) LogStart(ctx context.Context) {
	d.options.Logger.InfoContext(ctx, "engine started", "url", d.ready.EngineURL, "process", d.owner)
}

// printConsole prints the address of the console. The output contains the code for a login only on a terminal, because the code has all
// permissions, and a service manager stores the output.
func (d *Daemon) printConsole(w io.Writer) {
	switch {
	case d.ready.ConsoleURL == "":
	case d.options.ConsoleOpen:
		fmt.Fprintf(w, "console       %s\n", d.ready.ConsoleURL)
	case d.options.TokenElsewhere:
		fmt.Fprintf(w, "console       %s\n              (logs in once, within an hour; later, log in with a token, or print a new link with\n"+
			"              \"%s console link --url %s --api-token TOKEN\")\n", d.ready.ConsoleURL, serving.Program(), d.ready.EngineURL)
	case d.options.ReadyFile != "":
		fmt.Fprintf(w, "console       %s%s/   (log in with a token, or with the link in the file %s)\n", d.ready.BaseURL, consoleBase,
			d.options.ReadyFile)
	default:
		fmt.Fprintf(w, "console       %s%s/   (log in with a token)\n", d.ready.BaseURL, consoleBase)
	}
}

// PrintWelcome prints the address, the admin token if this start has created it, and what to do next.
func (d *Daemon) PrintWelcome(w io.Writer) {
	fmt.Fprintf(w, "engine        %s\n", d.ready.EngineURL)
	switch {
	case d.tokenFile != "":
		fmt.Fprintf(w, "admin token   in the file %s\n", d.tokenFile)
	case d.ready.AdminToken != "" && d.options.ReadyFile != "" && !d.options.TokenElsewhere:
		fmt.Fprintf(w, "admin token   in the file %s\n", d.options.ReadyFile)
	case d.ready.AdminToken != "":
		fmt.Fprintf(w, "admin token   %s   (shown only now; not stored)\n", d.ready.AdminToken)
	}
	d.printConsole(w)
	if d.ready.MetricsURL != "" {
		fmt.Fprintf(w, "metrics       %s\n", d.ready.MetricsURL)
	}
	fmt.Fprintf(w, "\nnext: create a token for your identity provider\n")
	fmt.Fprintf(w, "  %s engine token create --url %s --api-token ADMIN-TOKEN \\\n", serving.Program(), d.ready.EngineURL)
	fmt.Fprintf(w, "    --scope apps --scope read --scope write --scope secrets\n")
	fmt.Fprintf(w, "then write apps, users and groups: see docs/tutorials/engine-service.md\n")
}
