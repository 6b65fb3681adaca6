package scimserver

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A path may contain the protocol version (RFC 7644 section 3.13), as in /scim/v2/Users. A client may omit it; an unsupported version is
// rejected.

const protocolVersion = "v2"

var versionSegment = regexp.MustCompile(`^v[0-9]+$`)

// withoutVersion returns a prefix without the version at its end.
func withoutVersion(prefix string) string {
	before, last := prefix[:max(strings.LastIndexByte(prefix, '/'), 0)], prefix[strings.LastIndexByte(prefix, '/')+1:]
	if versionSegment.MatchString(last) {
		return before
	}
	return prefix
}

// below returns the part of a path after the prefix, without leading and trailing slashes and without a version. ok is false for a path
// outside the prefix. The error is 400 invalidVers.
func (s *server) below(path string) (rest string, ok bool, err error) {
	if rest, ok = strings.CutPrefix(path, s.prefix); !ok || rest != "" && rest[0] != '/' {
		if rest, ok = strings.CutPrefix(path, withoutVersion(s.prefix)); !ok || rest != "" && rest[0] != '/' {
			return "", false, nil
		}
	}
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/")
	first, after, _ := strings.Cut(rest, "/")
	switch {
	case s.routes[first] != nil || !versionSegment.MatchString(first):
		return rest, true, nil
	case first != protocolVersion:
		return "", false, scim.Errorf(http.StatusBadRequest, scim.InvalidVers, "protocol version %s is not supported; use %s",
			quoteSome([]string{first})[0], protocolVersion)
	}
	return after, true, nil
}
