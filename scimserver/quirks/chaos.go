package quirks

import (
	"net/http"
	"strconv"
	"time"
)

// Each of these strikes a request with the probability of its setting.
var chaos = []Quirk{
	{Name: "latency", Category: Chaos, Does: "waits TIME (200ms) before it answers",
		Argument: Argument{Kind: Duration, Name: "TIME", Default: "200ms"},
		start: striking(func(s Setting) deviation {
			return func(c *call) *answer {
				wait := time.NewTimer(s.duration())
				defer wait.Stop()
				select {
				case <-wait.C:
				case <-c.Context().Done():
				}
				return nil
			}
		})},
	{Name: "rate-limit", Category: Chaos, Does: "answers 429 and asks to come back in N seconds (1)", Seen: "any",
		Argument: Argument{Kind: Number, Name: "N", Default: "1"},
		start: striking(func(s Setting) deviation {
			return func(*call) *answer { return tooMany(s.Argument) }
		})},
	{Name: "rate-limit-date", Category: Chaos, Does: "answers 429 and asks to come back at the time of day in N seconds (2)",
		Seen: "RFC 9110 section 10.2.3 permits both forms", Argument: Argument{Kind: Number, Name: "N", Default: "2"},
		start: striking(func(s Setting) deviation {
			return func(*call) *answer {
				return tooMany(time.Now().Add(time.Duration(s.number()) * time.Second).UTC().Format(http.TimeFormat))
			}
		})},
	{Name: "rate-limit-bare", Category: Chaos, Does: "answers 429 without Retry-After", Seen: "",
		start: striking(func(Setting) deviation {
			return func(*call) *answer { return tooMany("") }
		})},
	{Name: "error", Category: Chaos, Does: "answers STATUS (503) and does nothing", Seen: "any",
		Argument: Argument{Kind: Status, Name: "STATUS", Default: "503"},
		start: striking(func(s Setting) deviation {
			return func(*call) *answer { return gateway(s.number()) }
		})},
	{Name: "error-after", Category: Chaos, Does: "does what is asked and answers STATUS (500)",
		Seen:     "gateways whose time-out is shorter than the work: ory/polis#4080",
		Argument: Argument{Kind: Status, Name: "STATUS", Default: "500"},
		start: striking(func(s Setting) deviation {
			return func(c *call) *answer {
				c.ask()
				return gateway(s.number())
			}
		})},
	{Name: "hang", Category: Chaos, Does: "does nothing and keeps the client waiting until it gives up", Seen: "",
		start: striking(func(Setting) deviation {
			return func(c *call) *answer {
				c.body() // while a body is unread, net/http does not notice that the client has gone
				<-c.Context().Done()
				return &answer{dropped: true}
			}
		})},
	{Name: "hang-after", Category: Chaos, Does: "does what is asked and keeps the client waiting until it gives up", Seen: "",
		start: striking(func(Setting) deviation {
			return func(c *call) *answer {
				c.ask()
				<-c.Context().Done()
				return &answer{dropped: true}
			}
		})},
	{Name: "truncated", Category: Chaos, Does: "does what is asked, sends half of the answer and closes the connection", Seen: "",
		start: striking(func(Setting) deviation {
			return func(c *call) *answer {
				a := c.ask()
				a.cut = true
				return a
			}
		})},
	{Name: "drop", Category: Chaos, Does: "closes the connection and does nothing", Seen: "",
		start: striking(func(Setting) deviation {
			return func(*call) *answer { return &answer{dropped: true} }
		})},
	{Name: "drop-after", Category: Chaos, Does: "does what is asked and closes the connection without an answer", Seen: "",
		start: striking(func(Setting) deviation {
			return func(c *call) *answer {
				c.ask()
				return &answer{dropped: true}
			}
		})},
}

func tooMany(retryAfter string) *answer {
	a := refusal(http.StatusTooManyRequests, "", "too many requests")
	if retryAfter != "" {
		a.header.Set("Retry-After", retryAfter)
	}
	return a
}

// gateway is an error as a proxy in front of a server gives it.
func gateway(status int) *answer {
	return plain(status, "text/plain; charset=utf-8", strconv.Itoa(status)+" "+http.StatusText(status)+"\n")
}
