// Command scim-conformance tests a SCIM server. It is pure Go and needs only the server's address.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := conform.Run(ctx, "scim-conformance", os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv)
	stop()
	os.Exit(code)
}
