package model

import (
	"net/url"
	"strings"
)

// SameOrigin reports whether two URLs have the same scheme, host and port. A secret for one of them may then be sent to the other. The
// comparison is by name: another spelling of a host, such as one with a trailing dot, is another host.
func SameOrigin(a, b string) bool {
	first, ok := origin(a)
	second, known := origin(b)
	return ok && known && first == second
}

// defaultPorts holds the default port of each scheme.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// origin returns the scheme, the host and the port of an absolute URL.
func origin(text string) (o [3]string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return o, false
	}
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	return [3]string{u.Scheme, strings.ToLower(u.Hostname()), port}, true
}
