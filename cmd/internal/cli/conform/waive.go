package conform

import (
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/waivers"
)

// waiving is the set of flags for accepted findings.
type waiving struct {
	Waivers       string `help:"YAML or JSON file with waivers: temporarily accepted findings, with reasons." type:"path" placeholder:"FILE"`
	WaiversStrict bool   `help:"Fail the run for each waiver that matches no finding."`
}

// read returns the waivers in the file, or no waivers without a file.
func (w waiving) read() (waivers.List, error) {
	if w.Waivers == "" {
		if w.WaiversStrict {
			return nil, usage("--waivers-strict requires --waivers")
		}
		return nil, nil
	}
	known := checks.All()
	for _, p := range profiles.All() {
		known = append(known, p.Checks()...)
	}
	return waivers.Read(w.Waivers, known)
}
