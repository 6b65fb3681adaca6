package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/internal/rest"
)

// ErrNoBaseURL is returned if the sandbox listens on all addresses and has no base URL. The issuer of tokens and the audience of assertions
// depend on the base URL. The only other source of a base URL would be the Host header of each request, which the client controls.
var ErrNoBaseURL = errors.New("listening on all addresses requires a base URL: " +
	"set --base-url to the address that clients use, such as http://localhost:8080, or listen on one address")

// Check returns an error if a required base URL is missing, or the database or the custom domain is invalid. It creates nothing.
func (o *Options) Check() error {
	if o.BaseURL == "" && unspecified(o.Listen) {
		return ErrNoBaseURL
	}
	if o.DB != "" {
		if err := serving.CheckDatabase(o.DB); err != nil {
			return err
		}
	}
	if o.SecretKey != "" {
		if _, err := serving.SecretKey(o.SecretKey, ""); err != nil {
			return err
		}
	}
	if o.CustomDomain == "" {
		return nil
	}
	_, err := o.customBase("http://" + defaultListen)
	return err
}

// unspecified reports whether a listen address covers all addresses of the machine.
func unspecified(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.Unmap().IsUnspecified()
}

// addresses are the base URLs of the management API.
type addresses struct {
	public  string   // for links and issuers
	aliases []string // further base URLs that clients use
	custom  string   // at the custom domain, empty if unset
}

// addresses returns the base URLs of a listener; local is the base URL with the address of the listener.
func (o *Options) addresses(l net.Listener, local string) (a addresses, err error) {
	a.public = strings.TrimRight(o.BaseURL, "/")
	// Listen may contain a host name, which Check does not resolve.
	if tcp, ok := l.Addr().(*net.TCPAddr); a.public == "" && ok && tcp.IP.IsUnspecified() {
		return a, ErrNoBaseURL
	}
	if a.public == "" {
		a.public = local
	}
	u, err := url.Parse(local)
	if err != nil {
		return a, err
	}
	// Clients may use a loopback name through a port forwarding, regardless of the listener's address.
	a.aliases = append(rest.LoopbackAliases("http://localhost:"+u.Port()), local)
	a.aliases = append(a.aliases, rest.LoopbackAliases(a.public)...)
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && host != "" && !unspecified(o.Listen) {
		a.aliases = append(a.aliases, "http://"+net.JoinHostPort(host, u.Port()))
	}
	if o.CustomDomain != "" {
		a.custom, err = o.customBase(a.public)
	}
	return a, err
}

// customBase returns the base URL at the custom domain. The scheme is that of the public base URL. The port is that of the custom domain,
// or that of the public base URL if the custom domain has no port.
func (o *Options) customBase(public string) (string, error) {
	base, err := url.Parse(public)
	if err != nil {
		return "", err
	}
	wrong := fmt.Errorf("the custom domain %q is not a host name such as id.localhost, with or without a port", o.CustomDomain)
	custom, err := url.Parse(base.Scheme + "://" + o.CustomDomain)
	if err != nil || custom.Hostname() == "" || custom.Host != o.CustomDomain {
		return "", wrong
	}
	if port := custom.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", wrong
		}
	}
	if custom.Port() == "" && base.Port() != "" {
		custom.Host = net.JoinHostPort(custom.Hostname(), base.Port())
	}
	if strings.EqualFold(custom.Host, base.Host) {
		return "", fmt.Errorf("the custom domain %s is the domain of the base URL: use another name", custom.Host)
	}
	return strings.ToLower(custom.String()), nil
}
