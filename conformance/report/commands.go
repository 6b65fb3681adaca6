package report

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// commands are the commands for a POSIX shell that repeat what a cause shows. The run has removed its objects, so the first commands create
// them again and store the new ids in variables, which the later commands use.
type commands struct {
	// creates create the objects, after changes one of them, shown shows the fault, and removes deletes the objects. after is empty if no
	// change is necessary, and removes if there are no objects to delete.
	creates               []string
	after, shown, removes string
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
	var ids []string // of the objects: the first one is in the variable ID1
	var removes []string
	for i, step := range steps {
		variable := fmt.Sprintf("ID%d", i+1)
		if step.Exchange == nil {
			out.creates = append(out.creates, variable+"= # set it to the id of an object like the one that a bulk request of the run created")
			ids = append(ids, step.ID)
			continue
		}
		out.creates = append(out.creates,
			fmt.Sprintf("%s=$(%s | jq -r .id)", variable, strings.Replace(curlOf(step.Exchange, ids), "curl", "curl -s", 1)))
		ids = append(ids, step.ID)
		removes = append(removes, curlOf(deletion(step), ids))
	}
	if write != nil {
		out.after = curlOf(write, ids)
	}
	out.shown = curlOf(c.Exchange, ids)
	slices.Reverse(removes) // an object may refer to one that was created before it
	out.removes = strings.Join(removes, "; ")
	return out
}

// deletion returns the request that deletes the object of a preparation.
func deletion(p conformance.Preparation) *wirelog.Exchange {
	collection, _, _ := strings.Cut(p.Exchange.URL, "?")
	header := http.Header{}
	if credentials := p.Exchange.RequestHeader["Authorization"]; credentials != nil {
		header["Authorization"] = credentials
	}
	return &wirelog.Exchange{Method: http.MethodDelete, URL: collection + "/" + p.ID, RequestHeader: header}
}

// lastID returns the last segment of the path of a URL.
func lastID(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address[strings.LastIndex(address, "/")+1:]
}

// curlOf returns the curl command of an exchange with variables in place of ids. Curl quotes the URL and the body with apostrophes, so a
// variable ends the quotation, and starts it again.
func curlOf(e *wirelog.Exchange, ids []string) string {
	line := wirelog.Curl(*e)
	for i, id := range ids {
		// An id is a segment of a path or a string in quotation marks: a short one may also be part of another word.
		whole := regexp.MustCompile(`(/|"|%22)` + regexp.QuoteMeta(id) + `(/|\?|"|%22|')`)
		line = whole.ReplaceAllString(line, fmt.Sprintf(`${1}'"$$ID%d"'${2}`, i+1))
	}
	return line
}
