package cli

// FlagHelp is the help of flags that does not fit into a struct tag.
var FlagHelp = flagHelp
