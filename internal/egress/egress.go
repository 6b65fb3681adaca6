package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// Range is the part of the network that a Policy allows.
type Range string

// The ranges, from the widest to the narrowest.
const (
	// Any is every address of a host: this machine, private networks and the Internet.
	Any Range = "any"
	// Private excludes the loopback addresses of this machine.
	Private Range = "private"
	// Public also excludes private ranges (RFC 1918, RFC 4193) and other ranges that are not reachable over the Internet (RFC 6890). It is for
	// an identity provider whose tenants choose the base URLs.
	Public Range = "public"
)

// Policy defines which addresses may be connected to. Link-local, multicast, unspecified and reserved addresses and the metadata services
// of cloud providers are rejected in every range. An IPv6 address that represents an IPv4 address is treated as that IPv4 address.
type Policy struct {
	// Range is the allowed part of the network. Default: Any. An unknown value means Public.
	Range Range
	// Allow lists further addresses that are allowed, for example the network of a company's own targets.
	Allow []netip.Prefix
	// Own lists the addresses and ports at which this process itself serves targets. They are allowed in every range.
	Own []netip.AddrPort
}

// metadata lists the addresses of cloud metadata services that are not link-local. These services return credentials without
// authentication.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon EC2 over IPv6
	netip.MustParseAddr("fd20:ce::254"),    // Google Compute Engine over IPv6
	netip.MustParseAddr("168.63.129.16"),   // WireServer of Azure
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
}

// reserved is the range that is reserved for future use (RFC 1112), including the broadcast address.
var reserved = netip.MustParsePrefix("240.0.0.0/4")

// private are the ranges that are not reachable over the Internet (RFC 6890) and that netip.Addr.IsPrivate does not include.
var private = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // shared address space of providers
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("64:ff9b:1::/48"),  // local-use NAT64
	netip.MustParsePrefix("100::/64"),        // discard-only
	netip.MustParsePrefix("2001::/32"),       // Teredo, which obfuscates an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// embedding are the ranges of IPv6 addresses that lead to an embedded IPv4 address, with the offset of its first byte.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64 (RFC 6052)
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4 (RFC 3056)
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible (RFC 4291)
}

// reached returns the address that receives the packets for an address: the embedded IPv4 address if there is one, otherwise the address
// itself.
func reached(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is4() || a == netip.IPv6Unspecified() || a == netip.IPv6Loopback() {
		return a
	}
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[e.at:]))
		}
	}
	return a
}

// Check returns an error if the address must not be connected to. The error may be shown to an administrator.
func (p Policy) Check(a netip.Addr) error {
	a = reached(a)
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
	case a.IsUnspecified(), reserved.Contains(a):
		return refuse("not a host address")
	case p.Range == "" || p.Range == Any:
		return nil
	case a.IsLoopback():
		return refuse("this machine itself")
	case p.Range == Private:
		return nil
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

// Error means that the policy rejects the address of a host. The request was not sent.
type Error struct {
	Address netip.Addr
	Kind    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %s; connections to it are not allowed", e.Address, e.Kind)
}

// Control is the Control of a net.Dialer: it runs after name resolution and before the connection is established.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %q cannot be checked: %w", address, err)
	}
	if slices.Contains(p.Own, netip.AddrPortFrom(reached(a.Addr()), a.Port())) {
		return nil
	}
	return p.Check(a.Addr())
}
