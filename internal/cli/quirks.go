package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/scimwright/scimwright/scimserver/quirks"
)

// listQuirks prints the table of quirks.
func listQuirks(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "QUIRK\tCATEGORY\tTHE SERVER")
	for _, q := range quirks.All() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", q.Usage(), q.Category, q.Does)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "\nChaos takes options after its setting: ,p=PROBABILITY ,seed=N ,times=N ,method=METHOD")
	return err
}
