package egress

import (
	"fmt"
	"net/netip"
	"syscall"
)

// Policy says which addresses may be connected to. Link-local, multicast and unspecified addresses and the metadata
// services of cloud providers are always refused.
type Policy struct {
	// PublicOnly also refuses loopback addresses and private ranges (RFC 1918, RFC 4193, RFC 6598): for an identity provider
	// whose tenants choose the base URLs.
	PublicOnly bool
	// Allow lists addresses that are allowed all the same, for example the network of a company's own targets.
	Allow []netip.Prefix
}

// metadata are addresses outside the link-local ranges at which a cloud provider hands credentials to whoever asks.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon EC2 over IPv6
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
}

// private are the ranges that netip.Addr.IsPrivate does not know.
var private = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), // RFC 6598, shared with the provider
	netip.MustParsePrefix("0.0.0.0/8"),     // RFC 1122, this network
	netip.MustParsePrefix("64:ff9b:1::/48"),
}

// nat64 holds an IPv4 address in its last 32 bits (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Check returns an error that may be shown to an administrator when the address must not be connected to.
func (p Policy) Check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, prefix := range p.Allow {
		if prefix.Contains(a) {
			return nil
		}
	}
	refuse := func(what string) error { return &Error{Address: a, Kind: what} }
	for _, m := range metadata {
		if a == m {
			return refuse("the metadata service of a cloud provider")
		}
	}
	switch {
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast():
		return refuse("a link-local address")
	case a.IsMulticast():
		return refuse("a multicast address")
	case a.IsUnspecified():
		return refuse("no address of a host")
	case !p.PublicOnly:
		return nil
	case a.IsLoopback():
		return refuse("this machine itself")
	case a.IsPrivate():
		return refuse("a private address")
	}
	for _, prefix := range private {
		if prefix.Contains(a) {
			return refuse("a private address")
		}
	}
	return nil
}

// Error says that a host resolved to an address that must not be connected to. Nothing was sent.
type Error struct {
	Address netip.Addr
	Kind    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %s; connections to it are not allowed", e.Address, e.Kind)
}

// Control is a net.Dialer's: it runs after name resolution and before the connection is made.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %q cannot be checked: %w", address, err)
	}
	return p.Check(a.Addr())
}
