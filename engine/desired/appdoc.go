package desired

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// appDoc is the stored form of an App without credentials. The names of its members do not depend on the names of Go fields.
type appDoc struct {
	BaseURL      string    `json:"baseUrl"`
	Scheme       string    `json:"scheme,omitempty"`
	Header       string    `json:"header,omitempty"`
	OAuth        *oauthDoc `json:"oauth,omitempty"`
	CA           string    `json:"ca,omitempty"`
	Certificate  string    `json:"certificate,omitempty"`
	MinVersion   string    `json:"minVersion,omitempty"`
	Style        string    `json:"style,omitempty"`
	Fallback     string    `json:"fallback,omitempty"`
	Create       bool      `json:"create,omitempty"`
	Update       bool      `json:"update,omitempty"`
	Deactivate   bool      `json:"deactivate,omitempty"`
	Groups       bool      `json:"groups,omitempty"`
	Passwords    bool      `json:"passwords,omitempty"`
	UserName     string    `json:"userName,omitempty"`
	OnMissing    string    `json:"onMissing,omitempty"`
	OnExisting   string    `json:"onExisting,omitempty"`
	OnRecycled   string    `json:"onRecycled,omitempty"`
	HoldNames    string    `json:"holdNames,omitempty"`
	Concurrency  int       `json:"concurrency,omitempty"`
	Timeout      int64     `json:"timeoutMs,omitempty"`
	MemberBatch  int       `json:"memberBatch,omitempty"`
	Rate         float64   `json:"rate,omitempty"`
	Burst        int       `json:"burst,omitempty"`
	GuardLimit   int       `json:"guardLimit,omitempty"`
	GuardPercent float64   `json:"guardPercent,omitempty"`
	GuardWindow  int64     `json:"guardWindowMs,omitempty"`
	AsyncTimeout int64     `json:"asyncTimeoutMs,omitempty"`
	MaxPending   int       `json:"maxPending,omitempty"`
	Windows      []window  `json:"windows,omitempty"`
	Paused       bool      `json:"paused,omitempty"`
	Mapping      *Mapping  `json:"mapping,omitempty"`
	Pull         string    `json:"pull,omitempty"`
}

type oauthDoc struct {
	TokenURL string `json:"tokenUrl,omitempty"`
	ClientID string `json:"clientId,omitempty"`
	Scope    string `json:"scope,omitempty"`
	InBody   bool   `json:"inBody,omitempty"`
}

