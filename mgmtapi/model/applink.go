package model

// AppLinkID is the id of a link that an application puts on the home page, by the name of the link.
func AppLinkID(app, link string) string { return derivedID(KindAppLink, app+"/"+link) }
