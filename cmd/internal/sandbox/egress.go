package sandbox

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/egress"
)

// egressPolicy returns the address policy of a sandbox that listens on an address. By default, services on this machine may be targets only
// if the sandbox listens on a loopback address. Every policy allows the sandbox itself as a target.
func egressPolicy(name string, listening net.Addr) (egress.Policy, error) {
	policy := egress.Policy{Range: egress.Range(name)}
	address, _ := netip.ParseAddrPort(listening.String()) // the address of a TCP listener has an IP address and a port
	switch policy.Range {
	case egress.Any, egress.Private, egress.Public:
	case "":
		policy.Range = egress.Private
		if serving.OnLoopback(listening) {
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

// targetEgress converts a policy to the type of the engine.
func targetEgress(p egress.Policy) engine.Egress {
	return engine.Egress{Range: engine.EgressRange(p.Range), Allow: p.Allow, Own: p.Own}
}
