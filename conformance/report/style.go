package report

// Style returns the style sheet of the HTML report, for pages with the same look in light and dark mode, on a narrow screen and in print.
// Its classes are not part of the API.
func Style() string { return pageStyle }
