package scim

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// ListResponse is the response to a query (RFC 7644 section 3.4.2, cursors: RFC 9865 section 2).
type ListResponse struct {
	TotalResults   int // number of all matches; negative if unknown, and then omitted from the JSON (RFC 9865 allows it with cursors)
	StartIndex     int // 1-based; 0 is omitted
	ItemsPerPage   int // number of resources in this page
	NextCursor     string
	PreviousCursor string
	Resources      []*Resource
}

// MarshalJSON writes the message. It always writes Resources, even if empty.
func (l ListResponse) MarshalJSON() ([]byte, error) {
	return l.AppendJSON(nil), nil
}

// AppendJSON appends the JSON encoding of the message to dst.
func (l ListResponse) AppendJSON(dst []byte) []byte {
	o := message(ListResponseMessage)
	if l.TotalResults >= 0 {
		o.Set("totalResults", l.TotalResults)
	}
	if l.StartIndex > 0 {
		o.Set("startIndex", l.StartIndex)
	}
	o.Set("itemsPerPage", l.ItemsPerPage)
	if l.NextCursor != "" {
		o.Set("nextCursor", l.NextCursor)
	}
	if l.PreviousCursor != "" {
		o.Set("previousCursor", l.PreviousCursor)
	}
	resources := make([]any, len(l.Resources))
	for i, r := range l.Resources {
		resources[i] = &r.Object
	}
	o.Set("Resources", resources)
	return o.AppendJSON(dst)
}

// UnmarshalJSON reads the message. It returns an error if the object does not name the ListResponse schema, so that another kind of
// response is never interpreted as an empty list. It also returns an error if Resources contains anything other than objects, or if a count
// is not a JSON integer.
func (l *ListResponse) UnmarshalJSON(data []byte) error {
	o, err := decodeMessage(data, ListResponseMessage)
	if err != nil {
		return err
	}
	out := ListResponse{
		TotalResults:   -1,
		NextCursor:     o.Text("nextCursor"),
		PreviousCursor: o.Text("previousCursor"),
	}
	for name, field := range map[string]*int{
		"totalResults": &out.TotalResults, "startIndex": &out.StartIndex, "itemsPerPage": &out.ItemsPerPage,
	} {
		if err := wholeNumber(o, name, func(n int) { *field = n }); err != nil {
			return err
		}
	}
	resources := o.Array("Resources")
	out.Resources = make([]*Resource, len(resources))
	for i, v := range resources {
		r, ok := v.(*Object)
		if !ok {
			return fmt.Errorf("Resources[%d] is not an object", i)
		}
		out.Resources[i] = &Resource{Object: *r}
	}
	*l = out
	return nil
}

// wholeNumber passes the integer stored under name to set. An absent or null member is not an error.
func wholeNumber(o *Object, name string, set func(int)) error {
	v, _ := o.Get(name)
	if v == nil {
		return nil
	}
	number, ok := v.(json.Number)
	if !ok || !IsInteger(number) {
		return fmt.Errorf("%s is not a whole number", name)
	}
	n, err := strconv.Atoi(string(number))
	if err != nil {
		f, _ := number.Float64() // the number has an exponent, such as 1e3, or is too large for an int
		if math.Abs(f) > math.MaxInt32 {
			return fmt.Errorf("%s is out of range", name)
		}
		n = int(f)
	}
	set(n)
	return nil
}
