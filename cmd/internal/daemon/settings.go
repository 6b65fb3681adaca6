package daemon

import (
	"context"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

// settings are the content of a configuration file.
type settings struct {
	tokens       map[string]token       // by digest
	certificates map[string]token       // by the name in a certificate, such as "dns:idp.example.com"
	apps         map[string]desired.App // by id in the store
	limits       *Limits
}

// readSettings reads a configuration file, nothing if the name is empty.
func readSettings(file string, lookupEnv func(string) (string, bool)) (*settings, error) {
	s := &settings{tokens: map[string]token{}, certificates: map[string]token{}, apps: map[string]desired.App{}}
	return s, nil
}

// checkApp returns an error if an app is defined in the configuration file.
func (s *settings) checkApp(app, tenant string) error {
	if _, ok := s.apps[tenant+":"+app]; ok {
		return rest.Failf(rest.CodeMoved, "The app %s is defined in the configuration file of the daemon: change it there.", app)
	}
	return nil
}

// limits returns the limits of requests: those of the file, otherwise those of the options.
func (d *Daemon) limits() Limits {
	if l := d.settings.Load().limits; l != nil {
		return *l
	}
	return d.options.Limits
}

// writeApps stores the apps of the configuration file.
func (d *Daemon) writeApps(ctx context.Context, s *settings) error { return nil }

// Reload reads the configuration file again. An invalid file changes nothing.
func (d *Daemon) Reload(ctx context.Context) {}
