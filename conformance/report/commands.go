package report

import (
	"encoding/json"
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
	bulks := map[*wirelog.Exchange]string{} // the variables with their responses
	for _, step := range steps {
		if step.ID == "" {
			out.creates = append(out.creates, curlOf(step.Exchange, ids))
			continue
		}
		ids = append(ids, step.ID)
		variable := fmt.Sprintf("ID%d", len(ids))
		switch result, _ := bulkResult(step); {
		case step.Exchange == nil:
			out.creates = append(out.creates, variable+"= # set it to the id of an object like the one that a PUT of the run created")
		case isBulk(step.Exchange) && result < 0:
			out.creates = append(out.creates, variable+"= # set it to the id of an object like the one that a bulk request of the run created")
		case isBulk(step.Exchange):
			response, sent := bulks[step.Exchange]
			if !sent {
				response = fmt.Sprintf("BULK%d", len(bulks)+1)
				bulks[step.Exchange] = response
				out.creates = append(out.creates, fmt.Sprintf("%s=$(%s)", response, silently(step.Exchange, ids)))
			}
			out.creates = append(out.creates, fmt.Sprintf(`%s=$(printf '%%s' "$%s" | jq -r '.Operations[%d].location | split("/") | last')`,
				variable, response, result))
			removes = append(removes, curlOf(deletion(step), ids))
		default:
			out.creates = append(out.creates, fmt.Sprintf("%s=$(%s | jq -r .id)", variable, silently(step.Exchange, ids)))
			removes = append(removes, curlOf(deletion(step), ids))
		}
	}
	if write != nil {
		out.after = curlOf(write, ids)
	}
	out.shown = curlOf(c.Exchange, ids)
	slices.Reverse(removes) // an object may refer to one that was created before it
	out.removes = strings.Join(removes, "; ")
	return out
}

// silently returns the curl command of an exchange without the display of the progress.
func silently(e *wirelog.Exchange, ids []string) string {
	return strings.Replace(curlOf(e, ids), "curl", "curl -s", 1)
}

func isBulk(e *wirelog.Exchange) bool { return strings.HasSuffix(pathOf(e.URL), "/Bulk") }

// bulkResult returns the index and the location of the object in the response to the bulk request that created it. The index is -1 if the
// response does not have them.
func bulkResult(p conformance.Preparation) (index int, location string) {
	var response struct{ Operations []struct{ Location string } }
	if p.Exchange == nil || json.Unmarshal([]byte(p.Exchange.ResponseBody), &response) != nil {
		return -1, ""
	}
	for i, o := range response.Operations {
		if lastID(o.Location) == p.ID {
			return i, o.Location
		}
	}
	return -1, ""
}

// deletion returns the request that deletes the object of a preparation.
func deletion(p conformance.Preparation) *wirelog.Exchange {
	collection := pathOf(p.Exchange.URL)
	if base, bulk := strings.CutSuffix(collection, "/Bulk"); bulk {
		_, location := bulkResult(p)
		collection = base + "/" + lastID(strings.TrimSuffix(pathOf(location), "/"+p.ID))
	}
	header := http.Header{}
	if credentials := p.Exchange.RequestHeader["Authorization"]; credentials != nil {
		header["Authorization"] = credentials
	}
	return &wirelog.Exchange{Method: http.MethodDelete, URL: collection + "/" + p.ID, RequestHeader: header}
}

// pathOf returns a URL without its query.
func pathOf(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// lastID returns the last segment of the path of a URL.
func lastID(address string) string {
	address = pathOf(address)
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
