package desiredapi

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
)

// Target is the connection and the options of an app. Absent members have the defaults of engine.Target.
type Target struct {
	BaseURL           string   `json:"baseUrl" required:"true" max:"1024"`
	Auth              *Auth    `json:"auth,omitempty"`
	TLS               *TLS     `json:"tls,omitempty"`
	Style             string   `json:"style,omitempty" empty:"absent" enum:"catalog,wizard,auto"`
	Fallback          string   `json:"fallback,omitempty" empty:"absent" enum:"learn,none"`
	CreateUsers       bool     `json:"createUsers"`
	UpdateUsers       bool     `json:"updateUsers"`
	DeactivateUsers   bool     `json:"deactivateUsers"`
	PushGroups        bool     `json:"pushGroups"`
	SyncPasswords     bool     `json:"syncPasswords"`
	UserNameAttribute string   `json:"userNameAttribute,omitempty" max:"1024"`
	OnMissing         string   `json:"onMissing,omitempty" empty:"absent" enum:"recreate,fail"`
	OnExisting        string   `json:"onExisting,omitempty" empty:"absent" enum:"auto,ask,never"`
	OnRecycled        string   `json:"onRecycled,omitempty" empty:"absent" enum:"auto,ask,never"`
	HoldNames         string   `json:"holdNames,omitempty" max:"1024"`
	Concurrency       int      `json:"concurrency,omitempty" min:"0" max:"1000"`
	Timeout           float64  `json:"timeoutSeconds,omitempty" min:"0" max:"86400"`
	MemberBatch       int      `json:"memberBatch,omitempty" min:"0" max:"100000"`
	Rate              float64  `json:"rate,omitempty" min:"0" max:"1000000"`
	Burst             int      `json:"burst,omitempty" min:"0" max:"1000000"`
	Guard             *Guard   `json:"guard,omitempty"`
	AsyncTimeout      float64  `json:"asyncTimeoutSeconds,omitempty" min:"0" max:"604800"`
	MaxPending        int      `json:"maxPending,omitempty" min:"0" max:"1000000"`
	Maintenance       []Window `json:"maintenance,omitempty" max:"100"`
	Paused            bool     `json:"paused"`
}

// MoreTags implements rest.Described.
func (Target) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"baseUrl":             `doc:"base URL of the SCIM service, http or https, without query"`,
		"auth":                `doc:"credentials for the target"`,
		"tls":                 `doc:"settings of https targets"`,
		"style":               `doc:"style of updates: catalog (PATCH and PUT), wizard (PUT) or auto. Default: catalog"`,
		"fallback":            `doc:"whether other forms of a request are tried after a rejection: learn or none. Default: learn"`,
		"createUsers":         `doc:"create accounts"`,
		"updateUsers":         `doc:"update accounts"`,
		"deactivateUsers":     `doc:"deactivate accounts, and activate them again"`,
		"pushGroups":          `doc:"create, update and delete groups"`,
		"syncPasswords":       `doc:"also set the passwords of existing accounts"`,
		"userNameAttribute":   `doc:"attribute by which an account is looked up. Default: userName"`,
		"onMissing":           `doc:"what to do if an account was deleted on the target: recreate or fail. Default: recreate"`,
		"onExisting":          `doc:"what to do if a lookup finds an account: auto (link it), ask or never. Default: auto"`,
		"onRecycled":          `doc:"as onExisting, for an account of another user. Default: ask"`,
		"holdNames":           `doc:"RE2 expression: a rename to a matching userName needs a decision; - for none"`,
		"concurrency":         `doc:"maximum number of concurrent requests. Default: 4"`,
		"timeoutSeconds":      `doc:"time limit of a request. Default: 60"`,
		"memberBatch":         `doc:"maximum number of members in a request. Default: 100"`,
		"rate":                `doc:"maximum number of requests per second. Default: no limit"`,
		"burst":               `doc:"maximum number of requests after an idle period, if rate is set. Default: rate"`,
		"guard":               `doc:"limit of mass deactivations and mass deletions. Default: none"`,
		"asyncTimeoutSeconds": `doc:"time limit of a change that the target has accepted with 202. Default: 600"`,
		"maxPending":          `doc:"maximum number of users and groups with an accepted change. Default: 50"`,
		"maintenance":         `doc:"times in which nothing is sent"`,
		"paused":              `doc:"send nothing"`,
	}
}

