package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
)

// Format is the version of the JSON form. It increases when a member changes its meaning or is removed, not when members are added.
const Format = 1

// tool is the value of [Matrix.Tool].
const tool = "scim-conformance matrix"

// A Matrix contains the results of several products. Its JSON form contains everything that the other forms show, so that they can be
// written from it.
type Matrix struct {
	Format int    `json:"format"` // see [Format]
	Tool   string `json:"tool"`   // always "scim-conformance matrix"
	// Products are the columns, in the order of their names.
	Products []Entry `json:"products"`
	// Clients, Areas and Clauses are the rows. Each row has a cell for each product. Clauses contains only clauses with a failure or a
	// warning; Clean is the number of the other clauses that at least one run has tested.
	Clients []ClientRow `json:"clients"`
	Areas   []AreaRow   `json:"areas"`
	Clauses []ClauseRow `json:"clauses"`
	Clean   int         `json:"cleanClauses"`
}

// A Product describes what was tested and how to repeat it.
type Product struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Link is the address of the product's page, Setup its configuration in a few words: "Express 5.3.0, data in memory".
	Link  string `json:"link,omitempty"`
	Setup string `json:"setup,omitempty"`
	// Reproduce are the shell commands that start the product and test it.
	Reproduce string `json:"reproduce,omitempty"`
	// Notes are sentences that a reader needs for the results.
	Notes []string `json:"notes,omitempty"`
}

// An Entry is a product with the run that tested it and the causes of its findings.
type Entry struct {
	// ID is the name of the report file without its extension.
	ID string `json:"id"`
	Product
	// Suite is the version of the suite, Tested the start of the run.
	Suite      string                      `json:"suite,omitempty"`
	Tested     time.Time                   `json:"tested"`
	DurationMs int64                       `json:"durationMs"`
	Requests   int                         `json:"requests"`
	Verdict    conformance.Verdict         `json:"verdict"`
	Reason     string                      `json:"reason,omitempty"`
	Outcomes   map[conformance.Outcome]int `json:"outcomes"` // number of checks by outcome
	Leftovers  int                         `json:"leftovers,omitempty"`
	Cautions   []string                    `json:"cautions,omitempty"`
	Causes     []Cause                     `json:"causes"`
}

// A Cause explains findings of a product. Cells refer to it by its position, which starts at 1.
type Cause struct {
	// Headline states the fault in one sentence.
	Headline string `json:"headline"`
	// Outcome is the most severe outcome of the checks that the cause explains.
	Outcome conformance.Outcome `json:"outcome"`
	Checks  []string            `json:"checks"`
	Clauses []string            `json:"clauses,omitempty"` // the first clause of each of these checks, sorted
	Clients []string            `json:"clients,omitempty"` // clients that depend on them
	Curl    string              `json:"curl,omitempty"`
	Why     string              `json:"why,omitempty"`
	Fix     string              `json:"fix,omitempty"`
}

// A Cell is the result of a product in a row.
type Cell struct {
	// Outcome is empty if the run has not tested the row.
	Outcome conformance.Outcome `json:"outcome,omitempty"`
	// Counts are the numbers of checks by outcome. Only cells of areas have them.
	Counts map[conformance.Outcome]int `json:"counts,omitempty"`
	// Fit is the verdict on a client flow, Why the step that fails or what is lost. Only cells of clients have them.
	Fit conformance.Compatibility `json:"fit,omitempty"`
	Why string                    `json:"why,omitempty"`
	// Causes are the positions of the causes in the product's entry, starting at 1. A cell with a failure has at least one.
	Causes []int `json:"causes,omitempty"`
}

// A ClientRow is a client flow.
type ClientRow struct {
	Client string `json:"client"`
	Title  string `json:"title"`
	Cells  []Cell `json:"cells"`
}

// An AreaRow is an area of the checks.
type AreaRow struct {
	Area  string `json:"area"`
	Cells []Cell `json:"cells"`
}

// A ClauseRow is a clause of an RFC.
type ClauseRow struct {
	report.Clause
	Cells []Cell `json:"cells"`
}

// A tested report is the input of a column.
type tested struct {
	id       string
	product  Product
	document report.Document
}

// combine returns the matrix of the reports.
func combine(reports []tested) *Matrix {
	m := &Matrix{Format: Format, Tool: tool, Products: []Entry{}, Clients: []ClientRow{}, Areas: []AreaRow{}, Clauses: []ClauseRow{}}
	slices.SortStableFunc(reports, func(a, b tested) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.product.Name), strings.ToLower(b.product.Name)),
			cmp.Compare(a.product.Version, b.product.Version), cmp.Compare(a.product.Setup, b.product.Setup), cmp.Compare(a.id, b.id))
	})
	columns := make([]*column, len(reports))
	for i, r := range reports {
		columns[i] = newColumn(r)
	}
	m.Clients, m.Areas = clientRows(columns), areaRows(columns)
	m.Clauses, m.Clean = clauseRows(columns)
	for _, c := range columns {
		m.Products = append(m.Products, c.entry)
	}
	return m
}