type window struct {
	Days  []int     `json:"days,omitempty"`
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Zone  string    `json:"zone,omitempty"`
	Begin time.Time `json:"begin,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

func docOf(a *App) appDoc {
	t := &a.Target
	d := appDoc{
		BaseURL: t.BaseURL, Scheme: string(t.Auth.Scheme), Header: t.Auth.Header,
		CA: t.TLS.CA, Certificate: t.TLS.Certificate, MinVersion: t.TLS.MinVersion,
		Style: string(t.Style), Fallback: string(t.Fallback),
		Create: t.CreateUsers, Update: t.UpdateUsers, Deactivate: t.DeactivateUsers, Groups: t.PushGroups, Passwords: t.SyncPasswords,
		UserName: t.UserNameAttribute, OnMissing: string(t.OnMissing), OnExisting: string(t.OnExisting), OnRecycled: string(t.OnRecycled),
		HoldNames: t.HoldNames, Concurrency: t.Concurrency, Timeout: t.Timeout.Milliseconds(), MemberBatch: t.MemberBatch,
		Rate: t.Rate, Burst: t.Burst, GuardLimit: t.Guard.Limit, GuardPercent: t.Guard.Percent, GuardWindow: t.Guard.Window.Milliseconds(),
		AsyncTimeout: t.AsyncTimeout.Milliseconds(), MaxPending: t.MaxPending, Paused: t.Paused, Pull: a.Pull.URL,
	}
	if t.Auth.OAuth != (engine.OAuth{}) {
		oauth := oauthDoc(t.Auth.OAuth)
		d.OAuth = &oauth
	}
	for _, w := range t.Maintenance {
		out := window{From: w.From, To: w.To, Zone: w.Zone, Begin: w.Begin.UTC(), Until: w.Until.UTC()}
		for _, day := range w.Days {
			out.Days = append(out.Days, int(day))
		}
		d.Windows = append(d.Windows, out)
	}
	if len(a.Mapping.Rules) > 0 || len(a.Mapping.Attributes) > 0 {
		d.Mapping = &a.Mapping
	}
	return d
}

// target returns the target without credentials.
func (d *appDoc) target() engine.Target {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	t := engine.Target{
		BaseURL: d.BaseURL, Auth: engine.Auth{Scheme: engine.Scheme(d.Scheme), Header: d.Header},
		TLS:   engine.TLS{CA: d.CA, Certificate: d.Certificate, MinVersion: d.MinVersion},
		Style: engine.Style(d.Style), Fallback: engine.Fallback(d.Fallback),
		CreateUsers: d.Create, UpdateUsers: d.Update, DeactivateUsers: d.Deactivate, PushGroups: d.Groups, SyncPasswords: d.Passwords,
		UserNameAttribute: d.UserName, OnMissing: engine.Missing(d.OnMissing), OnExisting: engine.Existing(d.OnExisting),
		OnRecycled: engine.Existing(d.OnRecycled), HoldNames: d.HoldNames, Concurrency: d.Concurrency, Timeout: ms(d.Timeout),
		MemberBatch: d.MemberBatch, Rate: d.Rate, Burst: d.Burst,
		Guard:        engine.Guard{Limit: d.GuardLimit, Percent: d.GuardPercent, Window: ms(d.GuardWindow)},
		AsyncTimeout: ms(d.AsyncTimeout), MaxPending: d.MaxPending, Paused: d.Paused,
	}
	if d.OAuth != nil {
		t.Auth.OAuth = engine.OAuth(*d.OAuth)
	}
	for _, w := range d.Windows {
		out := engine.Window{From: w.From, To: w.To, Zone: w.Zone, Begin: w.Begin, Until: w.Until}
		for _, day := range w.Days {
			out.Days = append(out.Days, time.Weekday(day))
		}
		t.Maintenance = append(t.Maintenance, out)
	}
	return t
}

// decodeDoc decodes the stored form of an app. Numbers of constants keep their notation.
func decodeDoc(text string) (d appDoc, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		return d, fmt.Errorf("desired: a stored app: %w", err)
	}
	return d, nil
}

// effect is what a change of an app requires of the engine.
type effect int

const (
	noEffect  effect = iota
	laneOnly         // the engine reads the target again
	allMarked        // the desired state of every principal may have changed
)

// effectOf compares two stored forms.
func effectOf(before, after appDoc, secretsChanged bool) (effect, error) {
	change := func(a, b appDoc) (bool, error) {
		x, err := json.Marshal(a)
		if err != nil {
			return false, fmt.Errorf("desired: %w", err)
		}
		y, err := json.Marshal(b)
		if err != nil {
			return false, fmt.Errorf("desired: %w", err)
		}
		return string(x) != string(y), nil
	}
	whole, err := change(before, after)
	if err != nil || !whole {
		if secretsChanged && err == nil {
			return after.effectOfSecrets(), nil
		}
		return noEffect, err
	}
	marks, err := change(before.principals(), after.principals())
	if marks || after.Pull != "" { // no principal is stored whose mark makes the engine continue
		return allMarked, err
	}
	return laneOnly, err
}

// effectOfSecrets returns what a change of the credentials alone requires.
func (d appDoc) effectOfSecrets() effect {
	if d.Pull != "" {
		return allMarked
	}
	return laneOnly
}

// principals returns the form without the members that do not concern what a principal has on the target: how requests are sent, and
// when.
func (d appDoc) principals() appDoc {
	return appDoc{
		BaseURL: d.BaseURL, Create: d.Create, Update: d.Update, Deactivate: d.Deactivate, Groups: d.Groups, Passwords: d.Passwords,
		UserName: d.UserName, OnMissing: d.OnMissing, OnExisting: d.OnExisting, OnRecycled: d.OnRecycled, HoldNames: d.HoldNames,
		Mapping: d.Mapping, Pull: d.Pull,
	}
}