// Auth has the credentials for a target.
type Auth struct {
	Scheme string `json:"scheme,omitempty" empty:"absent" enum:"BEARER,RAW,BASIC,HEADER,CLIENT_CREDENTIALS" doc:"Default: BEARER"`
	Secret string `json:"secret,omitempty" writeOnly:"true" max:"65536" doc:"never returned; a write without it removes the secret"`
	Header string `json:"header,omitempty" max:"1024" doc:"name of the header with the secret, if the scheme is HEADER"`
	OAuth  *OAuth `json:"oauth,omitempty" doc:"token endpoint, if the scheme is CLIENT_CREDENTIALS"`
}

// OAuth is a token endpoint.
type OAuth struct {
	TokenURL string `json:"tokenUrl" required:"true" max:"1024" doc:"URL of the token endpoint"`
	ClientID string `json:"clientId" max:"1024" doc:"id of the client"`
	Scope    string `json:"scope,omitempty" max:"1024" doc:"scopes, separated by spaces"`
	InBody   bool   `json:"inBody,omitempty" doc:"send the credentials of the client in the body instead of a header"`
}

// TLS has settings of https targets.
type TLS struct {
	CA          string `json:"ca,omitempty" max:"65536" doc:"PEM certificates that are trusted instead of those of the system"`
	Certificate string `json:"certificate,omitempty" max:"65536" doc:"PEM client certificate with its chain"`
	Key         string `json:"key,omitempty" writeOnly:"true" max:"65536" doc:"PEM key of the certificate, which is never returned"`
	MinVersion  string `json:"minVersion,omitempty" empty:"absent" enum:"1.2,1.3" doc:"Default: 1.2"`
}

// Guard limits deactivations and deletions; see engine.Guard.
type Guard struct {
	Limit   int     `json:"limit,omitempty" min:"0" max:"100000000" doc:"number of accounts"`
	Percent float64 `json:"percent,omitempty" min:"0" max:"100" doc:"percentage of the accounts"`
	Window  float64 `json:"windowSeconds,omitempty" min:"0" max:"31536000" doc:"Default: 86400"`
}

// Window is a maintenance window, weekly or once; see engine.Window.
type Window struct {
	Days  []string  `json:"days,omitempty" enum:"sunday,monday,tuesday,wednesday,thursday,friday,saturday" max:"7" doc:"Default: every day"`
	From  string    `json:"from,omitempty" max:"5" doc:"start of a weekly window, HH:MM"`
	To    string    `json:"to,omitempty" max:"5" doc:"end of a weekly window, HH:MM"`
	Zone  string    `json:"zone,omitempty" max:"100" doc:"IANA time zone. Default: UTC"`
	Begin time.Time `json:"begin,omitzero" doc:"start of a single window"`
	Until time.Time `json:"until,omitzero" doc:"end of a single window"`
}

var weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// seconds converts a number of seconds, rounded to milliseconds.
func seconds(n float64) time.Duration { return time.Duration(math.Round(n*1000)) * time.Millisecond }