func clientRows(columns []*column) []ClientRow {
	rows := []ClientRow{}
	index := map[string]int{}
	for at, c := range columns {
		for _, p := range c.document.Profiles {
			key := p.Profile + "." + p.Conversation
			i, known := index[key]
			if !known {
				i = len(rows)
				index[key] = i
				rows = append(rows, ClientRow{Client: p.Client, Title: p.Title, Cells: make([]Cell, len(columns))})
			}
			rows[i].Cells[at] = c.clientCell(p)
		}
	}
	return rows
}

func areaRows(columns []*column) []AreaRow {
	rows := []AreaRow{}
	index := map[string]int{}
	for at, c := range columns {
		for _, check := range c.document.Checks {
			if c.isStep(check) {
				continue // the steps of client flows are in the rows of the clients
			}
			i, known := index[check.Area]
			if !known {
				i = len(rows)
				index[check.Area] = i
				rows = append(rows, AreaRow{Area: check.Area, Cells: make([]Cell, len(columns))})
			}
			cell := &rows[i].Cells[at]
			if cell.Counts == nil {
				cell.Counts = map[conformance.Outcome]int{}
			}
			cell.Counts[check.Outcome]++
			cell.Outcome = graver(cell.Outcome, check.Outcome)
			cell.Causes = c.add(cell.Causes, check)
		}
	}
	return rows
}

// clauseRows returns the clauses with a failure or a warning, in the order of the requirements catalog, and the number of the other tested
// clauses.
func clauseRows(columns []*column) (rows []ClauseRow, clean int) {
	all := []ClauseRow{}
	index := map[string]int{}
	for at, c := range columns {
		for _, v := range c.document.Clauses {
			i, known := index[v.ID]
			if !known {
				i = len(all)
				index[v.ID] = i
				all = append(all, ClauseRow{Clause: v.Clause, Cells: make([]Cell, len(columns))})
			}
			cell := Cell{Outcome: v.Outcome}
			for _, id := range v.Checks {
				if check, ok := c.checks[id]; ok && complains(v.Outcome) && check.Outcome == v.Outcome {
					cell.Causes = c.add(cell.Causes, check)
				}
			}
			all[i].Cells[at] = cell
		}
	}
	rows = []ClauseRow{}
	for _, row := range all {
		has := func(ok func(conformance.Outcome) bool) bool {
			return slices.ContainsFunc(row.Cells, func(c Cell) bool { return ok(c.Outcome) })
		}
		switch {
		case has(complains):
			rows = append(rows, row)
		case has(func(o conformance.Outcome) bool { return o == conformance.Pass || o == conformance.Info }):
			clean++
		}
	}
	slices.SortStableFunc(rows, func(a, b ClauseRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, clean
}

// complains reports whether an outcome is Fail or Warn.
func complains(o conformance.Outcome) bool { return o == conformance.Fail || o == conformance.Warn }

// weight orders the outcomes of a cell, the weakest first. A skip does not override a pass.
var weight = []conformance.Outcome{"", conformance.Skip, conformance.Pass, conformance.Info, conformance.Warn, conformance.Error,
	conformance.Fail}

func graver(a, b conformance.Outcome) conformance.Outcome {
	if slices.Index(weight, a) < slices.Index(weight, b) {
		return b
	}
	return a
}

// Parse reads the JSON form of a matrix.
func Parse(data []byte) (*Matrix, error) {
	var m Matrix
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("not a matrix of the suite: %w", err)
	}
	if m.Tool != tool || m.Format != Format {
		return nil, fmt.Errorf("not a matrix of the suite in format %d", Format)
	}
	if err := m.rectangular(len(m.Products)); err != nil {
		return nil, err
	}
	return &m, nil
}

// rectangular returns an error unless every row has n cells and every cell refers to existing causes.
func (m *Matrix) rectangular(n int) error {
	check := func(row string, cells []Cell) error {
		if len(cells) != n {
			return fmt.Errorf("the row %s has %d cells for %d products", row, len(cells), n)
		}
		for i, c := range cells {
			for _, cause := range c.Causes {
				if cause < 1 || cause > len(m.Products[i].Causes) {
					return fmt.Errorf("the row %s refers to cause %d of %s, which has %d", row, cause, m.Products[i].ID, len(m.Products[i].Causes))
				}
			}
		}
		return nil
	}
	for _, r := range m.Clients {
		if err := check(r.Client+", "+r.Title, r.Cells); err != nil {
			return err
		}
	}
	for _, r := range m.Areas {
		if err := check(r.Area, r.Cells); err != nil {
			return err
		}
	}
	for _, r := range m.Clauses {
		if err := check(r.ID, r.Cells); err != nil {
			return err
		}
	}
	return nil
}
