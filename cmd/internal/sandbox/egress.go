package sandbox

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/egress"
)

// egressPolicy returns the address policy of a sandbox that listens on an address. Default: what stands on this machine may be a target
// only of a sandbox that no other machine reaches. The sandbox is a target of its own in every policy.
func egressPolicy(name string, listening net.Addr) (egress.Policy, error) {
	policy := egress.Policy{Range: egress.Range(name)}
	address, _ := netip.ParseAddrPort(listening.String()) // of a TCP listener: always both
	switch policy.Range {
	case egress.Any, egress.Private, egress.Public:
	case "":
		policy.Range = egress.Private
		if onLoopback(listening) {
			policy.Range = egress.Any
		}
	default:
		return policy, fmt.Errorf("unknown address policy %q: use %s, %s or %s", name, egress.Any, egress.Private, egress.Public)
	}
	own := []netip.Addr{address.Addr().Unmap().WithZone("")}
	if own[0].IsUnspecified() {
		own = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	for _, a := range own {
		policy.Own = append(policy.Own, netip.AddrPortFrom(a, address.Port()))
	}
	return policy, nil
}

// targetEgress is a policy as the engine takes it.
func targetEgress(p egress.Policy) engine.Egress {
	return engine.Egress{Range: engine.EgressRange(p.Range), Allow: p.Allow, Own: p.Own}
}
