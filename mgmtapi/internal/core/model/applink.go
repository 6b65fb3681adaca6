package model

// LogoPath returns the path of the logo of an application, by its id, or of a catalog entry, by its name.
func LogoPath(ref string) []string { return []string{"assets", "logos", ref} }

// AppLinkID returns the id of a link that an application has on the home page, from the name of the link.
func AppLinkID(app, link string) string { return derivedID(KindAppLink, app+"/"+link) }
