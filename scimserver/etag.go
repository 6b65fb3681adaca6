package scimserver

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// versionTag returns the entity tag of a record, for meta.version and the ETag header (RFC 7644 section 3.14). The tag is weak because it
// changes only with the attributes that clients can write. The groups of a user and the display names of members are derived: when they
// change, the tag stays the same.
func versionTag(rec *Record) string { return tagOf(rec.Version) }

// tagOf returns the entity tag of a version.
func tagOf(version int64) string {
	return `W/"` + strconv.FormatInt(version, 10) + `"`
}

// precondition checks If-Match and If-None-Match before a change of an existing resource.
func precondition(h http.Header, rec *Record) error {
	tag := versionTag(rec)
	if values := h.Values("If-Match"); len(values) > 0 && !matchesTag(values, tag) {
		return scim.Errorf(http.StatusPreconditionFailed, "", "the resource has changed; its version is %s", tag)
	}
	if values := h.Values("If-None-Match"); len(values) > 0 && matchesTag(values, tag) {
		return scim.Errorf(http.StatusPreconditionFailed, "", "the resource exists in version %s", tag)
	}
	return nil
}

// matchesTag reports whether a list of entity tags contains the given one. RFC 9110 requires a strong comparison for If-Match, by which a
// weak tag matches nothing. RFC 7644 uses weak tags there, so matchesTag compares the opaque values and ignores "W/".
func matchesTag(values []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
