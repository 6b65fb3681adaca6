package conform

import (
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/waivers"
)

// waiving is what is accepted for now.
type waiving struct {
	Waivers       string `help:"YAML or JSON file of findings that are accepted for now, each with a reason." type:"path" placeholder:"FILE"`
	WaiversStrict bool   `help:"A waiver of something that does not happen any more fails the run too."`
}

// read returns the waivers; none without a file.
func (w waiving) read() (waivers.List, error) {
	if w.Waivers == "" {
		if w.WaiversStrict {
			return nil, usage("--waivers-strict needs --waivers")
		}
		return nil, nil
	}
	known := checks.All()
	for _, p := range profiles.All() {
		known = append(known, p.Checks()...)
	}
	return waivers.Read(w.Waivers, known)
}
