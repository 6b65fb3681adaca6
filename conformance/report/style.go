package report

import "github.com/scimwright/scimwright/internal/look"

// Style returns the style sheet of the HTML report, for pages with the same look in light and dark mode, on a narrow screen and in print.
// The root element of such a page has the attribute data-theme with the value auto, light or dark. The classes are not part of the API.
func Style() string { return look.Style() + pageStyle }
