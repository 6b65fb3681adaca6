package sandbox

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// providers are the quirks of the SCIM servers by their names.
type providers map[string]*quirks.Switch

var _ sandboxapi.Providers = providers{}

// observed returns the service providers by the prefix they are mounted at, with access log and metrics. What is observed
// is what clients see: answers with their quirks.
func (p providers) observed(m *observe.Metrics, log *slog.Logger) map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for name, s := range p {
		prefix := prefixOf(name)
		handlers[prefix] = observe.Wrap(s, observe.Options{Provider: name, Prefix: prefix, Logger: log, Metrics: m})
	}
	return handlers
}

// Quirks implements sandboxapi.Providers.
func (p providers) Quirks(provider string) (active []string, available []sandboxapi.Quirk, err error) {
	s, ok := p[provider]
	if !ok {
		return nil, nil, sandboxapi.ErrNoProvider
	}
	active = []string{}
	for _, set := range s.Settings() {
		active = append(active, set.String())
	}
	for _, q := range quirks.All() {
		available = append(available, sandboxapi.Quirk{Usage: q.Usage(), Category: string(q.Category), Does: q.Does, Seen: q.Seen})
	}
	return active, available, nil
}

// SetQuirks implements sandboxapi.Providers.
func (p providers) SetQuirks(provider string, active []string) error {
	s, ok := p[provider]
	if !ok {
		return sandboxapi.ErrNoProvider
	}
	settings, err := quirks.ParseAll(active)
	if err != nil {
		return err
	}
	return s.Set(settings...)
}

// withQuirks puts the switch for quirks in front of a SCIM server.
func withQuirks(h http.Handler, active []string) (*quirks.Switch, error) {
	settings, err := quirks.ParseAll(active)
	if err != nil {
		return nil, fmt.Errorf("quirks: %w", err)
	}
	s, err := quirks.New(h, settings...)
	if err != nil {
		return nil, fmt.Errorf("quirks: %w", err)
	}
	return s, nil
}
