package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/internal/counted"
)

// unlimited, in place of a number of lines, permits a report of any length.
const unlimited = math.MaxInt

const (
	// minCauses is the least number of lines for the causes, even if the other parts of the report leave fewer.
	minCauses = 12
	// shortShare is a divisor: one third of the lines is reserved for causes in one line each.
	shortShare = 3
	// maxListed is the greatest number of checks that a cause lists.
	maxListed = 3
	// maxCurl is the greatest length of a curl command in a report with limited room, in characters.
	maxCurl = 500
)

// causes writes the causes in at most room lines: the first ones in full, further ones in one line each, and the number of the others.
func (p *printer) causes(found []causes.Cause, room int) {
	if len(found) == 0 {
		return
	}
	n, findings, checks := 0, 0, 0
	for _, c := range found {
		findings += c.Findings
		checks += len(c.Checks)
		if c.Level != "" {
			n++
		}
	}
	blocking := ""
	if n < len(found) {
		blocking = fmt.Sprintf(" Other states that block checks: %d.", len(found)-n)
	}
	p.line("Causes: %d. They explain %s of %s.%s", n, counted.Of(findings, "finding"), counted.Of(checks, "check"), blocking)
	p.line("")
	used, room := p.lines(), max(room, minCauses)
	reserve := 0
	if room != unlimited {
		reserve = min(len(found), room/shortShare)
	}
	i := 0
	onlyHeadlines := used+len(found)+1 <= room // they fit
	for ; i < len(found); i++ {
		full := &printer{color: p.color}
		full.cause(i+1, found[i], room == unlimited)
		// A cause is written in full only if enough lines remain for the causes after it: the reserved lines or, in the case of the first
		// cause, the two lines that summarize the others.
		if used+full.lines()+min(reserve, len(found)-i-1) > room && (i > 0 || used+full.lines()+min(2, len(found)-1) > room) {
			break
		}
		if onlyHeadlines && used+full.lines()+len(found)-1-i > room {
			break // the headlines of all causes tell more than the details of the first ones
		}
		used += full.lines()
		p.b.WriteString(full.b.String())
	}
	rest := found[i:]
	if len(rest) == 0 {
		return
	}
	// The summary of the remaining causes and the empty line after it take two lines.
	spare := room - used - 2 - len(rest)
	for ; len(rest) > 0 && used+2 < room; rest = rest[1:] {
		i++
		used++
		head, id := fmt.Sprintf("%2d. %-6s ", i, labels[rest[0].Level]), " ["+rest[0].ID+"]"
		text := visible(rest[0].Headline)
		if spare > 0 && len(head)+utf8.RuneCountInString(text+id) > width {
			p.wrapped(head, text+id)
			used++
			spare--
			continue
		}
		p.line("%s%s%s", head, clipTo(text, width-len(head)-len(id)), id)
	}
	if len(rest) > 0 {
		p.line("%s; --all lists them.", counted.Of(len(rest), "more cause"))
	}
	p.line("")
}

// labels are the words for the levels of the headlines of causes. A blocked precondition has no level.
var labels = map[conformance.Level]string{
	conformance.Must: "MUST", conformance.Should: "SHOULD", conformance.Interop: "CLIENT", "": "BLOCKS",
}

// otherFails returns how many findings of a cause violate a MUST, or "" if there are none or the headline states one.
func otherFails(level conformance.Level, fails int) string {
	if fails == 0 || level == conformance.Must {
		return ""
	}
	return fmt.Sprintf("%d of a MUST", fails)
}

// cause writes one cause in full. If long is not set, a long curl command is replaced by the request and the status.
func (p *printer) cause(number int, c causes.Cause, long bool) {
	label := fmt.Sprintf("%-6s", labels[c.Level])
	if p.color {
		label = ansi[c.Outcome] + label + "\x1b[0m"
	}
	p.line("%2d. %s %s", number, label, clipTo(visible(c.Headline), width-11))
	if c.Rule != "" {
		p.wrapped("    rule      ", c.Rule)
	}
	p.wrapped("    explains  ", explained(c))
	if e := c.Exchange; e != nil {
		run := commandsOf(c)
		curl := run.shown
		if len(curl) > maxCurl && !long {
			curl = fmt.Sprintf("%s %s, which %s; --all shows the request", e.Method, clipTo(visible(e.URL), width), returned(e.Status))
		}
		whole := p.creates(run.creates, long)
		if run.after != "" {
			after := run.after
			if len(after) > maxCurl && !long {
				after = fmt.Sprintf("%s %s; --all shows the request", c.Write.Method, clipTo(visible(c.Write.URL), width))
			}
			p.command("    after     ", after)
		}
		p.command("    shown by  ", curl)
		if whole && run.removes != "" {
			p.command("    last      ", run.removes)
		}
	}
	p.wrapped("    why       ", c.Why)
	if len(c.Clients) > 0 {
		p.wrapped("    affects   ", strings.Join(c.Clients, ", "))
	}
	p.wrapped("    fix       ", c.Fix)
	p.line("")
}

// creates writes the commands that create the objects again on which the next commands depend, and reports whether it has written all of
// them. If long is not set, it writes a single short command, otherwise the number of the objects.
func (p *printer) creates(commands []string, long bool) bool {
	if long || len(commands) == 1 && len(commands[0]) <= maxCurl {
		for _, c := range commands {
			p.command("    first     ", c)
		}
		return true
	}
	if len(commands) > 0 {
		p.line("    first     create %s of the run again; --all shows the commands", counted.Of(len(commands), "object"))
	}
	return false
}

// explained returns the number of findings that a cause explains and the first of their checks, as text.
func explained(c causes.Cause) string {
	var parts []string
	if c.Findings > 0 {
		text := counted.Of(c.Findings, "finding") + " of " + strings.Join(c.Checks[:min(len(c.Checks), maxListed)], ", ")
		if more := len(c.Checks) - maxListed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		if fails := otherFails(c.Level, c.Fails); fails != "" {
			text += ", " + fails
		}
		parts = append(parts, text)
	}
	if n := len(c.Blocked); n > 0 {
		parts = append(parts, counted.Of(n, "check")+" without a result")
	}
	return strings.Join(parts, "; ")
}

// returned describes the response with a status.
func returned(status int) string {
	if status == 0 {
		return "got no complete response"
	}
	return fmt.Sprintf("returned %d", status)
}

// clipTo shortens a line to a number of characters. If the last third has a blank, it cuts there, so that no id or path is cut, otherwise
// at the end of a word.
func clipTo(line string, columns int) string {
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	cut := string(runes[:columns-1])
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if next := runes[columns-1]; !unicode.IsSpace(next) {
		end := strings.LastIndexFunc(cut, unicode.IsSpace)
		if end <= len(cut)*2/3 && inWord(next) {
			end = strings.LastIndexFunc(cut, func(r rune) bool { return !inWord(r) })
		}
		if end > len(cut)*2/3 {
			cut = cut[:end+1]
		}
	}
	return strings.TrimRight(cut, "… ") + "…"
}
