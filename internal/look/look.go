package look

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
)

//go:embed tokens.css
var tokens string

//go:embed components.css
var style string

//go:embed components.html
var components string

// Style returns the style sheet of the tokens and the components.
func Style() string { return tokens + style }

// Define adds the templates of the components to t: pill (of a Pill), finding (of a Finding), exchange (of an Exchange) and message (of a
// Message).
func Define(t *template.Template) (*template.Template, error) {
	return t.New("components.html").Parse(components)
}

// Pill is a status. Each tone has a sign, so that the color is never the only difference.
type Pill struct{ Tone, Sign, Word string }

// signs are the signs of the tones.
var signs = map[string]string{"good": "✓", "wait": "…", "bad": "✕", "warn": "!", "odd": "?", "info": "i", "quiet": "–"}

// NewPill returns the pill of a word with a tone: good, wait, bad, warn, odd, info or quiet.
func NewPill(tone, word string) Pill { return Pill{tone, signs[tone], word} }

// outcomes are the tones of the outcomes and verdicts of the suite.
var outcomes = map[string]string{
	"pass": "good", "fail": "bad", "error": "odd", "warn": "warn", "info": "info", "skip": "quiet",
	"works": "good", "breaks": "bad", "works with limits": "warn", "unknown": "quiet",
	"clean": "good", "findings": "bad", "untested": "odd",
}

// Tone returns the tone of an outcome or a verdict of the suite, quiet for an unknown one.
func Tone(outcome any) string { return cmp.Or(outcomes[fmt.Sprint(outcome)], "quiet") }

// Outcome returns the pill of an outcome or a verdict of the suite.
func Outcome(outcome any) Pill { return NewPill(Tone(outcome), fmt.Sprint(outcome)) }

// Finding is a difference between an expected and an actual result.
type Finding struct {
	Tone      string
	What      string
	Note      string // in parentheses after What
	Want, Got string
	Waived    string    // why the finding is accepted; empty if it is not
	Exchange  *Exchange // the request that shows the finding; nil if no single request does
}

// Exchange is a request with its response.
type Exchange struct {
	Request, Response Message
	Curl              string // a command line that sends the request again
	Level             int    // of the headings: 2 or 3; all other values are 4, the level below the heading of a finding
}

// Message is a request or a response.
type Message struct {
	Line    string // the method and URL of a request, the status of a response
	Headers int
	Header  string // one header field per line
	Body    string
}

// NewMessage returns a message. A JSON body is indented.
func NewMessage(line string, header http.Header, body string) Message {
	m := Message{Line: line, Body: Indent(body)}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines = append(lines, name+": "+value)
		}
	}
	m.Headers, m.Header = len(lines), strings.Join(lines, "\n")
	return m
}

const (
	// maxDepth is the maximum depth of JSON that is indented. Bodies with ten thousand levels, which the suite sends, would take gigabytes.
	maxDepth = 32
	// maxLength is the maximum length of JSON that is indented.
	maxLength = 256 << 10
)

// Indent indents a text that is JSON. It returns all other texts, and very long or deep JSON, unchanged.
func Indent(text string) string {
	var out bytes.Buffer
	if len(text) > maxLength || deepest(text) > maxDepth || json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// deepest returns an upper bound of the nesting depth of objects and arrays.
func deepest(text string) (most int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most
}
