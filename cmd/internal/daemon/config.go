package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/internal/rest"
)

// configFile is a configuration file. The tag flag is the flag of serve engine with the same meaning; that of an object is the start of the
// flags of its members. The tag doc describes a member without a flag. Settings returns both for the reference of the configuration.
type configFile struct {
	Listen      string         `json:"listen" flag:"listen"`
	DB          string         `json:"db" flag:"db"`
	TLSCert     string         `json:"tlsCert" flag:"tls-cert"`
	TLSKey      string         `json:"tlsKey" flag:"tls-key"`
	ClientCA    string         `json:"clientCa" flag:"client-ca"`
	BehindProxy bool           `json:"behindProxy" flag:"behind-proxy"`
	KeyFile     string         `json:"keyFile" flag:"key-file"`
	KeyCommand  string         `json:"keyCommand" flag:"key-command"`
	StartHalted bool           `json:"startHalted" flag:"start-halted"`
	Egress      string         `json:"egress" flag:"egress"`
	Metrics     *configMetrics `json:"metrics" flag:"metrics-"`
	Audit       *configLimit   `json:"audit" flag:"audit-"`
	Retention   *configHistory `json:"retention" flag:""`
	Traces      *configTraces  `json:"traces" flag:""`
	Limits      *configLimits  `json:"limits" flag:""`
	tenantConfig
	Tenants map[string]tenantConfig `json:"tenants" doc:"tokens and apps of all other tenants, by name"`
}

// tenantConfig are the members of a tenant; those of the default tenant are at the top.
type tenantConfig struct {
	Tokens []configToken        `json:"tokens" doc:"tokens of the tenant default"`
	Apps   map[string]configApp `json:"apps" doc:"apps of the tenant default, by id"`
}

type configMetrics struct {
	Listen string `json:"listen" flag:"listen"`
	Token  string `json:"token" flag:"token"` // reference
}

// configLimit limits stored objects.
type configLimit struct {
	Age  string `json:"age" flag:"age"` // such as "720h"
	Rows int64  `json:"rows" flag:"rows"`

	age time.Duration
}

type configTraces struct {
	Endpoint string            `json:"endpoint" doc:"base URL of an OpenTelemetry collector. Default: no export"`
	Headers  map[string]string `json:"headers" doc:"headers of the exports; the values are references"` // references
	Sample   *float64          `json:"sample" doc:"part of the traces that is recorded, from 0 to 1. Default: 1"`
	Hosts    []string          `json:"hosts" flag:"trace-host"`
}

// configHistory are the limits of Options.Retention.
type configHistory struct {
	Exchanges   *configLimit `json:"exchanges" flag:"exchange-"`
	Events      *configLimit `json:"events" flag:"event-"`
	Deleted     *configLimit `json:"deleted" flag:"deleted-"`
	DeadLetters *configLimit `json:"deadLetters" flag:"letter-"`
}

// limits returns the limits by their paths in the file.
func (f *configFile) limits() map[string]*configLimit {
	all := map[string]*configLimit{"audit": f.Audit}
	if h := f.Retention; h != nil {
		all["retention.exchanges"], all["retention.events"] = h.Exchanges, h.Events
		all["retention.deleted"], all["retention.deadLetters"] = h.Deleted, h.DeadLetters
	}
	return all
}

// limit returns the values of a limit, which may be nil.
func (c *configLimit) limit() RetentionLimit {
	if c == nil {
		return RetentionLimit{}
	}
	return RetentionLimit{c.age, c.Rows}
}

type configLimits struct {
	Rate     float64 `json:"rate" flag:"rate"`
	Burst    int     `json:"burst" flag:"burst"`
	InFlight int     `json:"inFlight" flag:"in-flight"`
}

// configToken is a token, or the certificate of a client.
type configToken struct {
	Name        string   `json:"name" doc:"name in the audit log"`
	Token       string   `json:"token" doc:"reference to the token, or sha256: and its digest"`
	Certificate string   `json:"certificate" doc:"instead of a token: subject:, dns:, uri: or email: and the name in a certificate"`
	Scopes      []string `json:"scopes" doc:"permissions: read, write, apps, approve, secrets, admin, fleet"`
}

// configApp is an app without its version. The secrets and the client key are references.
type configApp struct {
	Target  desiredapi.Target   `json:"target" doc:"SCIM server; auth.secret and tls.key are references"`
	Mapping *desiredapi.Mapping `json:"mapping" doc:"attributes of users, and the rules that map them"`
	Pull    *desiredapi.Pull    `json:"pull" doc:"endpoint of the identity provider that the daemon queries; secrets are references"`
}

// maxConfig is the maximum size of a configuration file, in bytes.
const maxConfig = 4 << 20

// reading is the state of the reading of a file.
type reading struct {
	file      string
	lookupEnv func(string) (string, bool)
	at        positions
}

// readSettings reads a configuration file; without a file name it returns empty settings. Errors have the file, the line and the column.
func readSettings(file string, lookupEnv func(string) (string, bool)) (*settings, error) {
	s := &settings{tokens: map[string]token{}, certificates: map[string]token{}, apps: map[string]desired.App{}}
	if file == "" {
		return s, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", file, maxConfig)
	}
	r := &reading{file: file, lookupEnv: lookupEnv}
	value, at, err := parseYAML(data, s.file)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	r.at = at
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &s.file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := r.complete(s); err != nil {
		return nil, err
	}
	return s, nil
}

