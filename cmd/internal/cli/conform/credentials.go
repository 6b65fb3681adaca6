package conform

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A source is the origin of the value of a flag; greater sources override smaller ones.
type source int

const (
	unset source = iota
	fromFile
	fromEnvironment
	fromCommandLine
)

// kinds are the kinds of credentials, each with its flags.
var kinds = [][]string{
	{"token"},
	{"basic"},
	{"oauth-token-url", "oauth-client-id", "oauth-client-secret", "oauth-scope"},
	{"header"},
}

// credentials returns the connection. Every command that embeds a connection has this method, by which preferCredentials finds the
// connection.
func (c *connection) credentials() *connection { return c }

// preferCredentials keeps only the kinds of credentials from the source with the highest priority: a password on the command line overrides
// a token in the environment. Two kinds from one source remain and are rejected later.
func preferCredentials(parsed *kong.Context, lookupEnv func(string) (string, bool)) {
	node := parsed.Selected()
	if node == nil {
		return
	}
	command, ok := node.Target.Addr().Interface().(interface{ credentials() *connection })
	if !ok {
		return
	}
	c := command.credentials()
	flags := map[string]*kong.Flag{}
	for _, flag := range node.Flags {
		flags[flag.Name] = flag
	}
	sources := make([]source, len(kinds))
	for i, kind := range kinds {
		for _, name := range kind {
			if flags[name] != nil && (name != "header" || slices.ContainsFunc(c.Header, authorizes)) {
				sources[i] = max(sources[i], sourceOf(parsed, flags[name], lookupEnv))
			}
		}
	}
	best := slices.Max(sources)
	for i, kind := range kinds {
		if sources[i] == best || sources[i] == unset {
			continue
		}
		if kind[0] == "header" {
			c.Header = slices.DeleteFunc(c.Header, authorizes)
			continue
		}
		for _, name := range kind {
			flags[name].Target.SetZero()
		}
	}
}

func authorizes(header string) bool {
	name, _, _ := strings.Cut(header, ":")
	return strings.EqualFold(strings.TrimSpace(name), "Authorization")
}

func sourceOf(parsed *kong.Context, flag *kong.Flag, lookupEnv func(string) (string, bool)) source {
	switch {
	case flag.Target.IsZero():
		return unset
	case slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag == flag }):
		return fromCommandLine
	case slices.ContainsFunc(flag.Tag.Envs, func(name string) bool { _, set := lookupEnv(name); return set }):
		return fromEnvironment
	}
	return fromFile
}
