package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// create handles POST on an endpoint (RFC 7644 section 3.3).
func (s *server) create(r *request, t *resourceType) (*reply, error) {
	p, err := r.projection()
	if err != nil {
		return nil, err
	}
	body, err := s.readObject(r)
	if err != nil {
		return nil, err
	}
	p.Written = t.written(body)
	made, err := s.newRecord(t, s.newID(), body)
	if err != nil {
		return nil, err
	}
	rec, err := s.store.Create(r.Context(), made.Record, made.Members)
	if err != nil {
		return nil, err
	}
	return s.resourceReply(r, t, http.StatusCreated, rec, p)
}

// newRecord returns the record to create from a representation.
func (s *server) newRecord(t *resourceType, id string, body *scim.Object) (NewRecord, error) {
	clean, err := t.Clean(&scim.Resource{Object: *body}, s.cleaning())
	if err != nil {
		return NewRecord{}, err
	}
	rec, members, err := s.record(t, clean, &Record{Type: t.Name, ID: id})
	return NewRecord{Record: rec, Members: members}, err
}

// cleaning returns the options for cleaning representations.
func (s *server) cleaning() schema.CleanOptions {
	return schema.CleanOptions{
		RefuseUnknown:        !s.accept.Has(lenient.UnknownAttributes),
		RefuseUnknownSchemas: !s.accept.Has(lenient.UnknownSchemas),
		Accept:               s.accept,
	}
}

// record converts a clean representation to a record: it removes the attributes that the store holds separately. Unchanged fields are
// copied from the old record. If the password in the representation equals the stored hash, the password is unchanged. The representation
// becomes the resource of the record, so the caller must not use it afterwards.
func (s *server) record(t *resourceType, clean *scim.Resource, old *Record) (rec *Record, members []string, err error) {
	rec = &Record{
		Type: old.Type, ID: old.ID, Version: old.Version, Created: old.Created, LastModified: old.LastModified,
		Resource: clean,
	}
	r := rec.Resource
	r.Delete("id")
	r.Delete("meta")
	rec.Display = displayOf(r)
	if t.isUser {
		r.Delete(attrGroups)
		switch value, ok := r.Get(attrPassword); {
		case ok && old.PasswordHash != "" && value == old.PasswordHash:
			rec.PasswordHash = old.PasswordHash
		case ok:
			if rec.PasswordHash, err = s.hashPassword(r.Text(attrPassword)); err != nil {
				return nil, nil, err
			}
		}
		r.Delete(attrPassword)
	}
	if t.isGroup {
		if members, err = checkMembers(r); err != nil {
			return nil, nil, err
		}
		r.Delete(attrMembers)
	}
	return rec, members, s.checkSize(t, r, old.Resource)
}

// displayOf returns the display name of a resource, which other resources contain as "display".
func displayOf(r *scim.Resource) string {
	for _, name := range []string{"displayName", "userName"} {
		if text := r.Text(name); text != "" {
			return text
		}
	}
	return ""
}