// complete checks the values and resolves the references.
func (r *reading) complete(s *settings) error {
	for path, l := range s.file.limits() {
		if l == nil || l.Age == "" {
			continue
		}
		var err error
		if l.age, err = time.ParseDuration(l.Age); err != nil || l.age <= 0 {
			return r.wrong(path+".age", errors.New("a positive duration such as 720h is required"))
		}
	}
	if m := s.file.Metrics; m != nil && m.Token != "" {
		if err := r.resolve("metrics.token", &m.Token); err != nil {
			return err
		}
	}
	if t := s.file.Traces; t != nil {
		for name, value := range t.Headers {
			if err := r.resolve("traces.headers."+name, &value); err != nil {
				return err
			}
			t.Headers[name] = value
		}
	}
	if err := r.tenant(s, DefaultTenant, "", &s.file.tenantConfig); err != nil {
		return err
	}
	for name, tenant := range s.file.Tenants {
		path := "tenants." + name
		if !tenantName.MatchString(name) || name == DefaultTenant {
			return r.wrong(path, fmt.Errorf("the name of a tenant has 1 to 64 of the characters a-z 0-9 -, and is not %q, whose tokens and "+
				"apps are at the top of the file", DefaultTenant))
		}
		if err := r.tenant(s, name, path+".", &tenant); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) tenant(s *settings, name, path string, c *tenantConfig) error {
	for i, t := range c.Tokens {
		if err := r.token(s, name, fmt.Sprintf("%stokens.%d", path, i), t); err != nil {
			return err
		}
	}
	for id, a := range c.Apps {
		if err := r.app(s, name, path+"apps."+id, id, a); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) token(s *settings, tenant, path string, c configToken) error {
	switch {
	case c.Name == "":
		return r.wrong(path, errors.New("a name is required"))
	case (c.Token == "") == (c.Certificate == ""):
		return r.wrong(path, errors.New("either a token or a certificate is required"))
	case len(c.Scopes) == 0:
		return r.wrong(path, errors.New("scopes are required: "+strings.Join(scopes, ", ")))
	}
	for i, scope := range c.Scopes {
		if !slices.Contains(scopes, scope) {
			return r.wrong(fmt.Sprintf("%s.scopes.%d", path, i), fmt.Errorf("unknown permission %q%s", scope, suggestion(scope, scopes)))
		}
	}
	t := tokenOfFile(tenant, c)
	if c.Certificate != "" {
		kind, name, _ := strings.Cut(c.Certificate, ":")
		if !slices.Contains([]string{"subject", "dns", "uri", "email"}, kind) || name == "" {
			return r.wrong(path+".certificate", errors.New("the name in the certificate is required: subject:, dns:, uri: or email: and the name"))
		}
		if _, ok := s.certificates[c.Certificate]; ok {
			return r.wrong(path+".certificate", errors.New("the certificate is given twice"))
		}
		s.certificates[c.Certificate] = t
		return nil
	}
	digest, ok := isDigest(c.Token)
	if !ok {
		value := c.Token
		if err := r.resolve(path+".token", &value); err != nil {
			return err
		}
		if len(value) < minToken {
			return r.wrong(path+".token", fmt.Errorf("the token has %d characters: at least %d are required", len(value), minToken))
		}
		digest = digestOf(value)
	}
	if _, ok := s.tokens[digest]; ok {
		return r.wrong(path+".token", errors.New("the token is given twice"))
	}
	s.tokens[digest] = t
	return nil
}

func (r *reading) app(s *settings, tenant, path, id string, c configApp) error {
	if auth := c.Target.Auth; auth != nil && auth.Secret != "" {
		if err := r.resolve(path+".target.auth.secret", &auth.Secret); err != nil {
			return err
		}
	}
	if tls := c.Target.TLS; tls != nil && tls.Key != "" {
		if err := r.resolve(path+".target.tls.key", &tls.Key); err != nil {
			return err
		}
	}
	if c.Pull != nil {
		for i := range c.Pull.Secrets {
			if err := r.resolve(fmt.Sprintf("%s.pull.secrets.%d", path, i), &c.Pull.Secrets[i]); err != nil {
				return err
			}
		}
	}
	app, err := desiredapi.App{Version: 1, Target: c.Target, Mapping: c.Mapping, Pull: c.Pull}.Stored(tenant + ":" + id)
	if err == nil {
		err = app.Check()
	}
	if err != nil {
		return r.invalid(path, err)
	}
	s.apps[app.ID] = app
	return nil
}

// invalid returns an error of an app at the position of the member that it concerns.
func (r *reading) invalid(path string, err error) error {
	if input, ok := errors.AsType[*desired.InputError](err); ok {
		return r.wrong(path+"."+input.Member, fmt.Errorf("%s: %s", input.Member, input.Problem))
	}
	if e, ok := errors.AsType[*rest.Error](err); ok {
		member, _, _ := strings.Cut(e.Text(), ": ")
		return r.wrong(path+"."+member, errors.New(e.Text()))
	}
	return r.wrong(path, err)
}

// resolve replaces a reference by its value: env:NAME by a variable, file:PATH by the content of a file, relative to the configuration,
// without white space at the end. Errors do not contain the value.
func (r *reading) resolve(path string, value *string) error {
	kind, name, _ := strings.Cut(*value, ":")
	switch kind {
	case "env":
		text, ok := r.lookupEnv(name)
		if !ok || text == "" {
			return r.wrong(path, fmt.Errorf("the variable %s is not set", name))
		}
		*value = text
	case "file":
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(r.file), name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return r.wrong(path, err)
		}
		if *value = strings.TrimRight(string(text), " \t\r\n"); *value == "" {
			return r.wrong(path, fmt.Errorf("the file %s is empty", name))
		}
	default:
		return r.wrong(path, errors.New("a secret is given by reference: env:NAME or file:PATH"))
	}
	return nil
}

// wrong adds the file and the position of a path to an error.
func (r *reading) wrong(path string, err error) error {
	return fmt.Errorf("%s:%s: %w", r.file, r.at.of(path), err)
}
