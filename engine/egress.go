package engine

import "net/netip"

// EgressRange is the part of the network that an Egress allows.
type EgressRange string

// The ranges, from the widest to the narrowest.
const (
	EgressAny     EgressRange = "any"     // every address of a host: this machine, private networks and the Internet
	EgressPrivate EgressRange = "private" // without the loopback addresses of this machine
	// EgressPublic also excludes private ranges (RFC 1918, RFC 4193) and the other ranges that are not reachable over the Internet (RFC 6890).
	// Use it for an identity provider whose tenants choose the base URLs.
	EgressPublic EgressRange = "public"
)

// Egress is the policy for the addresses of targets and their token endpoints. Link-local, multicast, unspecified and reserved addresses
// and the metadata services of cloud providers are rejected in every range. An IPv6 address that represents an IPv4 address is treated as
// the IPv4 address.
type Egress struct {
	// Range is the allowed part of the network. Default: EgressAny. An unknown value means EgressPublic.
	Range EgressRange
	// Allow lists further addresses that are allowed, for example the network of a company's own targets.
	Allow []netip.Prefix
	// Own lists the addresses and ports at which this process itself serves targets. They are allowed in every range.
	Own []netip.AddrPort
}
