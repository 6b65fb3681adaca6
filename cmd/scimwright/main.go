// Command scimwright runs the provisioning sandbox, the SCIM server and the conformance suite.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/scimwright/scimwright/cmd/internal/cli"
)

func main() {
	cli.SpareProcessors(os.LookupEnv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
	stop()
	os.Exit(code)
}
