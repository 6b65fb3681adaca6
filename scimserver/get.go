package scimserver

import "net/http"

// get handles GET on one resource (RFC 7644 section 3.4.1).
func (s *server) get(r *request, t *resourceType) (*reply, error) {
	p, err := r.projection()
	if err != nil {
		return nil, err
	}
	if s.raw != nil {
		return s.getRaw(r, t, p)
	}
	rec, err := s.store.Get(r.Context(), t.Name, r.id)
	if err != nil {
		return nil, err
	}
	if values := r.Header.Values("If-None-Match"); len(values) > 0 && matchesTag(values, versionTag(rec)) {
		return &reply{status: http.StatusNotModified, etag: versionTag(rec)}, nil
	}
	return s.resourceReply(r, t, http.StatusOK, rec, p)
}
