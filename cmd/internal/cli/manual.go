package cli

import (
	"slices"

	"github.com/alecthomas/kong"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/manual"
	"github.com/scimwright/scimwright/scim/lenient"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,fish,zsh" help:"bash, fish or zsh. The script says in its first lines where to write it."`
}

// Run prints the script.
func (c completionCommand) Run(in *invocation, parsed *kong.Context) error {
	app, err := complete(parsed.Model)
	if err != nil {
		return err
	}
	lists := conform.Lists()
	lists["leniencies"] = lenient.All.Names()
	return manual.Completion(in.stdout, c.Shell, app, lists)
}

type manCommand struct{}

// Run prints the page.
func (manCommand) Run(in *invocation, parsed *kong.Context) error {
	app, err := complete(parsed.Model)
	if err != nil {
		return err
	}
	return manual.Page(in.stdout, app, frame.Version(), frame.Date(), []manual.Exit{
		{Code: ExitOK, Meaning: "success"},
		{Code: ExitFailure, Meaning: "the command failed; with conform, engine or doctor: there are findings or problems"},
		{Code: ExitUsage, Meaning: "invalid arguments or configuration"},
		{Code: conform.ExitUntested, Meaning: "with conform: the server could not be tested, or not completely"},
	})
}

// complete returns the program with the commands of conform, which the parser of this program does not know.
func complete(app *kong.Application) (*kong.Application, error) {
	suite, err := conform.Model(program + " conform")
	if err != nil {
		return nil, err
	}
	root := *app.Node
	root.Children = slices.Clone(root.Children)
	for i, child := range root.Children {
		if child.Name == "conform" {
			node := *child
			node.Children, node.Flags, node.Positional = suite.Children, suite.Flags, nil
			root.Children[i] = &node
		}
	}
	return &kong.Application{Node: &root, HelpFlag: app.HelpFlag}, nil
}
