package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

// settings are the parts of a configuration file that Reload replaces.
type settings struct {
	file         configFile
	tokens       map[string]token       // by digest
	certificates map[string]token       // by the name in a certificate, such as "dns:idp.example.com"
	apps         map[string]desired.App // by id in the store
}

// checkApp returns an error if an app is defined in the configuration file.
func (s *settings) checkApp(app, tenant string) error {
	if _, ok := s.apps[tenant+":"+app]; ok {
		return rest.Failf(rest.CodeMoved, "The app %s is defined in the configuration file of the daemon: change it there.", app)
	}
	return nil
}

// limits returns the limits of requests: those of the options, and otherwise those of the file.
func (o Options) limits(s *settings) Limits {
	l := o.Limits
	if f := s.file.Limits; f != nil {
		l.Rate, l.Burst, l.InFlight = or(l.Rate, f.Rate), or(l.Burst, f.Burst), or(l.InFlight, f.InFlight)
	}
	o.Limits = l
	o.complete()
	return o.Limits
}

func or[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

// with returns the options with the settings of a file where the options have none.
func (o Options) with(f *configFile) Options {
	o.Listen, o.DB, o.Egress = or(o.Listen, f.Listen), or(o.DB, f.DB), or(o.Egress, f.Egress)
	o.TLSCert, o.TLSKey, o.ClientCA = or(o.TLSCert, f.TLSCert), or(o.TLSKey, f.TLSKey), or(o.ClientCA, f.ClientCA)
	o.BehindProxy = o.BehindProxy || f.BehindProxy
	o.StartHalted = o.StartHalted || f.StartHalted
	if o.Keys == (KeyOptions{}) {
		o.Keys = KeyOptions{File: f.KeyFile, Command: f.KeyCommand}
	}
	if f.Metrics != nil {
		o.Metrics.Listen, o.Metrics.Token = or(o.Metrics.Listen, f.Metrics.Listen), or(o.Metrics.Token, f.Metrics.Token)
	}
	if f.Audit != nil {
		o.Audit.Rows, o.Audit.Age = or(o.Audit.Rows, f.Audit.Rows), or(o.Audit.Age, f.Audit.age)
	}
	if f.Traces != nil {
		t := &o.Traces
		t.Endpoint = or(t.Endpoint, f.Traces.Endpoint)
		if t.Headers == nil {
			t.Headers = f.Traces.Headers
		}
		if t.Sample == nil {
			t.Sample = f.Traces.Sample
		}
		if t.Hosts == nil {
			t.Hosts = f.Traces.Hosts
		}
	}
	if h := f.Retention; h != nil {
		o.Retention = o.Retention.with(Retention{
			Exchanges: h.Exchanges.limit(), Events: h.Events.limit(), Deleted: h.Deleted.limit(), DeadLetters: h.DeadLetters.limit(),
		})
	}
	return o
}

// writeApps stores the apps of a configuration file whose content differs from the stored one.
func (d *Daemon) writeApps(ctx context.Context, s *settings) (changed []string, err error) {
	var failed error
	for _, id := range slices.Sorted(maps.Keys(s.apps)) {
		did, err := d.writeApp(ctx, s.apps[id])
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("store the app %s of the configuration file: %w", id, err))
		}
		if did {
			changed = append(changed, id)
		}
	}
	return changed, failed
}

// maxTries is the maximum number of versions that writeApp tries; another process may write the same app at the same time.
const maxTries = 10

// writeApp stores an app with the stored version if the content is the same, and otherwise with the next version. So a restart changes
// nothing, and a deleted app is created again.
func (d *Daemon) writeApp(ctx context.Context, app desired.App) (changed bool, err error) {
	app.Version = 1
	if stored, err := d.store.App(ctx, app.ID); err == nil {
		app.Version = stored.Version
	}
	for range maxTries {
		changed, err = d.store.PutApp(ctx, app)
		stale, isStale := errors.AsType[*desired.StaleError](err)
		content, isContent := errors.AsType[*desired.ContentError](err)
		switch {
		case isStale:
			app.Version = stale.Current
		case isContent:
			app.Version = content.Version + 1
		default:
			return changed, err
		}
	}
	return false, err
}

// Reload reads the configuration file again, and logs what has changed. An invalid file changes nothing.
func (d *Daemon) Reload(ctx context.Context) {
	log := d.options.Logger
	if d.options.Config == "" {
		log.WarnContext(ctx, "nothing was reloaded: there is no configuration file (--config)")
		return
	}
	next, err := readSettings(d.options.Config, d.options.LookupEnv)
	if err != nil {
		log.ErrorContext(ctx, "the configuration file is not valid; the previous configuration stays in effect", "error", err)
		return
	}
	if err := d.reload(ctx, next); err != nil {
		log.ErrorContext(ctx, "a part of the configuration file was not applied", "error", err)
	}
}

func (d *Daemon) reload(ctx context.Context, next *settings) error {
	old := d.settings.Load()
	limits := d.given.limits(next)
	if err := limits.check(); err != nil {
		return err
	}
	// Apps of both files reject writes of the API, also while the new ones are stored.
	d.settings.Store(next)
	d.usage.set(limits)
	written, err := d.writeApps(ctx, next)
	released := 0
	for id := range old.apps {
		if _, ok := next.apps[id]; !ok {
			released++
		}
	}
	d.options.Logger.LogAttrs(ctx, slog.LevelWarn, "configuration reloaded", slog.Any("apps_written", written),
		slog.Int("apps_released", released), slog.Int("tokens", len(next.tokens)+len(next.certificates)),
		slog.Bool("tokens_changed", !sameTokens(old, next)), slog.Bool("limits_changed", d.given.limits(old) != limits),
		slog.Bool("restart_required", !reflect.DeepEqual(old.file.fixed(), next.file.fixed())))
	return err
}

func sameTokens(a, b *settings) bool {
	same := func(x, y token) bool {
		return x.Tenant == y.Tenant && x.Name == y.Name && slices.Equal(x.Scopes, y.Scopes)
	}
	return maps.EqualFunc(a.tokens, b.tokens, same) && maps.EqualFunc(a.certificates, b.certificates, same)
}

// fixed returns the settings that only a restart changes.
func (f configFile) fixed() configFile {
	f.Limits, f.tenantConfig, f.Tenants = nil, tenantConfig{}, nil
	return f
}

// tokenOfFile returns the token of a configuration file. Its id is its name, because it has no row.
func tokenOfFile(tenant string, c configToken) token {
	granted := slices.Clone(c.Scopes)
	slices.Sort(granted)
	return token{ID: "config:" + c.Name, Tenant: tenant, Name: c.Name, Scopes: slices.Compact(granted)}
}

// isDigest reports whether a value of a token is its digest, and returns the digest.
func isDigest(value string) (digest string, ok bool) {
	digest, ok = strings.CutPrefix(value, "sha256:")
	return strings.ToLower(digest), ok && len(digest) == 64 && strings.Trim(strings.ToLower(digest), "0123456789abcdef") == ""
}
