package quirks

import (
	"net/http"
	"strconv"
	"time"
)

// chaos are the quirks that apply to a request with the probability of their setting.
var chaos = []Quirk{
	{Name: "latency", Category: Chaos, Does: "waits TIME (200ms) before it handles the request",
		Argument: Argument{Kind: Duration, Name: "TIME", Default: "200ms"},
		start: withChaos(func(s Setting) deviation {
			return func(c *call) *response {
				wait := time.NewTimer(s.duration())
				defer wait.Stop()
				select {
				case <-wait.C:
				case <-c.Context().Done():
				}
				return nil
			}
		})},
	{Name: "rate-limit", Category: Chaos, Does: "returns 429 with Retry-After: N seconds (1)", Seen: "any server",
		Argument: Argument{Kind: Number, Name: "N", Default: "1"},
		start: withChaos(func(s Setting) deviation {
			return func(*call) *response { return tooMany(s.Argument) }
		})},
	{Name: "rate-limit-date", Category: Chaos, Does: "returns 429 with a date N seconds (2) in the future in Retry-After",
		Seen: "permitted: RFC 9110 section 10.2.3 allows both forms", Argument: Argument{Kind: Number, Name: "N", Default: "2"},
		start: withChaos(func(s Setting) deviation {
			return func(*call) *response {
				return tooMany(time.Now().Add(time.Duration(s.number()) * time.Second).UTC().Format(http.TimeFormat))
			}
		})},
	{Name: "rate-limit-bare", Category: Chaos, Does: "returns 429 without Retry-After", Seen: "",
		start: withChaos(func(Setting) deviation {
			return func(*call) *response { return tooMany("") }
		})},
	{Name: "error", Category: Chaos, Does: "returns STATUS (503) and does not execute the request", Seen: "any server",
		Argument: Argument{Kind: Status, Name: "STATUS", Default: "503"},
		start: withChaos(func(s Setting) deviation {
			return func(*call) *response { return gateway(s.number()) }
		})},
	{Name: "error-after", Category: Chaos, Does: "executes the request and returns STATUS (500)",
		Seen:     "gateways whose timeout is shorter than the request: ory/polis#4080",
		Argument: Argument{Kind: Status, Name: "STATUS", Default: "500"},
		start: withChaos(func(s Setting) deviation {
			return func(c *call) *response {
				c.forward()
				return gateway(s.number())
			}
		})},
	{Name: "hang", Category: Chaos, Seen: "",
		Does: "neither executes the request nor responds; the connection stays open until the client closes it",
		start: withChaos(func(Setting) deviation {
			return func(c *call) *response {
				c.body() // net/http detects a closed connection only after the body was read
				<-c.Context().Done()
				return &response{dropped: true}
			}
		})},
	{Name: "hang-after", Category: Chaos, Seen: "",
		Does: "executes the request and does not respond; the connection stays open until the client closes it",
		start: withChaos(func(Setting) deviation {
			return func(c *call) *response {
				c.forward()
				<-c.Context().Done()
				return &response{dropped: true}
			}
		})},
	{Name: "truncated", Category: Chaos, Does: "executes the request, sends half of the response and closes the connection", Seen: "",
		start: withChaos(func(Setting) deviation {
			return func(c *call) *response {
				a := c.forward()
				a.cut = true
				return a
			}
		})},
	{Name: "drop", Category: Chaos, Does: "closes the connection and does not execute the request", Seen: "",
		start: withChaos(func(Setting) deviation {
			return func(*call) *response { return &response{dropped: true} }
		})},
	{Name: "drop-after", Category: Chaos, Does: "executes the request and closes the connection without a response", Seen: "",
		start: withChaos(func(Setting) deviation {
			return func(c *call) *response {
				c.forward()
				return &response{dropped: true}
			}
		})},
}

func tooMany(retryAfter string) *response {
	a := errorResponse(http.StatusTooManyRequests, "", "too many requests")
	if retryAfter != "" {
		a.header.Set("Retry-After", retryAfter)
	}
	return a
}

// gateway returns an error in the form that a proxy in front of a server sends.
func gateway(status int) *response {
	return plain(status, "text/plain; charset=utf-8", strconv.Itoa(status)+" "+http.StatusText(status)+"\n")
}
