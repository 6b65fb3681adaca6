// Package look has what the HTML report of the suite and the pages of the console share: the design tokens and the style of the components
// in [Style], and the templates of the components in [Define]. The components are the pill of a status, a finding, and a request with its
// response.
//
// tokens.css has the colors, spaces and fonts, components.css the style of elements and components, components.html the templates. Both
// users add the style of their own pages. The root element of a page has the attribute data-theme with the value light, dark or auto.
package look
