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

// bases are the addresses of the API for one request.
type bases struct {
	public string   // base of all links
	all    []string // public and its aliases
	sent   string   // the one of all that the request was sent to, empty for another host
}

// basesOf returns the addresses of the API for a request. Without a configured base, the host of the request is the base of links, and no
// host but this machine counts as an address: a request could name any.
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

// LoopbackAliases returns a base URL and its other names if its host is this machine, and nothing for another host.
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

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// splitBase returns the scheme and the host of a base URL, the host as hostOf writes it.
func splitBase(base string) (scheme, host string) {
	u, err := url.Parse(base)
	if err != nil {
		return "", ""
	}
	return u.Scheme, hostOf(u.Scheme, u.Host)
}

// hostOf writes a host in one way: in lower case, without the port that belongs to the scheme.
func hostOf(scheme, host string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(strings.ToLower(host), port)
}

// Bases returns the addresses of the API: the base of URL first, then its aliases.
func Bases(ctx context.Context) []string { return callFrom(ctx).bases.all }

// SentTo returns the one of Bases that the request was sent to, empty for another host.
func SentTo(ctx context.Context) string { return callFrom(ctx).bases.sent }

// CheckHost rejects a request to a host that is not one of Bases, where that host would decide about an issuer or an audience.
func CheckHost(ctx context.Context) error {
	if c := callFrom(ctx); c.bases.sent == "" {
		return Invalid("Host", "%.255q is not an address of this service; use %s", c.request.Host, c.bases.hint())
	}
	return nil
}

// hint tells a caller which address to use.
func (b *bases) hint() string {
	if len(b.all) == 0 {
		return "the public base URL, once one is configured"
	}
	return b.all[0]
}

// Below returns the path of a URL below one of Bases, and any other text as it is.
func Below(ctx context.Context, text string) string {
	for _, base := range Bases(ctx) {
		if path, ok := strings.CutPrefix(text, base); ok && (path == "" || path[0] == '/') {
			return path
		}
	}
	return text
}
