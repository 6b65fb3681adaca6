package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/internal/counted"
)

// A change is a fix that clients require, and the steps that fail without it.
type change struct {
	Fix, Why string
	Finding  conformance.Finding
	Action   string   // of the first step
	Steps    []string // ids of the checks of the steps
	Clients  []string // the clients of the steps, each once
	Waived   bool
}

// changes returns the fixes that the broken client flows require, each once, in the order of the flows.
func changes(r *conformance.Result) []change {
	waived := map[string]bool{}
	for c := range r.All() {
		waived[c.Check.ID] = c.Waived()
	}
	var out []change
	for _, f := range r.Profiles {
		for _, b := range f.Breaks {
			i := slices.IndexFunc(out, func(c change) bool { return c.Fix == b.Fix })
			if i < 0 {
				i = len(out)
				out = append(out, change{Fix: b.Fix, Why: b.Why, Finding: b.Finding, Action: b.Action, Waived: true})
			}
			out[i].Steps = append(out[i].Steps, b.Check)
			if !slices.Contains(out[i].Clients, f.Client) {
				out[i].Clients = append(out[i].Clients, f.Client)
			}
			out[i].Waived = out[i].Waived && waived[b.Check]
		}
	}
	return out
}

// breaksText returns the number of steps that fail without a change, and their clients, as text.
func breaksText(c change) string {
	return fmt.Sprintf("Breaks %s of %s", counted.Of(len(c.Steps), "step"), strings.Join(c.Clients, ", "))
}

// flowName returns the client and the id of the flow, if it has one.
func flowName(client, flow string) string {
	if flow == "" {
		return client
	}
	return client + ", " + flow
}

// fitColors are the outcomes whose colors mark the compatibilities.
var fitColors = map[conformance.Compatibility]conformance.Outcome{
	conformance.Works: conformance.Pass, conformance.WorksWithLimits: conformance.Warn, conformance.Breaks: conformance.Fail,
	conformance.UnknownCompatibility: conformance.Error,
}

// The maximum numbers in a report without TextOptions.All: of limits of a flow, of changes in full, of their
// steps, and of changes without details.
const (
	maxLimits       = 1
	maxChanges      = 2
	maxSteps        = 3
	maxShortChanges = 4
)

// clients writes the verdict on each client flow, then what the clients that break require of the target. It writes nothing for a run
// without client flows. Unless all is set, it writes the first changes in full, further ones without details, and the number of the others.
func (p *printer) clients(r *conformance.Result, all bool) {
	if len(r.Profiles) == 0 {
		return
	}
	p.line("Provisioning by client")
	names := 0
	for _, f := range r.Profiles {
		names = max(names, len(flowName(f.Client, f.ClientFlow)))
	}
	doubts, flows := false, r.Profiles
	if p.brief >= fewClients && len(flows) > maxFlows+1 {
		flows = slices.Clone(flows)
		slices.SortStableFunc(flows, func(a, b conformance.ProfileResult) int { return fitRank(a) - fitRank(b) })
		flows = flows[:maxFlows]
	}
	for _, f := range flows {
		fit := fmt.Sprintf("%-17s", f.Compatibility)
		if p.color {
			fit = ansi[fitColors[f.Compatibility]] + fit + "\x1b[0m"
		}
		name := flowName(f.Client, f.ClientFlow)
		if f.Doubt != "" {
			name, doubts = name+"*", true
		}
		p.line("  %-*s  %s  %s", names+1, name, fit, summaryOf(f))
		indent := strings.Repeat(" ", names+5)
		if f.Reason != "" && p.brief < fewClients {
			p.wrapped(indent, f.Reason)
		}
		for i, limit := range f.Limits {
			if p.brief >= withoutLimits && f.Compatibility == conformance.Breaks || p.brief >= fewClients {
				break
			}
			if i == maxLimits && !all {
				p.line("%s%s; --all lists them", indent, counted.Of(len(f.Limits)-i, "more limit"))
				break
			}
			p.wrapped(indent+"limit: ", limit)
		}
	}
	if n := len(r.Profiles) - len(flows); n > 0 {
		p.line("  %d more: --all lists them", n)
	}
	if doubts {
		p.line("  * Some requests of this client are not documented: the JSON and HTML reports name them.")
	}
	p.line("")
	required, inFull := changes(r), maxChanges
	if p.brief >= fewChanges {
		inFull = max(0, int(briefest-p.brief))
	}
	for i, c := range required {
		if i == 0 {
			p.line("What to change for these clients")
		}
		head := "  fix       "
		if c.Waived {
			head = "  waived    "
		}
		if i >= inFull && !all {
			if i == inFull+maxShortChanges {
				p.line("  %s; --all lists them", counted.Of(len(required)-i, "more change"))
				p.line("")
				break
			}
			if p.brief >= fewClients {
				p.line("%s%s", head, clipTo(visible(c.Fix), width-len(head)))
			} else {
				p.wrapped(head, c.Fix)
			}
			if i == len(required)-1 {
				p.line("")
			}
			continue
		}
		p.wrapped(head, c.Fix)
		p.wrapped("  why       ", c.Why)
		steps := c.Steps
		if n := len(steps) - maxSteps; n > 0 && !all {
			steps = append(slices.Clone(steps[:maxSteps]), fmt.Sprintf("and %d more", n))
		}
		p.wrapped("  breaks    ", c.Action+": "+strings.Join(steps, ", "))
		p.wrapped("  got       ", fmt.Sprintf("%s: expected %s, got %s", causes.Plain(c.Finding.What),
			clipTo(causes.Plain(c.Finding.Want), maxClip), clipTo(causes.Plain(c.Finding.Got), maxClip)))
		p.line("")
	}
}

// maxClip is the maximum number of characters of a value in the section on clients. Other reports contain the whole value.
const maxClip = 81

// maxFlows is the greatest number of client flows in a report with the brevity fewClients, those that break first.
const maxFlows = 6

// fitRank orders client flows: those that break, then those that could not be tested, those with limits, and those that work.
func fitRank(f conformance.ProfileResult) int {
	order := []conformance.Compatibility{conformance.Breaks, conformance.UnknownCompatibility, conformance.WorksWithLimits}
	if i := slices.Index(order, f.Compatibility); i >= 0 {
		return i
	}
	return len(order)
}

// summaryOf returns the number of the steps of a flow that fail and that could not be tested.
func summaryOf(f conformance.ProfileResult) string {
	return failsText(len(f.Breaks), len(f.Steps), f.Untried)
}

func failsText(breaks, steps, untried int) string {
	var parts []string
	switch {
	case breaks == 1:
		parts = append(parts, fmt.Sprintf("1 of %s fails", counted.Of(steps, "step")))
	case breaks > 1:
		parts = append(parts, fmt.Sprintf("%d of %s fail", breaks, counted.Of(steps, "step")))
	}
	if untried > 0 {
		parts = append(parts, untriedText(untried))
	}
	return strings.Join(parts, "; ")
}

// untriedText states the number of steps that could not be tested.
func untriedText(n int) string {
	if n == 1 {
		return "1 later step not tested"
	}
	return fmt.Sprintf("%d later steps not tested", n)
}

// brokenClients returns the names of the clients whose provisioning breaks, each once.
func brokenClients(r *conformance.Result) []string {
	var names []string
	for _, f := range r.Profiles {
		if f.Compatibility == conformance.Breaks && !slices.Contains(names, f.Client) {
			names = append(names, f.Client)
		}
	}
	return names
}
