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

// localOnly rejects what does not come from this machine: clients of other machines, requests that a proxy on this machine has forwarded
// for them, and names other than loopback ones, so that a page of another site cannot read the console through a rebound host name.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
			http.Error(w, "The console answers on the machine it runs on only: open it through 127.0.0.1.", http.StatusForbidden)
			return
		}
		if sign := proxied(r); sign != "" {
			const text = "The console has no login, so that it rejects requests that a proxy forwards (%s): open it through 127.0.0.1, without " +
				"the proxy."
			http.Error(w, fmt.Sprintf(text, sign), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// proxyHeaders are the headers, and proxyPrefixes the beginnings of headers, that only proxies add: RFC 7239, RFC 9110 section 7.6.3, and
// those that servers, load balancers and content delivery networks use instead.
var (
	proxyHeaders = []string{
		"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip",
		"X-Envoy-External-Address",
	}
	proxyPrefixes = []string{"X-Forwarded", "X-Original-", "X-Proxy"}
)

// proxied returns what shows that a proxy has forwarded a request, "" if nothing does.
func proxied(r *http.Request) string {
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if slices.Contains(proxyHeaders, name) || slices.ContainsFunc(proxyPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return name
		}
	}
	if !r.ProtoAtLeast(1, 1) { // what nginx speaks to the server behind it unless told otherwise; no browser does
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
