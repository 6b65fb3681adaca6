package engine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// fleetCommands show the processes and their jobs.
type fleetCommands struct {
	Fleet fleetCommand `cmd:"" help:"Show the processes that share the database, their lanes and takeovers."`
	Jobs  jobsCommand  `cmd:"" help:"List the running, waiting and failed jobs, such as imports."`
}

type fleetCommand struct{}

// Widths of columns, so that a line has at most 100 characters.
const (
	shownID    = 8
	shownName  = 24
	shownKey   = 24
	shownError = 32
)

// Run shows the processes.
func (c *fleetCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.open(in)
	if err != nil {
		return err
	}
	f, err := s.engine.Fleet(s.ctx)
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("ID", "NAME", "STATE", "AGE", "SEEN", "LANES", "MEAN", "SHARE", "FLIGHT", "TAKEN", "RECHECKS")
		for _, one := range f.Processes {
			p.process(one)
		}
		p.line("%s alive, %s, %s in flight", many(f.Alive, "process", "processes"), many(f.Lanes, "lane", "lanes"),
			many(f.InFlight, "principal", "principals"))
		if !f.Shared {
			p.line("The database belongs to one process, which sends no heartbeats.")
		}
	})
}

func (p *page) process(one client.Process) {
	seen, share := "-", "-"
	if !one.Seen.IsZero() {
		seen = shortTime(one.Heartbeat)
	}
	if one.State == engine.ProcessAlive && one.Running > 0 {
		share = fmt.Sprintf("%.0f%%", 100*one.Share)
	}
	p.row(cut(one.ID, shownID), shorten(one.Name, shownName), string(one.State), shortTime(one.Age), seen, strconv.Itoa(one.Lanes),
		fmt.Sprintf("%.1f", one.Running), share, strconv.Itoa(one.InFlight), strconv.FormatInt(one.Takeovers, 10),
		strconv.FormatInt(one.Rechecks, 10))
}

func cut(text string, n int) string { return text[:min(len(text), n)] }

// shorten returns the text with at most n characters. A shortened text ends with "...".
func shorten(text string, n int) string {
	const more = "..."
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-len(more)]) + more
}

// shortTime formats a duration in seconds with at most two units.
func shortTime(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

type jobsCommand struct {
	Kind  string `help:"List only jobs of this kind." placeholder:"KIND"`
	State string `help:"${jobState}" enum:"waiting,running,finished,failed," default:"" placeholder:"STATE"`
	Limit int    `help:"Maximum number of jobs of each state." default:"100"`
}

// Run lists jobs.
func (c *jobsCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.open(in)
	if err != nil {
		return err
	}
	found, err := s.engine.Jobs(s.ctx, client.JobOptions{Kind: c.Kind, State: c.State, Limit: c.Limit})
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		if len(found) == 0 {
			p.line("No jobs.")
			return
		}
		p.row("KIND", "KEY", "STATE", "ATTEMPT", "AT", "ERROR")
		for _, j := range found {
			p.row(j.Kind, shorten(j.Key, shownKey), j.State, strconv.Itoa(j.Attempt), when(j.At), shorten(j.Error, shownError))
		}
	})
}
