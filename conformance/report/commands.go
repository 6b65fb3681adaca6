package report

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// commands are the commands for a POSIX shell that repeat what a cause shows. The run has removed its objects, so the first commands create
// them again and store the new ids in variables, which the later commands use.
type commands struct {
	// creates create the objects, after changes one of them, and shown shows the fault. after is empty if no change is necessary.
	creates      []string
	after, shown string
}

// commandsOf returns the commands of a cause with an exchange.
func commandsOf(c causes.Cause) commands {
	var out commands
	steps, write := c.Preparation, c.Write
	if write != nil && write.Method == http.MethodPost {
		// The POST that created the resource which the exchange reads is one more create.
		steps = append(steps[:len(steps):len(steps)], conformance.Preparation{ID: lastID(c.Exchange.URL), Exchange: write})
		write = nil
	}
	var later []string
	if write != nil {
		later = append(later, requestOf(write))
	}
	later = append(later, requestOf(c.Exchange))
	var variables []string // id, variable, id, variable, as strings.NewReplacer expects them
	for i, step := range steps {
		following := strings.Join(later, "\n")
		for _, s := range steps[i+1:] {
			following += "\n" + requestOf(s.Exchange)
		}
		line := curlOf(step.Exchange, variables)
		if step.ID != "" && strings.Contains(following, step.ID) {
			variable := fmt.Sprintf("ID%d", len(variables)/2+1)
			line = fmt.Sprintf("%s=$(%s | jq -r .id)", variable, strings.Replace(line, "curl", "curl -s", 1))
			variables = append(variables, step.ID, `'"$`+variable+`"'`)
		}
		out.creates = append(out.creates, line)
	}
	if write != nil {
		out.after = curlOf(write, variables)
	}
	out.shown = curlOf(c.Exchange, variables)
	return out
}

// lastID returns the last segment of the path of a URL.
func lastID(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address[strings.LastIndex(address, "/")+1:]
}

// requestOf returns the parts of a request that can contain ids.
func requestOf(e *wirelog.Exchange) string { return e.URL + "\n" + e.RequestBody }

// curlOf returns the curl command of an exchange with variables in place of ids. Curl quotes the URL and the body with apostrophes, so a
// variable ends the quotation, and starts it again.
func curlOf(e *wirelog.Exchange, variables []string) string {
	return strings.NewReplacer(variables...).Replace(wirelog.Curl(*e))
}
