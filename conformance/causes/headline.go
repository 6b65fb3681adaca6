package causes

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

const (
	// maxHeadline is the greatest length of a headline, in characters. With a number it fits on a line of 100 columns.
	maxHeadline = 88
	// roomGot and roomWant are the lengths that a headline reserves for the actual and the expected value.
	roomGot  = 22
	roomWant = 18
)

var (
	// madeUp matches the start of the names that the run gives to its objects.
	madeUp = regexp.MustCompile(`(?i)scimconf-[a-z0-9]{8}-(?:\d+-)?`)
	// uuid matches an id that a target has assigned.
	uuid = regexp.MustCompile(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	// scope matches the part of a filter that selects the objects of a fixture.
	scope = regexp.MustCompile(`userName sw "[a-z]+-" and `)
	// statusOf matches the subject of a finding about the status of a response.
	statusOf = regexp.MustCompile(`^status of (?:a |the )?([A-Z]{3,7}\b.*)$`)
	// rejection400 matches the actual value of a finding about a filter that is rejected with a wrong scimType.
	rejection400 = regexp.MustCompile(`^400 with scimType (\S+)$`)
	// hint matches the part of a subject that says how to repeat the check.
	hint = regexp.MustCompile(`; repeat with .*$`)
)

// headline returns a finding as a sentence that states what the target does. The sentence has no full stop and at most maxHeadline
// characters.
func headline(f conformance.Finding, e evidence) string {
	ids := idsOf(f)
	subject := hint.ReplaceAllString(plain(f.What, ids...), "")
	want := plain(f.Want, ids...)
	got := differently(plain(f.Got, ids...), want)
	join := ": "
	if m := rejection400.FindStringSubmatch(got); m != nil && strings.HasPrefix(want, "200, or 400") {
		// The rejection of a filter is permitted with another scimType; the headline has room for the status and the scimType only.
		subject, got, want, join = strings.TrimPrefix(subject, "status of "), "400 "+m[1], "200", " returns "
	}
	if m := statusOf.FindStringSubmatch(subject); m != nil && status.MatchString(got) {
		subject, join = m[1]+absentName(f, e), " returns "
	}
	if e.operation != "" && strings.HasPrefix(subject, "PATCH /") && !strings.Contains(subject, " with ") {
		subject += " with " + plain(e.operation)
	}
	context := ""
	if e.request != "" && !strings.Contains(subject, "/") {
		context = " (" + e.request + ")"
	}
	if text := listDifference(subject, got, want); text != "" {
		return clip(text, maxHeadline)
	}
	// The actual and the expected value have a reserved length. The subject gets the length that they do not need, then the actual value
	// gets what the subject leaves, then the expected value.
	const between = " instead of "
	gotRoom, wantRoom := min(length(got), roomGot), min(length(want), roomWant)
	text := clip(subject, maxHeadline-length(join+between)-gotRoom-wantRoom) + join
	text += clip(got, maxHeadline-length(text+between)-wantRoom) + between
	text += clip(want, maxHeadline-length(text))
	if length(text+context) <= maxHeadline {
		text += context
	}
	return text
}

// Plain returns a text of a finding in one line, without the ids and the names that only this run has.
func Plain(text string) string { return jsonID.ReplaceAllString(plain(text), `"id":"{id}"`) }

// jsonID matches the id of a resource in a text, with its name.
var jsonID = regexp.MustCompile(`"id":"[^"]+"`)

// plain returns a text of a finding in one line, without the ids and the names that only this run has. ids are those of [idsOf].
func plain(text string, ids ...string) string {
	text = scope.ReplaceAllString(madeUp.ReplaceAllString(text, ""), "")
	text = pathWithID.ReplaceAllStringFunc(text, func(path string) string {
		collection, id, _ := strings.Cut(path[1:], "/")
		if id == ".search" || slices.Contains(documents, "/"+collection) && !strings.ContainsAny(id, "0123456789") {
			return path
		}
		return "/" + collection + "/{id}"
	})
	text = uuid.ReplaceAllString(text, "{id}")
	for _, id := range ids {
		text = strings.ReplaceAll(text, `"`+id+`"`, `"{id}"`)
		if len(id) >= minID {
			text = strings.ReplaceAll(text, id, "{id}")
		} else if text == id {
			text = "{id}"
		}
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// minID is the least length of an id that is replaced anywhere in a text. A shorter id is replaced only if it is a whole string or text.
const minID = 8

// idsOf returns the ids of the objects in the exchanges of a finding, longest first.
func idsOf(f conformance.Finding) []string {
	found := map[string]bool{}
	for _, p := range f.Preparation {
		found[p.ID] = true
	}
	for _, e := range []*wirelog.Exchange{f.Exchange, f.Write} {
		if e == nil || strings.Contains(e.URL, "/Schemas") || strings.Contains(e.URL, "/ResourceTypes") {
			continue
		}
		for _, m := range idMember.FindAllStringSubmatch(e.ResponseBody, -1) {
			found[m[1]] = true
		}
	}
	delete(found, "")
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
}

// idMember matches the id of a resource in JSON.
var idMember = regexp.MustCompile(`"id"\s*:\s*"([^"\\]+)"`)

// listDifference states which element a list lacks, or has in addition, if the lists are too long for a headline and start in the same
// way. It returns "" in all other cases.
func listDifference(subject, got, want string) string {
	var has, wanted []string
	if len(got) <= roomGot || len(want) <= roomWant || got[:roomWant/2] != want[:roomWant/2] ||
		json.Unmarshal([]byte(got), &has) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
		return ""
	}
	without := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
	}
	switch missing, further := without(wanted, has), without(has, wanted); {
	case len(missing) > 0 && len(further) == 0:
		return subject + " lacks " + strconv.Quote(missing[0])
	case len(further) > 0 && len(missing) == 0:
		return subject + " also has " + strconv.Quote(further[0])
	}
	return ""
}

// differently returns the actual value of a headline. If only the ids and names of the run differ from the expected one, it says so.
func differently(got, want string) string {
	switch {
	case got != want:
		return got
	case strings.Contains(got, "{id}"):
		return "other ids"
	}
	return "another value"
}

func length(text string) int { return len([]rune(text)) }

// clip shortens a text to n characters, at the end of a word, and marks the omission. Only a single long word is cut within.
func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	cut := string(runes[:n-1])
	if next := runes[n-1]; unicode.IsLetter(next) || unicode.IsDigit(next) {
		if i := strings.LastIndexFunc(cut, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i > 0 {
			cut = cut[:i+1]
		}
	}
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, ` ,;:([{"…`) + "…"
}
