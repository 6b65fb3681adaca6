package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// PersonPage shows a user or group in an app.
type PersonPage struct {
	Head
	P           api.Principal
	Explanation api.Explanation
	Values      []Compared
	SeenAt      time.Time // of the response in which Values were found; zero without one
	Differing   int
	Exchanges   []Exchange
}

// Task reports whether the user or group has a failed change that an operator can retry.
func (p PersonPage) Task() bool {
	return slices.Contains([]engine.Status{engine.StatusFailed, engine.StatusHeld, engine.StatusRetrying}, p.P.State.Status)
}

// Compared is an attribute with its desired value, and the value in the last response of the target.
type Compared struct {
	Path, Desired, Seen string
	Rule, Source, Error string
	Known               bool // the response has the attribute
	Equal               bool
	Converted           bool // equal to the value that was sent, which the engine has converted
	Ignored             bool // the target ignores the attribute
}

const personExchanges = 50

func (c *console) person(w http.ResponseWriter, r *http.Request, v *Visit) {
	h, ok := c.head(w, r, v, "people")
	if !ok {
		return
	}
	who := engine.Principal{Kind: engine.Kind(r.PathValue("kind")), ID: r.PathValue("principal")}
	client := c.client(v)
	p := PersonPage{Head: h}
	var err error
	if p.P, err = client.Principal(r.Context(), h.ID, who); err != nil {
		c.problem(w, r, v, err)
		return
	}
	if p.Explanation, err = client.Explain(r.Context(), h.ID, who); err != nil {
		if e, ok := asAPI(err); !ok || e.Status >= http.StatusInternalServerError {
			c.problem(w, r, v, err)
			return
		}
		p.Explanation.Reasons = []string{"The desired state cannot be read: " + err.Error()}
	}
	p.Exchanges, err = c.exchanges(r.Context(), v, engine.AttemptQuery{
		App: v.caller.Tenant + h.ID, Kind: who.Kind, Principal: who.ID, Limit: personExchanges,
	})
	if err != nil {
		c.broken(w, r, v, err)
		return
	}
	seen := p.lastSeen()
	synced := p.P.State.Desired == p.P.State.Synced
	for _, value := range p.Explanation.Values {
		one := compare(value, seen, p.P.State.IgnoredAttributes)
		if !one.Equal && one.Known && synced && p.wasSent(value.Path, seen) {
			one.Equal, one.Converted = true, true
		}
		p.Values = append(p.Values, one)
	}
	for _, value := range p.Values {
		if seen != nil && !value.Equal && !value.Ignored && value.Error == "" {
			p.Differing++
		}
	}
	name := nameOr(p.P.Name, p.P.ID)
	c.write(w, r, v, http.StatusOK, "person", name+" in "+h.App.Label, p)
}

// lastSeen returns the resource in the last successful response for the account or group, nil without one.
func (p *PersonPage) lastSeen() map[string]any {
	for _, e := range p.Exchanges {
		if e.Status < 200 || e.Status > 299 || e.Response == "" {
			continue
		}
		var body map[string]any
		if json.Unmarshal([]byte(e.Response), &body) != nil {
			continue
		}
		if list, ok := body["Resources"].([]any); ok {
			if len(list) != 1 {
				continue
			}
			body, _ = list[0].(map[string]any)
		}
		if id, _ := body["id"].(string); id == "" || p.P.State.RemoteID != "" && id != p.P.State.RemoteID {
			continue
		}
		p.SeenAt = e.At
		return body
	}
	return nil
}

// wasSent reports whether the last request that wrote an attribute had the value that the target returned. The
// engine converts some results of a mapping before it sends them, such as a locale, so that the desired value differs from both.
func (p *PersonPage) wasSent(path string, seen map[string]any) bool {
	value, _ := lookup(seen, path)
	for _, e := range p.Exchanges {
		var body map[string]any
		if (e.Method != http.MethodPost && e.Method != http.MethodPut) || json.Unmarshal([]byte(e.Request), &body) != nil {
			continue
		}
		if sent, ok := lookup(body, path); ok {
			return normal(sent) == normal(value)
		}
	}
	return false
}

func compare(v engine.Value, seen map[string]any, ignored map[string]engine.IgnoredAttribute) Compared {
	out := Compared{Path: v.Path, Desired: shown(v.Value), Rule: v.Rule, Source: v.Source, Error: v.Error, Ignored: ignored[v.Path].Ignored}
	found, ok := lookup(seen, v.Path)
	out.Known = ok
	if ok {
		out.Seen = shown(found)
	}
	out.Equal = ok && normal(v.Value) == normal(found)
	return out
}

// shown returns a value as text: strings without quotes, other values as JSON.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// normal returns the JSON of a value with the members of objects in order.
func normal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var plain any
	if json.Unmarshal(data, &plain) != nil {
		return string(data)
	}
	if data, err = json.Marshal(plain); err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// lookup returns the value of an attribute path in a resource: name.givenName, emails[type eq "work"].value, or a path after the URN of an
// extension. Names are case-insensitive.
func lookup(in any, path string) (any, bool) {
	for path != "" {
		object, ok := in.(map[string]any)
		if !ok {
			return nil, false
		}
		name, filter, rest := nextName(object, path)
		value, ok := member(object, name)
		if !ok {
			return nil, false
		}
		if filter != "" {
			if value, ok = selected(value, filter); !ok {
				return nil, false
			}
		}
		in, path = value, rest
	}
	return in, in != nil
}

// nextName splits a path after its first attribute name.
func nextName(object map[string]any, path string) (name, filter, rest string) {
	for key := range object { // the URN of an extension contains periods
		if len(path) >= len(key) && strings.HasPrefix(key, "urn:") && strings.EqualFold(path[:len(key)], key) {
			return key, "", strings.TrimPrefix(path[len(key):], ":")
		}
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, "", ""
	}
	name = path[:end]
	if path[end] == '.' {
		return name, "", path[end+1:]
	}
	closing := strings.IndexByte(path, ']')
	if closing < 0 {
		return path, "", ""
	}
	return name, path[end+1 : closing], strings.TrimPrefix(path[closing+1:], ".")
}

func member(object map[string]any, name string) (any, bool) {
	if v, ok := object[name]; ok {
		return v, true
	}
	for key, v := range object {
		if strings.EqualFold(key, name) {
			return v, true
		}
	}
	return nil, false
}

// selected returns the first element of a list that satisfies a filter of the form: name eq "value".
func selected(list any, filter string) (any, bool) {
	parts := strings.SplitN(filter, " ", 3)
	all, ok := list.([]any)
	if !ok || len(parts) != 3 || !strings.EqualFold(parts[1], "eq") {
		return nil, false
	}
	i := slices.IndexFunc(all, func(v any) bool {
		object, ok := v.(map[string]any)
		if !ok {
			return false
		}
		found, ok := member(object, parts[0])
		return ok && strings.EqualFold(fmt.Sprint(found), strings.Trim(parts[2], `"`))
	})
	if i < 0 {
		return nil, false
	}
	return all[i], true
}
