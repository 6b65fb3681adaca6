package conformance

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// addressLike is whatever looks like an e-mail address, in URLs too. It needs no dot: "zed@corp" names somebody as well.
var addressLike = regexp.MustCompile(`(?:[\pL\pN._'+-]|%2[Bb])+(?:@|%40)[\pL\pN-]+(?:\.[\pL\pN-]+)*`)

// bareOperand is the operand of a comparison up to the next word of the filter, when it does not begin with a quotation mark:
// clients that forget to quote mean names and addresses all the same, blanks in them included.
var bareOperand = regexp.MustCompile(`(?i)(\s(?:eq|ne|co|sw|ew|gt|ge|lt|le)\s+)([^\s"\])][^"\])]*?)(\s+(?:and|or)\s|\s*[\])]|\s*$)`)

// harmless are operands without quotation marks that are no text.
var harmless = regexp.MustCompile(`^(?i:true|false|null)$`)

// coverFilter masks the operands of a filter and remembers them, and the whole filter, for findings and answers quote it.
func (v *veil) coverFilter(filter string, own map[string]bool) string {
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
		v.filters[filter] = masked
		own[filter] = true
	}
	return masked
}

// coverAddresses masks what looks like an e-mail address.
func coverAddresses(text string) string { return addressLike.ReplaceAllString(text, Masked) }

// longestFirst returns the keys so that none is replaced within another.
func longestFirst[V any](values map[string]V) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
}

// coverTalk hides, in what an observed exchange shows, the values of its request that the answer repeats, and e-mail addresses
// wherever they stand.
func coverTalk(o Observed, own map[string]bool) {
	e := o.Exchange
	values := longestFirst(own)
	cover := func(text string) string {
		for _, value := range values {
			if len(value) >= minHidden {
				text = strings.ReplaceAll(text, value, Masked)
			}
		}
		return coverAddresses(text)
	}
	e.URL = cover(e.URL)
	e.RequestBody, e.Err = cover(e.RequestBody), cover(e.Err)
	if !descriptivePath(o.Request.Path) || o.Status >= http.StatusBadRequest {
		e.ResponseBody = cover(e.ResponseBody)
	}
	for _, header := range []*http.Header{&e.RequestHeader, &e.ResponseHeader} {
		*header = header.Clone() // the caller's own stays readable
		for _, values := range *header {
			for i, value := range values {
				values[i] = cover(value)
			}
		}
	}
}

// coverQuery masks the filter of an address. A query that cannot be read is masked whole.
func (v *veil) coverQuery(address string, own map[string]bool) string {
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
				values[i] = v.coverFilter(filter, own)
			}
			raw = strings.ReplaceAll(query.Encode(), "+", "%20")
		}
	}
	return path + "?" + raw
}
