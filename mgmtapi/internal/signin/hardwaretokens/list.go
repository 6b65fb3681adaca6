package hardwaretokens

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"reflect"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
	"github.com/scimwright/scimwright/scim/filter"
)

// Page sizes. The default for CSV is the maximum.
const (
	defaultPage = 20
	maxPage     = 200
	maxTable    = 1000
)

type listRequest struct {
	Filter string `query:"filter" doc:"Expression over profile.email, profile.serial, activated, user.id, created, status and lastVerified."`

	SortBy      string `query:"sortBy" default:"created" doc:"Attribute to sort by."`
	SortOrder   string `query:"sortOrder" doc:"ASC or DESC. Any other value means ASC."`
	Expand      string `query:"expand" enum:"user" doc:"user embeds the users of the tokens."`
	ForDownload bool   `query:"forDownload" doc:"Returns comma-separated values instead of JSON."`

	Limit int `query:"limit" min:"1" max:"1000" clamp:"true" doc:"Page size, at most 200. Default: 20. With forDownload, both are 1000."`

	After string `query:"after" doc:"Cursor from the link to the next page."`
}

// MoreTags implements rest.Described.
func (listRequest) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"sortBy": `enum:"profile.email,profile.serial,activated,user.id,created,status,lastVerified"`,
	}
}

// size returns the page size.
func (r *listRequest) size() int {
	if r.ForDownload {
		return cmp.Or(r.Limit, maxTable)
	}
	return min(cmp.Or(r.Limit, defaultPage), maxPage)
}

// equalityAndOrder are the filter operators for times.
var equalityAndOrder = []filter.Op{"eq", "gt", "lt"}

func text(index string, of func(*docstore.Doc[model.HardwareToken]) string) search.Attribute[model.HardwareToken] {
	return search.Attribute[model.HardwareToken]{Operators: search.Equality, Index: index,
		Values: func(d *docstore.Doc[model.HardwareToken]) []any { return []any{of(d)} }}
}

func moment(index string, of func(*docstore.Doc[model.HardwareToken]) time.Time) search.Attribute[model.HardwareToken] {
	return search.Attribute[model.HardwareToken]{
		Operators: equalityAndOrder, Time: true, Index: index,
		Values: func(d *docstore.Doc[model.HardwareToken]) []any { return []any{of(d)} },
	}
}

// attributes are the attributes for filters and sorting. Each has an index, so that a query reads only the rows that it returns.
var attributes = func() search.Language[model.HardwareToken] {
	serial := text(model.HardwareTokenBySerial, func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.Serial })
	serial.Normal = func(text string) string {
		if number, ok := model.SerialNumber(text); ok {
			return number
		}
		return text
	}
	return search.Language[model.HardwareToken]{
		"profile.serial": serial,
		"profile.email":  text(model.HardwareTokenByEmail, func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.Email }),
		"user.id":        text(model.HardwareTokenByUser, func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.User }),
		"status": text(model.HardwareTokenByStatus, func(d *docstore.Doc[model.HardwareToken]) string {
			return string(d.Value.Status())
		}),
		"created": moment(model.HardwareTokenByMade, func(d *docstore.Doc[model.HardwareToken]) time.Time { return d.Value.Made }),
		"activated": moment(model.HardwareTokenByActivated, func(d *docstore.Doc[model.HardwareToken]) time.Time {
			return d.Value.Activated
		}),
		"lastVerified": moment(model.HardwareTokenByLastVerified, func(d *docstore.Doc[model.HardwareToken]) time.Time {
			return d.Value.LastVerified
		}),
	}
}()

// query returns the query for the page.
func (r *listRequest) query() (docstore.Query[model.HardwareToken], error) {
	query := docstore.Query[model.HardwareToken]{
		OrderBy: attributes[r.SortBy].Index, Desc: strings.EqualFold(r.SortOrder, "DESC"), After: r.After, Limit: r.size(),
	}
	if r.Filter == "" {
		return query, nil
	}
	compiled, err := attributes.Compile(r.Filter)
	query.Where = compiled.Where
	if !compiled.Exact {
		query.Match = compiled.Match
	}
	return query, err
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Listing[HardwareToken], err error) {
	query, err := r.query()
	if err != nil {
		return out, err
	}
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		page, err := search.Page(ctx, s.HardwareTokens, q, query)
		if err != nil {
			return err
		}
		out = rest.Listing[HardwareToken]{Page: rest.Page[HardwareToken]{Next: page.Next}}
		if r.ForDownload {
			rest.SetHeader(ctx, "Content-Disposition", `attachment; filename="hardware-tokens.csv"`)
			out.Table, err = table(page.Docs)
			return err
		}
		for _, doc := range page.Docs {
			token, err := s.expanded(ctx, q, doc, r.Expand)
			if err != nil {
				return err
			}
			out.Items = append(out.Items, token)
		}
		return nil
	})
	return out, err
}

// columns are the columns of the CSV.
var columns = []struct {
	name string
	of   func(*docstore.Doc[model.HardwareToken]) string
}{
	{"Serial Number", func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.Serial }},
	{"Status", func(d *docstore.Doc[model.HardwareToken]) string { return string(d.Value.Status()) }},
	{"User ID", func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.User }},
	{"Email", func(d *docstore.Doc[model.HardwareToken]) string { return d.Value.Email }},
	{"Created", func(d *docstore.Doc[model.HardwareToken]) string { return when(d.Value.Made) }},
	{"Activated", func(d *docstore.Doc[model.HardwareToken]) string { return when(d.Value.Activated) }},
	{"Last Verified", func(d *docstore.Doc[model.HardwareToken]) string { return when(d.Value.LastVerified) }},
}

// table returns the tokens as comma-separated values (RFC 4180).
func table(docs []docstore.Doc[model.HardwareToken]) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	row := make([]string, len(columns))
	for i, column := range columns {
		row[i] = column.name
	}
	_ = w.Write(row) // the call of w.Error below returns the error
	for i := range docs {
		for j, column := range columns {
			row[j] = escapeFormula(column.of(&docs[i]))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// escapeFormula prevents spreadsheets from evaluating a cell as a formula: addresses of users can start with any of these characters.
func escapeFormula(cell string) string {
	if strings.IndexAny(cell, "=+-@\t\r\n＝＋－＠") == 0 {
		return "'" + cell
	}
	return cell
}

// when formats a time of an entity, empty for the zero time.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Second).Format(rest.TimeFormat)
}
