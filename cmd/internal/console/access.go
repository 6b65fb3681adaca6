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

// client is what is known about the connection of a request.
type client struct {
	host   string // name of the host in the URL of the browser, without the port
	at     string // the same with the port
	secure bool   // the browser uses HTTPS
	// local reports whether the request comes from this machine to a loopback name, and not through a proxy.
	local bool
}

// refused is the reason why a request is rejected before any page.
type refused struct{ text string }

// admit checks the host name and the transport of a request. Because only known names are served, a page of another site cannot reach the
// console through a host name that it controls (DNS rebinding). Through other names than loopback names, the console requires HTTPS: of
// this process, or of a trusted proxy.
func (c *console) admit(r *http.Request) (client, *refused) {
	hostport, secure, trusted := r.Host, r.TLS != nil, c.trusts(r.RemoteAddr)
	if trusted {
		if host := lastValue(r.Header, "X-Forwarded-Host"); host != "" {
			hostport = host
		}
		if lastValue(r.Header, "X-Forwarded-Proto") == "https" {
			secure = true
		}
	}
	name := hostName(hostport)
	port := strings.TrimPrefix(strings.TrimPrefix(hostport, "["+name+"]"), name)
	known := isLoopback(name) || slices.ContainsFunc(c.o.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
	known = known && strings.Trim(port, ":0123456789") == ""
	switch {
	case !known:
		return client{}, &refused{fmt.Sprintf("The console is not available under the host name %q. Open it through 127.0.0.1, or start the "+
			"server with --console-host %s.", clean(name), clean(name))}
	case !isLoopback(name) && !secure:
		return client{}, &refused{"The console requires HTTPS under this host name. Serve it with TLS, or start the server with " +
			"--trusted-proxy and the address of the proxy that terminates TLS and sets X-Forwarded-Proto."}
	}
	return client{
		host: strings.ToLower(name), at: hostport, secure: secure,
		local: isLoopback(name) && isLoopback(hostName(r.RemoteAddr)) && proxied(r) == "",
	}, nil
}

// clean returns a host name for an error message. It returns NAME for a name with a character that no host name has, or with more than
// 253 characters.
func clean(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool {
		return r > '~' || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_", r)
	}) || len(name) > 253 {
		return "NAME"
	}
	return name
}

func (c *console) trusts(remote string) bool {
	addr, err := netip.ParseAddr(strings.Trim(hostName(remote), "[]"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.o.Proxies, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

// lastValue returns the last value of a header, which the nearest proxy has set.
func lastValue(h http.Header, name string) string {
	all := strings.Split(strings.Join(h.Values(name), ","), ",")
	return strings.TrimSpace(all[len(all)-1])
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

// hostName returns the host of an address with or without a port.
func hostName(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	return host
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// header sets the headers of all responses. The pages load nothing from other hosts, run no inline script, and cannot be framed.
func header(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "+
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
