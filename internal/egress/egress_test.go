package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/scimwright/scimwright/internal/egress"
)

func TestPolicy_AllowedAddresses(t *testing.T) {
	const (
		always  = iota // in every range
		inside         // allowed in Any and Private, rejected in Public
		machine        // in Any
		never
	)
	for address, want := range map[string]int{
		"1.1.1.1": always, "2606:4700::1111": always, "::ffff:1.1.1.1": always, "64:ff9b::101:101": always, "2002:101:101::1": always,
		"::1.1.1.1": always,
		"192.0.1.1": always, "198.17.255.255": always, "198.20.0.0": always, "100.128.0.1": always, "239.255.255.255": never, "2001:1::1": always,

		"127.0.0.1": machine, "127.255.255.254": machine, "::1": machine, "::ffff:127.0.0.1": machine, "64:ff9b::7f00:1": machine,
		"2002:7f00:1::": machine, "::127.0.0.1": machine,
		"10.0.0.1": inside, "172.16.0.1": inside, "172.31.255.255": inside, "192.168.1.1": inside, "::ffff:10.0.0.1": inside,
		"64:ff9b::a00:1": inside, "2002:a00:1::1": inside,
		"fc00::1": inside, "fd12:3456::1": inside, "fec0::1": inside,
		"100.64.0.1": inside, "100.127.255.255": inside, "192.0.0.1": inside, "192.0.2.1": inside, "198.18.0.1": inside, "198.19.255.255": inside,
		"198.51.100.1": inside, "203.0.113.1": inside, "0.1.2.3": inside, "64:ff9b:1::1": inside, "100::1": inside, "2001:db8::1": inside,
		"2001:0:1::1": inside,

		"169.254.169.254": never, "169.254.0.1": never, "::ffff:169.254.169.254": never, "64:ff9b::a9fe:a9fe": never, "2002:a9fe:a9fe::": never,
		"::169.254.169.254": never,
		"fe80::1":           never, "fe80::1%eth0": never, "fd00:ec2::254": never, "fd20:ce::254": never, "168.63.129.16": never,
		"100.100.100.200": never,
		"192.0.0.192":     never,
		"224.0.0.1":       never, "ff02::1": never, "ff01::1": never, "ff0e::1": never,
		"0.0.0.0": never, "::": never, "::ffff:0.0.0.0": never, "240.0.0.1": never, "255.255.255.255": never, "::ffff:255.255.255.255": never,
		"2002:f000:1::": never,
	} {
		a := netip.MustParseAddr(address)
		for policy, allowed := range map[egress.Range]bool{
			"": want != never, egress.Any: want != never, egress.Private: want <= inside, egress.Public: want == always, "unknown": want == always,
		} {
			require.Equal(t, allowed, egress.Policy{Range: policy}.Check(a) == nil, "%s: %s", policy, address)
		}
	}
}

func TestPolicy_AllowOverridesRange(t *testing.T) {
	p := egress.Policy{Range: egress.Public,
		Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.7.7/32")}}
	for address, allowed := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "2002:a01:203::": true, "169.254.7.7": true, "10.2.0.1": false, "169.254.169.254": false,
		"127.0.0.1": false,
	} {
		require.Equal(t, allowed, p.Check(netip.MustParseAddr(address)) == nil, address)
	}
}

func TestPolicy_OwnAddresses(t *testing.T) {
	p := egress.Policy{Range: egress.Public,
		Own: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("[::1]:8080")}}
	for address, allowed := range map[string]bool{
		"127.0.0.1:8080": true, "[::ffff:127.0.0.1]:8080": true, "[::1]:8080": true,
		"127.0.0.1:8081": false, "127.0.0.2:8080": false, "10.0.0.1:8080": false, "169.254.169.254:8080": false,
	} {
		require.Equal(t, allowed, p.Control("tcp", address, nil) == nil, address)
	}
}

func TestControl_ChecksDialedAddress(t *testing.T) {
	var refused *egress.Error
	for _, address := range []string{"169.254.169.254:80", "[::ffff:169.254.169.254]:80", "[fe80::1%lo]:443"} {
		require.ErrorAs(t, egress.Policy{}.Control("tcp", address, nil), &refused, address)
	}
	require.NoError(t, egress.Policy{}.Control("tcp4", "1.1.1.1:443", nil))
	// a string that is not an IP address and a port cannot be checked, so the policy rejects it
	for _, address := range []string{"", "localhost:80", "/run/socket", "1.1.1.1"} {
		require.Error(t, egress.Policy{}.Control("tcp", address, nil), address)
	}
}

// names is a name server. It responds to each query with the next element of addresses, and with the last element after that.
type names struct {
	addresses [][4]byte
	asked     atomic.Int32
}

// resolver returns a resolver that queries names.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			n.serve(theirs)
		}()
		return ours, nil
	}}
}

// serve responds to the queries of a connection. Each is preceded by its length, as over TCP (RFC 1035 section 4.2.2).
func (n *names) serve(conn net.Conn) {
	for {
		buffer := make([]byte, 1<<16)
		if _, err := io.ReadFull(conn, buffer[:2]); err != nil {
			return
		}
		question := buffer[2 : 2+int(buffer[0])<<8+int(buffer[1])]
		var message dnsmessage.Message
		if _, err := io.ReadFull(conn, question); err != nil || message.Unpack(question) != nil || len(message.Questions) != 1 {
			return
		}
		message.Response, message.Additionals = true, nil
		if q := message.Questions[0]; q.Type == dnsmessage.TypeA {
			i := min(int(n.asked.Add(1)), len(n.addresses)) - 1
			message.Answers = []dnsmessage.Resource{
				{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: n.addresses[i]}}}
		}
		packed, err := message.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)); err != nil {
			return
		}
	}
}

// client returns a client with a policy that uses one connection per request and follows redirections.
func client(p egress.Policy, n *names) *http.Client {
	dialer := &net.Dialer{Control: p.Control}
	if n != nil {
		dialer.Resolver = n.resolver()
	}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// send reports whether the policy rejects a request or its redirections.
func send(t *testing.T, c *http.Client, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := c.Do(request)
	if _, refused := errors.AsType[*egress.Error](err); refused {
		return true
	}
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return false
}

func TestPolicy_BlocksDNSRebinding(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	n := &names{addresses: [][4]byte{{127, 0, 0, 1}, {169, 254, 169, 254}}}
	c := client(egress.Policy{}, n)
	require.False(t, send(t, c, "http://rebinding.example.:"+port))
	require.True(t, send(t, c, "http://rebinding.example.:"+port))
	require.EqualValues(t, 2, n.asked.Load())
	require.EqualValues(t, 1, reached.Load())
}

func TestPolicy_AppliesToRedirects(t *testing.T) {
	for _, target := range []string{"http://169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/",
		"http://255.255.255.255/"} {
		server := httptest.NewServer(http.RedirectHandler(target, http.StatusTemporaryRedirect))
		require.True(t, send(t, client(egress.Policy{}, nil), server.URL), target)
		server.Close()
	}
}
