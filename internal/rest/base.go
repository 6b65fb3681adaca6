package rest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// bases contains the base URLs of the API for one request.
type bases struct {
	public string   // base of all links
	all    []string // public and its aliases
	sent   string   // the element of all to which the request was sent, empty for an unknown host
}

// basesOf returns the base URLs of the API for a request. Without a configured base, links use the host of the request, and only loopback
// hosts count as a base, because a request can name any host.
func (h *Handler) basesOf(r *http.Request) bases {
	b := bases{public: h.options.BaseURL, all: h.known}
	if b.public == "" {
		b.public = "http://" + r.Host
		if r.TLS != nil {
			b.public = "https://" + r.Host
		}
		b.all = LoopbackAliases(b.public)
	}
	for _, base := range b.all {
		if scheme, host := splitBase(base); host == hostOf(scheme, r.Host) {
			b.sent = base
			break
		}
	}
	return b
}

// LoopbackAliases returns a base URL and its other names if its host is a loopback host, and nothing for another host.
func LoopbackAliases(base string) []string {
	u, err := url.Parse(base)
	if err != nil || !IsLoopback(u.Hostname()) {
		return nil
	}
	out := []string{base}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		alias := *u
		alias.Host = strings.TrimSuffix(net.JoinHostPort(host, u.Port()), ":")
		if text := alias.String(); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// IsLoopback reports whether a host is localhost or a loopback address.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// splitBase returns the scheme and the host of a base URL, the host as normalized by hostOf.
func splitBase(base string) (scheme, host string) {
	u, err := url.Parse(base)
	if err != nil {
		return "", ""
	}
	return u.Scheme, hostOf(u.Scheme, u.Host)
}

// hostOf normalizes a host: lowercase, without the default port of the scheme.
func hostOf(scheme, host string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(strings.ToLower(host), port)
}

// Bases returns the base URLs of the API: first the one that URL uses, then its aliases.
func Bases(ctx context.Context) []string { return callFrom(ctx).bases.all }

// SentTo returns the element of Bases to which the request was sent, or "" for an unknown host.
func SentTo(ctx context.Context) string { return callFrom(ctx).bases.sent }

// CheckHost returns an error if the request was sent to a host that is not in Bases. It is for operations whose issuer or audience depends
// on the host.
func CheckHost(ctx context.Context) error {
	if c := callFrom(ctx); c.bases.sent == "" {
		return Invalid("Host", "%.255q is not an address of this service; use %s", c.request.Host, c.bases.hint())
	}
	return nil
}

// hint returns the base URL to recommend in an error.
func (b *bases) hint() string {
	if len(b.all) == 0 {
		return "the public base URL, once one is configured"
	}
	return b.all[0]
}

// Below returns the path of a URL below one of Bases, and any other text unchanged.
func Below(ctx context.Context, text string) string {
	for _, base := range Bases(ctx) {
		if path, ok := strings.CutPrefix(text, base); ok && (path == "" || path[0] == '/') {
			return path
		}
	}
	return text
}
