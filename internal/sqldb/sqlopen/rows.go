package sqlopen

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// connector opens connections to PostgreSQL that implement sqldb.RowReader.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := opened.(*stdlib.Conn)
	if !ok {
		return opened, nil
	}
	return &rowReader{own}, nil
}

// rowReader is a connection whose rows have the texts as they are in its read buffer. The driver for database/sql copies each text, and a
// document can have several megabytes.
type rowReader struct{ *driverConn }

// driverConn is embedded under this name because a field Conn would hide the method Conn.
type driverConn = stdlib.Conn

// EachRow implements sqldb.RowReader.
func (c *rowReader) EachRow(ctx context.Context, columns int, query string, args []any, each func(row []driver.Value) error) error {
	if c.Conn().IsClosed() {
		return driver.ErrBadConn
	}
	rows, err := c.Conn().Query(ctx, query, args...)
	if err != nil {
		if pgconn.SafeToRetry(err) {
			return driver.ErrBadConn
		}
		return err
	}
	defer rows.Close()
	types, row := c.Conn().TypeMap(), make([]driver.Value, columns)
	for rows.Next() {
		raw, fields := rows.RawValues(), rows.FieldDescriptions()
		if len(raw) != columns {
			return fmt.Errorf("sqlopen: the query has %d columns, not %d", len(raw), columns)
		}
		for i, value := range raw {
			if row[i], err = valueOf(types, &fields[i], value); err != nil {
				return fmt.Errorf("sqlopen: column %s: %w", fields[i].Name, err)
			}
		}
		switch err := each(row); {
		case errors.Is(err, sqldb.ErrStop):
			return nil
		case err != nil:
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// valueOf returns the value of a column: nil, int64, bool, float64, or the bytes of a text.
func valueOf(types *pgtype.Map, field *pgconn.FieldDescription, raw []byte) (driver.Value, error) {
	if raw == nil {
		return nil, nil
	}
	switch field.DataTypeOID {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.JSONOID:
		return raw, nil // the same bytes in both formats
	case pgtype.ByteaOID:
		if field.Format == pgx.BinaryFormatCode {
			return raw, nil
		}
		return scan[[]byte](types, field, raw)
	case pgtype.Int8OID:
		if field.Format == pgx.BinaryFormatCode && len(raw) == 8 {
			return int64(binary.BigEndian.Uint64(raw)), nil //nolint:gosec // two's complement
		}
		return scan[int64](types, field, raw)
	case pgtype.Int4OID, pgtype.Int2OID:
		return scan[int64](types, field, raw)
	case pgtype.BoolOID:
		return scan[bool](types, field, raw)
	case pgtype.Float8OID:
		return scan[float64](types, field, raw)
	}
	return nil, fmt.Errorf("type %d is not supported", field.DataTypeOID)
}

func scan[T any](types *pgtype.Map, field *pgconn.FieldDescription, raw []byte) (value T, err error) {
	err = types.Scan(field.DataTypeOID, field.Format, raw, &value)
	return value, err
}
