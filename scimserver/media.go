package scimserver

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// jsonMediaType is the media type that clients may use in addition to scim.MediaType (RFC 7644 section 3.8).
const jsonMediaType = "application/json"

// acceptable checks the Accept header. Every response has the type application/scim+json. A client that accepts application/json is
// regarded as accepting that type too. If the client accepts neither type, acceptable returns an error.
func acceptable(values []string) error {
	if len(values) == 0 {
		return nil
	}
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil && media == "" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			switch media {
			case scim.MediaType, jsonMediaType, "application/*", "*/*":
				return nil
			}
		}
	}
	return scim.Errorf(http.StatusNotAcceptable, "", "responses are %s, which the Accept header does not allow", scim.MediaType)
}

// readObject reads the JSON object of a request body.
func (s *server) readObject(r *request) (*scim.Object, error) {
	if r.body != nil {
		return r.body, nil
	}
	if err := readable(r.Header); err != nil {
		return nil, err
	}
	body, err := r.memory.read(r.Context(), r.Body, r.ContentLength)
	if err != nil {
		return nil, readError(err)
	}
	if err := r.memory.reserve(r.Context(), decodedSize(body)); err != nil {
		return nil, err
	}
	enter := s.turns.enterShared
	switch {
	case len(body) <= sharedBody:
		return scim.Decode(body)
	case len(body) > longBody:
		enter = s.turns.enter
	}
	turn, err := enter(r.Context())
	if err != nil {
		return nil, err
	}
	defer turn.leave()
	return scim.Decode(body)
}

// Decoding a body of more than longBody bytes is a long computation. Decoding one of more than sharedBody is short, but see
// turns.enterShared.
const (
	longBody   = 256 << 10
	sharedBody = 16 << 10
)

// readable checks that the body is JSON in UTF-8. A request without a content type is accepted.
func readable(h http.Header) error {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return scim.Errorf(http.StatusUnsupportedMediaType, "", "content coding %q is not supported", coding)
	}
	value := h.Get("Content-Type")
	if value == "" || value == scim.MediaType || value == jsonMediaType {
		return nil
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil || media != scim.MediaType && media != jsonMediaType {
		return scim.Errorf(http.StatusUnsupportedMediaType, "", "content type %q is neither %s nor %s", value, scim.MediaType, jsonMediaType)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return scim.Errorf(http.StatusUnsupportedMediaType, "", "charset %q is not supported; SCIM is UTF-8", charset)
	}
	return nil
}

// readError returns the error for a body that could not be read: it was too large, or the client aborted the request.
func readError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, errMemory) || errors.Is(err, errSharedMemory) {
		return err
	}
	return scim.Errorf(http.StatusBadRequest, scim.InvalidSyntax, "the body could not be read completely")
}
