package cli

import (
	"errors"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/doctor"
	"github.com/scimwright/scimwright/internal/counted"
)

type doctorCommand struct {
	Target []string `arg:"" optional:"" help:"Base URL of a SCIM server: check its TLS, certificate, response and clock."`
	Config string   `help:"${doctorConfig}" placeholder:"FILE" env:"SCIMWRIGHT_ENGINE_CONFIG"`
	Listen []string `help:"${doctorListen}" placeholder:"ADDRESS"`
	Data   string   `help:"Directory of the data. Default: that of the SQLite database." placeholder:"DIR" env:"SCIMWRIGHT_DATA"`
	DB     string   `help:"${doctorDB}" placeholder:"URL" env:"SCIMWRIGHT_ENGINE_DB,SCIMWRIGHT_DB"`
	CAFile string   `help:"PEM file with certificates to trust in addition to those of the system." type:"path" placeholder:"FILE"`
	JSON   bool     `name:"json" help:"Print the results as JSON."`
}

// Run prints the results. It returns an error if there is a problem.
func (c *doctorCommand) Run(in *invocation) error {
	roots, err := frame.Roots(c.CAFile)
	if err != nil {
		return err
	}
	report := doctor.Run(in.ctx, doctor.Options{
		Build: frame.Build(program), Date: frame.Date(), Listen: c.Listen, Data: c.Data, DB: c.DB, Config: c.Config,
		LookupEnv: in.lookupEnv, Targets: c.Target, Roots: roots,
	})
	if c.JSON {
		err = frame.WriteJSON(in.stdout, report)
	} else {
		err = report.WriteText(in.stdout)
	}
	if err != nil {
		return err
	}
	if report.Problems > 0 {
		return errors.New(counted.Of(report.Problems, "problem"))
	}
	return nil
}
