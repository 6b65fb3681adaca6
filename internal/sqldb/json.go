package sqldb

import (
	"encoding/json"
	"fmt"
)

// JSON returns a parameter with the JSON form of v, for a statement on PostgreSQL that handles many rows: json_to_recordset returns an
// array of objects as a table. The text of the statement then does not depend on the number of rows, so that the driver prepares it once,
// and one statement takes one round trip.
func JSON(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("sqldb: rows of a parameter: %w", err)
	}
	return string(b), nil
}
