package console

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// localOnly rejects requests from other machines, requests that a proxy on this machine has forwarded, and requests to host names other
// than loopback names, so that a page of another site cannot read the console through DNS rebinding.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
			http.Error(w, "The console is available only on its own machine: open it through 127.0.0.1.", http.StatusForbidden)
			return
		}
		if sign := proxied(r); sign != "" {
			const text = "The console has no login and rejects requests that a proxy forwards (%s): open it through 127.0.0.1, without " +
				"the proxy."
			http.Error(w, fmt.Sprintf(text, sign), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// proxyHeaders are headers, and proxyPrefixes prefixes of headers, that only proxies add: those of RFC 7239 and RFC 9110 section 7.6.3, and
// others that servers, load balancers and content delivery networks use instead.
var (
	proxyHeaders = []string{
		"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip",
		"X-Envoy-External-Address",
	}
	proxyPrefixes = []string{"X-Forwarded", "X-Original-", "X-Proxy"}
)

// proxied returns the name of the header, or the protocol version, that shows that a proxy has forwarded a request. It returns "" for other
// requests.
func proxied(r *http.Request) string {
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if slices.Contains(proxyHeaders, name) || slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return name
		}
	}
	if !r.ProtoAtLeast(1, 1) { // HTTP/1.0 is the default of nginx for upstream requests; browsers do not use HTTP/1.0
		return r.Proto
	}
	return ""
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}
