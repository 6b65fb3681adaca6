package report

import (
	"encoding/json"
	"fmt"
	"html"
	"io"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/counted"
)

// badgeLabel is the left half of a badge.
const badgeLabel = "SCIM conformance"

// badge returns the text of the right half of a badge, and its color as a name of shields.io and as an SVG color.
func badge(r *conformance.Result) (message, name, color string) {
	proved := r.Count(conformance.Pass) + r.Count(conformance.Info)
	switch {
	case r.Verdict == conformance.Untested:
		return "not tested", "lightgrey", "#6a737d"
	case r.Verdict == conformance.Clean:
		return fmt.Sprintf("%d passed", proved), "brightgreen", "#2c8a2c"
	case r.Count(conformance.Fail) > 0:
		return fmt.Sprintf("%d of %d failed", r.Count(conformance.Fail),
			r.Count(conformance.Fail)+r.Count(conformance.Warn)+proved), "red", "#c0392b"
	case len(brokenClients(r)) > 0:
		return counted.Of(len(brokenClients(r)), "client") + " broken", "red", "#c0392b"
	default:
		return counted.Of(r.Count(conformance.Warn), "warning"), "yellow", "#9a6700"
	}
}

// Shields writes a badge in the JSON format of shields.io endpoints.
func Shields(w io.Writer, r *conformance.Result, _ string) error {
	message, name, _ := badge(r)
	return json.NewEncoder(w).Encode(map[string]any{"schemaVersion": 1, "label": badgeLabel, "message": message, "color": name})
}

const (
	badgeGlyph  = 6.6 // average width of a character at 11 pixels, in pixels
	badgeMargin = 10  // on each side of a half
)

// Badge writes a badge as SVG. It embeds no font: the width of a text is an estimate, which textLength enforces.
func Badge(w io.Writer, r *conformance.Result, _ string) error {
	message, _, color := badge(r)
	left, right := badgeWidth(badgeLabel), badgeWidth(message)
	half := func(text string, from, width int) string {
		return fmt.Sprintf(`<text x="%d" y="14" textLength="%d">%s</text>`, from+width/2, width-2*badgeMargin, html.EscapeString(text))
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[2]s: %[3]s">
<title>%[2]s: %[3]s</title>
<clipPath id="r"><rect width="%[1]d" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="%[4]d" height="20" fill="#444"/><rect x="%[4]d" width="%[5]d" height="20" fill="%[6]s"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,sans-serif" font-size="11">%[7]s%[8]s</g>
</svg>
`, left+right, badgeLabel, html.EscapeString(message), left, right, color, half(badgeLabel, 0, left), half(message, left, right))
	return err
}

func badgeWidth(text string) int { return int(float64(len(text))*badgeGlyph) + 2*badgeMargin }
