package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// addressLike matches strings that look like an email address, in URLs too. No dot is required: "zed@corp" identifies a user too.
var addressLike = regexp.MustCompile(`(?:[\pL\pN._'+-]|%2[Bb])+(?:@|%40)[\pL\pN-]+(?:\.[\pL\pN-]+)*`)

// bareOperand matches an operand without quotation marks, up to the next word of the filter. Clients that forget to quote send names and
// addresses too, with spaces in them.
var bareOperand = regexp.MustCompile(`(?i)(\s(?:eq|ne|co|sw|ew|gt|ge|lt|le)\s+)([^\s"\])][^"\])]*?)(\s+(?:and|or)\s|\s*[\])]|\s*$)`)

// harmless matches operands without quotation marks that are not strings.
var harmless = regexp.MustCompile(`^(?i:true|false|null)$`)

// maskFilter masks the operands of a filter. It stores them and the whole filter, because findings and responses may repeat both.
func (m *masker) maskFilter(filter string, own map[string]bool) string {
	masked := operand.ReplaceAllStringFunc(filter, func(text string) string {
		var value string
		if json.Unmarshal([]byte(text), &value) == nil && value != "" {
			own[value] = true
		}
		return `"` + Masked + `"`
	})
	masked = bareOperand.ReplaceAllStringFunc(masked, func(text string) string {
		parts := bareOperand.FindStringSubmatch(text)
		if harmless.MatchString(parts[2]) {
			return text
		}
		own[parts[2]] = true
		return parts[1] + Masked + parts[3]
	})
	if masked != filter {
		m.filters[filter] = masked
		own[filter] = true
	}
	return masked
}

// maskAddresses masks strings that look like an email address.
func maskAddresses(text string) string { return addressLike.ReplaceAllString(text, Masked) }

// longestFirst returns the keys, longest first, so that no key is replaced within another.
func longestFirst[V any](values map[string]V) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
}

// maskExchange masks the values of an observed request that the response repeats, and all email addresses.
func maskExchange(o Observed, own map[string]bool) {
	e := o.Exchange
	values := longestFirst(own)
	mask := func(text string) string {
		for _, value := range values {
			if len(value) >= minHidden {
				text = strings.ReplaceAll(text, value, Masked)
			}
		}
		return maskAddresses(text)
	}
	e.URL = mask(e.URL)
	e.RequestBody, e.Err = mask(e.RequestBody), mask(e.Err)
	if !descriptivePath(o.Request.Path) || o.Status >= http.StatusBadRequest {
		e.ResponseBody = mask(e.ResponseBody)
	}
	for _, header := range []*http.Header{&e.RequestHeader, &e.ResponseHeader} {
		*header = header.Clone() // so that the header of the caller is not modified
		for _, values := range *header {
			for i, value := range values {
				values[i] = mask(value)
			}
		}
	}
}

// maskQuery masks the filter in the query of a URL. If the query cannot be parsed, it masks the whole query.
func (m *masker) maskQuery(address string, own map[string]bool) string {
	path, raw, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return path + "?" + Masked
	}
	for name, values := range query {
		if strings.EqualFold(name, "filter") {
			for i, filter := range values {
				values[i] = m.maskFilter(filter, own)
			}
			raw = strings.ReplaceAll(query.Encode(), "+", "%20")
		}
	}
	return path + "?" + raw
}

// requestWords are members of messages whose values are keywords of the protocol.
var requestWords = []string{"op", "path", "method", "bulkid", "status", "scimtype", "version", "sortby", "sortorder", "attributes",
	"excludedattributes", "cursor"}

// operand matches a string in a filter.
var operand = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// maskRequest masks the values in the request of an exchange and returns them.
func (m *masker) maskRequest(o Observed) map[string]bool {
	e := o.Exchange
	hidden := map[string]bool{}
	e.URL = m.maskQuery(e.URL, hidden)
	for value := range hidden {
		m.seen[value] = true
	}
	body, _ := o.Request.Body.([]byte)
	object, err := scim.Decode(body)
	if err != nil {
		if len(body) > 0 {
			e.RequestBody = fmt.Sprintf("%s: %d bytes that are not a JSON object", Masked, len(body))
		}
		return hidden
	}
	collectRequest("", object, hidden)
	for value := range hidden {
		m.seen[value] = true
	}
	e.RequestBody = hideStrings(e.RequestBody, hidden)
	return hidden
}

// collectRequest is [collect] for request bodies: resources, and messages such as PatchOp and BulkRequest.
func collectRequest(name string, value any, hidden map[string]bool) {
	if slices.Contains(requestWords, strings.ToLower(name)) {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			collectRequest(name, item, hidden)
		}
	case *scim.Object:
		for name, inner := range value.All() {
			collectRequest(name, inner, hidden)
		}
	default:
		// A boolean sent as a string is not personal data.
		if text, ok := value.(string); !ok || !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			collect(name, value, hidden)
		}
	}
}

// noMarker is a marker that no resource carries.
const noMarker = "\x00"
