package scim

import "time"

// Resource is a SCIM resource: an object with the common attributes of RFC 7643 section 3.1.
//
// The zero value is an empty resource. Build one with new(Resource) and the Set method of Object, or read one from JSON with
// DecodeResource.
type Resource struct {
	Object
}

// Meta is the common attribute "meta". Zero fields are absent.
type Meta struct {
	ResourceType          string
	Created, LastModified time.Time
	Location, Version     string
}

// ID returns the identifier the service provider issued.
func (r *Resource) ID() string { return r.Text("id") }

// SetID sets the identifier. A new one is appended to the object, so set it right after "schemas".
func (r *Resource) SetID(id string) { r.Set("id", id) }

// ExternalID returns the provisioning client's identifier.
func (r *Resource) ExternalID() string { return r.Text("externalId") }

// Schemas returns the schema URNs in their original spelling.
func (r *Resource) Schemas() []string { return r.texts("schemas") }

// HasSchema reports whether "schemas" contains the URN, ignoring case.
func (r *Resource) HasSchema(urn string) bool {
	for _, v := range r.Array("schemas") {
		if s, ok := v.(string); ok && EqualName(s, urn) {
			return true
		}
	}
	return false
}

// AddSchema adds the URN to "schemas" unless it is already present.
func (r *Resource) AddSchema(urn string) {
	if r.HasSchema(urn) {
		return
	}
	have := r.Array("schemas")
	r.Set("schemas", append(have[:len(have):len(have)], urn))
}

// Meta returns the attribute "meta". Timestamps that cannot be parsed are zero.
func (r *Resource) Meta() Meta {
	m := r.Complex("meta")
	return Meta{
		ResourceType: m.Text("resourceType"),
		Created:      instant(m.Text("created")),
		LastModified: instant(m.Text("lastModified")),
		Location:     m.Text("location"),
		Version:      m.Text("version"),
	}
}

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// SetMeta replaces the attribute "meta". Zero fields are omitted. Timestamps are written in UTC as [TimeFormat].
func (r *Resource) SetMeta(m Meta) {
	o := &Object{members: make([]Member, 0, 5)}
	text := func(name, value string) {
		if value != "" {
			o.members = append(o.members, Member{Name: name, Value: value})
		}
	}
	text("resourceType", m.ResourceType)
	instant := func(name string, t time.Time) {
		if !t.IsZero() {
			text(name, t.UTC().Format(TimeFormat))
		}
	}
	instant("created", m.Created)
	instant("lastModified", m.LastModified)
	text("location", m.Location)
	text("version", m.Version)
	r.Set("meta", o)
}

// Clone returns a deep copy. It returns nil for nil.
func (r *Resource) Clone() *Resource {
	if r == nil {
		return nil
	}
	return &Resource{Object: *r.Object.Clone()}
}
