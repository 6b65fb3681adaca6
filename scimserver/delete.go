package scimserver

import (
	"errors"
	"net/http"
)

// delete handles DELETE on one resource (RFC 7644 section 3.6).
func (s *server) delete(r *request, t *resourceType) (*reply, error) {
	unlock, err := s.locks.lock(r.Context(), r.id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range maxAttempts {
		rec, err := s.store.Get(r.Context(), t.Name, r.id)
		if err != nil {
			return nil, err
		}
		if err := precondition(r.Header, rec); err != nil {
			return nil, err
		}
		err = s.store.Delete(r.Context(), t.Name, r.id, rec.Version)
		if err == nil {
			return &reply{status: http.StatusNoContent}, nil
		}
		if !errors.Is(err, ErrConflict) {
			return nil, err
		}
	}
	return nil, ErrConflict
}