// engine converts a target.
func (t *Target) engine() (engine.Target, error) {
	out := engine.Target{
		BaseURL: t.BaseURL, Style: engine.Style(t.Style), Fallback: engine.Fallback(t.Fallback),
		CreateUsers: t.CreateUsers, UpdateUsers: t.UpdateUsers, DeactivateUsers: t.DeactivateUsers, PushGroups: t.PushGroups,
		SyncPasswords: t.SyncPasswords, UserNameAttribute: t.UserNameAttribute, OnMissing: engine.Missing(t.OnMissing),
		OnExisting: engine.Existing(t.OnExisting), OnRecycled: engine.Existing(t.OnRecycled), HoldNames: t.HoldNames,
		Concurrency: t.Concurrency, Timeout: seconds(t.Timeout), MemberBatch: t.MemberBatch, Rate: t.Rate, Burst: t.Burst,
		AsyncTimeout: seconds(t.AsyncTimeout), MaxPending: t.MaxPending, Paused: t.Paused,
	}
	if a := t.Auth; a != nil {
		out.Auth = engine.Auth{Scheme: engine.Scheme(a.Scheme), Secret: a.Secret, Header: a.Header}
		if a.OAuth != nil {
			out.Auth.OAuth = engine.OAuth(*a.OAuth)
		}
	}
	if t.TLS != nil {
		out.TLS = engine.TLS(*t.TLS)
	}
	if t.Guard != nil {
		out.Guard = engine.Guard{Limit: t.Guard.Limit, Percent: t.Guard.Percent, Window: seconds(t.Guard.Window)}
	}
	for i, w := range t.Maintenance {
		window, err := w.engine(fmt.Sprintf("target.maintenance[%d]", i))
		if err != nil {
			return out, err
		}
		out.Maintenance = append(out.Maintenance, window)
	}
	return out, nil
}

func (w *Window) engine(member string) (engine.Window, error) {
	out := engine.Window{From: w.From, To: w.To, Zone: w.Zone, Begin: w.Begin, Until: w.Until}
	for _, day := range w.Days {
		out.Days = append(out.Days, time.Weekday(slices.Index(weekdays, strings.ToLower(day))))
	}
	if !w.Until.IsZero() {
		if len(w.Days) > 0 || w.From != "" || w.To != "" || w.Zone != "" || w.Until.Before(w.Begin) {
			return out, rest.Invalid(member, "A single window has begin and until only, and does not end before it begins")
		}
		return out, nil
	}
	_, from := time.Parse("15:04", w.From)
	_, to := time.Parse("15:04", w.To)
	_, zone := time.LoadLocation(w.Zone)
	if from != nil || to != nil || zone != nil || w.From == w.To || !w.Begin.IsZero() {
		return out, rest.Invalid(member, "A weekly window has from and to as HH:MM, which differ, and the name of a time zone")
	}
	return out, nil
}

// targetOf returns the shown form of a target, without secrets.
func targetOf(t *engine.Target) Target {
	out := Target{
		BaseURL: t.BaseURL, Style: string(t.Style), Fallback: string(t.Fallback),
		CreateUsers: t.CreateUsers, UpdateUsers: t.UpdateUsers, DeactivateUsers: t.DeactivateUsers, PushGroups: t.PushGroups,
		SyncPasswords: t.SyncPasswords, UserNameAttribute: t.UserNameAttribute, OnMissing: string(t.OnMissing),
		OnExisting: string(t.OnExisting), OnRecycled: string(t.OnRecycled), HoldNames: t.HoldNames,
		Concurrency: t.Concurrency, Timeout: t.Timeout.Seconds(), MemberBatch: t.MemberBatch, Rate: t.Rate, Burst: t.Burst,
		AsyncTimeout: t.AsyncTimeout.Seconds(), MaxPending: t.MaxPending, Paused: t.Paused,
	}
	if a := t.Auth; a != (engine.Auth{}) {
		out.Auth = &Auth{Scheme: string(a.Scheme), Header: a.Header}
		if a.OAuth != (engine.OAuth{}) {
			oauth := OAuth(a.OAuth)
			out.Auth.OAuth = &oauth
		}
	}
	if t.TLS != (engine.TLS{}) {
		out.TLS = &TLS{CA: t.TLS.CA, Certificate: t.TLS.Certificate, MinVersion: t.TLS.MinVersion}
	}
	if t.Guard != (engine.Guard{}) {
		out.Guard = &Guard{Limit: t.Guard.Limit, Percent: t.Guard.Percent, Window: t.Guard.Window.Seconds()}
	}
	for _, w := range t.Maintenance {
		window := Window{From: w.From, To: w.To, Zone: w.Zone, Begin: w.Begin, Until: w.Until}
		for _, day := range w.Days {
			window.Days = append(window.Days, weekdays[day])
		}
		out.Maintenance = append(out.Maintenance, window)
	}
	return out
}
