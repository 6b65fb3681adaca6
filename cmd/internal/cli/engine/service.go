package engine

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/cmd/internal/cli/remote"
)

// serviceCommands are for serve engine only.
type serviceCommands struct {
	Token struct {
		Create createTokenCommand `cmd:"" help:"Create a token and print its value once."`
		List   listTokensCommand  `cmd:"" help:"List the tokens without their values."`
		Revoke revokeTokenCommand `cmd:"" help:"Revoke a token."`
	} `cmd:"" help:"Manage the tokens of serve engine."`
	Audit  auditCommand  `cmd:"" help:"List the writes to serve engine, in order."`
	Reseal resealCommand `cmd:"" help:"Encrypt the secrets of serve engine with its first key, after a new key was added."`
}

// openService opens a session with serve engine.
func (g *Commands) openService(in *Invocation) (*session, error) {
	s, err := g.open(in)
	if err == nil && !s.service {
		err = frame.Usage("this command is for serve engine: --url must be its address with " + remote.ServicePrefix)
	}
	return s, err
}

type shownToken struct {
	ID       string    `json:"id,omitempty"`
	Tenant   string    `json:"tenant,omitempty"`
	Name     string    `json:"name"`
	Scopes   []string  `json:"scopes"`
	Expires  time.Time `json:"expires,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	Value    string    `json:"token,omitempty"`
}

type createTokenCommand struct {
	Name    string        `help:"What the token is for." default:"command line"`
	Scope   []string      `help:"Permission (repeatable): ${enum}." required:"" enum:"${scopes}" placeholder:"SCOPE"`
	Expires time.Duration `help:"Time until the token expires, such as 720h. Default: never." placeholder:"DURATION"`
}

// Run creates the token and prints only its value, for use in scripts.
func (c *createTokenCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	wanted := shownToken{Name: c.Name, Scopes: c.Scope}
	if c.Expires > 0 {
		wanted.Expires = time.Now().Add(c.Expires).UTC()
	}
	var made shownToken
	if err := s.engine.Do(s.ctx, http.MethodPost, "/tokens", wanted, &made); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s", made.Value) })
}

type listTokensCommand struct{}

// Run lists the tokens.
func (c *listTokensCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var all []shownToken
	if err := s.engine.Do(s.ctx, http.MethodGet, "/tokens?limit=1000", nil, &all); err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("ID", "NAME", "TENANT", "SCOPES", "EXPIRES", "LAST USED")
		for _, t := range all {
			p.row(t.ID, t.Name, t.Tenant, strings.Join(t.Scopes, " "), when(t.Expires), when(t.LastUsed))
		}
	})
}

type revokeTokenCommand struct {
	ID string `arg:"" help:"Id of the token."`
}

// Run revokes a token.
func (c *revokeTokenCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	if err := s.engine.Do(s.ctx, http.MethodDelete, "/tokens/"+url.PathEscape(c.ID), nil, nil); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("The token is revoked.") })
}

type auditCommand struct {
	After int64 `help:"Only entries with a greater number." placeholder:"N"`
	Limit int   `help:"Maximum number of entries." default:"100"`
	All   bool  `help:"The entries of all tenants."`
}

// Run lists entries of the audit log.
func (c *auditCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var all []struct {
		Seq                             int64
		At                              time.Time
		Tenant, Name, Operation, Object string
		Status                          int
	}
	path := fmt.Sprintf("/audit?after=%d&limit=%d&allTenants=%t", c.After, c.Limit, c.All)
	if err := s.engine.Do(s.ctx, http.MethodGet, path, nil, &all); err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("NUMBER", "TIME", "TENANT", "TOKEN", "OPERATION", "OBJECT", "STATUS")
		for _, e := range all {
			p.row(strconv.FormatInt(e.Seq, 10), when(e.At), e.Tenant, e.Name, e.Operation, e.Object, strconv.Itoa(e.Status))
		}
	})
}

// resumeHalted ends the halts of serve engine --start-halted.
func (g *Commands) resumeHalted(in *Invocation, allTenants bool) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var done struct{ Apps []string }
	path := fmt.Sprintf("/halted-at-start/resume?allTenants=%t", allTenants)
	if err := s.engine.Do(s.ctx, http.MethodPost, path, nil, &done); err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.line("%s no longer halted.", many(len(done.Apps), "app is", "apps are"))
		for _, app := range done.Apps {
			p.row("resumed", app)
		}
	})
}

type resealCommand struct{}

// Run encrypts the secrets again.
func (c *resealCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var done struct{ Changed, Lost int }
	if err := s.engine.Do(s.ctx, http.MethodPost, "/reseal", nil, &done); err != nil {
		return err
	}
	err = s.show(func(p *page) { p.line("%s encrypted again.", many(done.Changed, "secret is", "secrets are")) })
	if err == nil && done.Lost > 0 {
		err = fmt.Errorf("%s decrypted by no key: write them again", many(done.Lost, "secret is", "secrets are"))
	}
	return err
}
