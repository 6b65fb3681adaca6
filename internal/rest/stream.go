package rest

import (
	"io"
	"mime"
	"net/http"
	"reflect"
)

// mediaLines is the media type of a body of JSON values, one per line.
const mediaLines = "application/x-ndjson"

// Stream is a body of JSON values, one per line, that the operation reads itself: its size is not limited, and no check has read it. The
// operation reads it in Do only.
type Stream struct{ io.Reader }

// bindStream binds the body of a request without reading it.
func (s *requestShape) bindStream(to reflect.Value, r *http.Request) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); (err != nil || media != mediaLines) && r.ContentLength != 0 {
		return Failf(CodeMediaType, "The body must have the media type %s.", mediaLines)
	}
	if r.ContentLength == 0 && s.bodyRequired {
		return Failf(CodeBody, textNoBody)
	}
	s.body.of(to).Set(reflect.ValueOf(Stream{r.Body}))
	return nil
}
