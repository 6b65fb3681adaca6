package desired

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/scim"
)

// App is an app: its target, and how resources are derived from profiles, or the endpoint that has its users. A write replaces all fields,
// the credentials included. The Store returns it without credentials.
type App struct {
	ID      string
	Version int64
	Target  engine.Target
	Mapping Mapping
	Pull    Pull // default: users, groups and members are stored

	// HasCredentials and ChangedAt are set in the Apps that the Store returns. HasCredentials reports whether a secret of the target or of
	// Pull, or a client key, is stored.
	HasCredentials bool
	ChangedAt      time.Time
}

// Mapping derives the resources of users from their profiles. Without Rules, the users of the app have resources and no profiles.
type Mapping struct {
	// Attributes are the attributes of profiles. Rules refer to them as user.NAME.
	Attributes map[string]mapping.Kind `json:"attributes,omitempty"`
	Rules      []mapping.Rule          `json:"rules,omitempty"`
}

// subject is the name of the profile in expressions.
const subject = "user"

func (m Mapping) compile() (*mapping.Mapping, error) {
	if len(m.Rules) == 0 {
		return nil, nil
	}
	compiled, err := mapping.Compile(m.Rules, mapping.Options{Names: mapping.Names{subject: m.Attributes}})
	if err != nil {
		return nil, &InputError{"mapping", err.Error()}
	}
	return compiled, nil
}

// credentials are the secrets of an app.
type credentials struct {
	Secret string `json:"secret,omitempty"`
	Key    string `json:"key,omitempty"`

	Pull []string `json:"pull,omitempty"`
}

// maxCredential is the maximum size of the secret and of each text of TLS, in bytes.
const maxCredential = 64 << 10

// maxWindows is the maximum number of maintenance windows.
const maxWindows = 100

// Check returns an *InputError for an invalid field, as PutApp does.
func (a *App) Check() error { return a.check() }

// check returns an error for the first invalid field.
func (a *App) check() error {
	if err := checkAppID(a.ID); err != nil {
		return err
	}
	if err := checkVersion("version", a.Version); err != nil {
		return err
	}
	t := &a.Target
	base, err := url.Parse(t.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return &InputError{"target.baseUrl", "an http or https URL without user and query is required"}
	}
	for member, text := range map[string]string{
		"target.baseUrl": t.BaseURL, "target.userNameAttribute": t.UserNameAttribute, "target.holdNames": t.HoldNames,
		"target.auth.header": t.Auth.Header, "target.auth.oauth.tokenUrl": t.Auth.OAuth.TokenURL,
		"target.auth.oauth.clientId": t.Auth.OAuth.ClientID, "target.auth.oauth.scope": t.Auth.OAuth.Scope,
	} {
		if err := checkText(member, text); err != nil {
			return err
		}
	}
	if token, err := url.Parse(t.Auth.OAuth.TokenURL); err != nil || token.User != nil {
		return &InputError{"target.auth.oauth.tokenUrl", "a URL without user is required"}
	}
	for member, text := range map[string]string{
		"target.auth.secret": t.Auth.Secret, "target.tls.ca": t.TLS.CA, "target.tls.certificate": t.TLS.Certificate, "target.tls.key": t.TLS.Key,
	} {
		if len(text) > maxCredential || strings.ContainsRune(text, 0) {
			return &InputError{member, fmt.Sprintf("the value must have at most %d bytes, and no U+0000", maxCredential)}
		}
	}
	for member, text := range map[string]string{"target.tls.ca": t.TLS.CA, "target.tls.certificate": t.TLS.Certificate} {
		if strings.Contains(text, "PRIVATE KEY-----") { // the Store returns these texts
			return &InputError{member, "the value contains a private key: send it as target.tls.key"}
		}
	}
	if err := checkEnums(t); err != nil {
		return err
	}
	if min(t.Rate, t.Guard.Percent) < 0 || min(t.Timeout, t.AsyncTimeout, t.Guard.Window) < 0 ||
		min(t.Concurrency, t.MemberBatch, t.Burst, t.MaxPending, t.Guard.Limit) < 0 {
		return &InputError{"target", "numbers and durations must not be negative"}
	}
	if len(t.Maintenance) > maxWindows {
		return &InputError{"target.maintenance", fmt.Sprintf("at most %d windows are allowed", maxWindows)}
	}
	for i, w := range t.Maintenance {
		if slices.ContainsFunc(w.Days, func(day time.Weekday) bool { return day < time.Sunday || day > time.Saturday }) {
			return &InputError{fmt.Sprintf("target.maintenance[%d].days", i), "a day is not a day of the week"}
		}
	}
	if _, err := scim.ParseAttrPath(cmp.Or(t.UserNameAttribute, "userName")); err != nil {
		return &InputError{"target.userNameAttribute", err.Error()}
	}
	if _, err := regexp.Compile(t.HoldNames); err != nil {
		return &InputError{"target.holdNames", err.Error()}
	}
	if _, err := a.Mapping.compile(); err != nil {
		return err
	}
	if a.Pull.URL != "" && len(a.Mapping.Rules)+len(a.Mapping.Attributes) > 0 {
		return &InputError{"mapping", "an app with pull has no mapping, because the endpoint returns resources"}
	}
	if err := a.Pull.check(); err != nil {
		return err
	}
	for name := range a.Mapping.Attributes {
		if err := checkText("mapping.attributes", name); err != nil {
			return err
		}
	}
	return nil
}

// enum is a field with a fixed list of values. The empty value is always allowed.
type enum struct{ member, value, allowed string }

func checkEnums(t *engine.Target) error {
	for _, e := range []enum{
		{"target.auth.scheme", string(t.Auth.Scheme), "BEARER,RAW,BASIC,HEADER,CLIENT_CREDENTIALS"},
		{"target.tls.minVersion", t.TLS.MinVersion, "1.2,1.3"},
		{"target.style", string(t.Style), "catalog,wizard,auto"},
		{"target.fallback", string(t.Fallback), "learn,none"},
		{"target.onMissing", string(t.OnMissing), "recreate,fail"},
		{"target.onExisting", string(t.OnExisting), "auto,ask,never"},
		{"target.onRecycled", string(t.OnRecycled), "auto,ask,never"},
	} {
		if e.value != "" && !slices.Contains(strings.Split(e.allowed, ","), e.value) {
			return &InputError{e.member, "the value must be one of: " + strings.ReplaceAll(e.allowed, ",", ", ")}
		}
	}
	return nil
}

// split returns the stored forms of an app: the JSON without credentials, and the JSON of the credentials, empty if there are none.
func (a *App) split() (doc, secrets string, err error) {
	hidden := credentials{Secret: a.Target.Auth.Secret, Key: a.Target.TLS.Key, Pull: a.Pull.Secrets}
	data, err := json.Marshal(docOf(a))
	if err != nil {
		return "", "", fmt.Errorf("desired: %w", err)
	}
	if hidden.Secret == "" && hidden.Key == "" && len(hidden.Pull) == 0 {
		return string(data), "", nil
	}
	secret, err := json.Marshal(hidden)
	if err != nil {
		return "", "", fmt.Errorf("desired: %w", err)
	}
	return string(data), string(secret), nil
}
