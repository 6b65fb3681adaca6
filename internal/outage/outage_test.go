package outage_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/scimwright/scimwright/internal/outage"
)

type stateError string

func (e stateError) Error() string    { return "ERROR " + string(e) }
func (e stateError) SQLState() string { return string(e) }

func TestIs_Errors(t *testing.T) {
	_, refused := net.Dial("tcp", "127.0.0.1:1")
	for _, err := range []error{
		stateError("57P01"), stateError("53100"), stateError("08006"), stateError("25006"), refused, driver.ErrBadConn,
		context.DeadlineExceeded, errors.New("sqlite3: database or disk is full"),
	} {
		assert.True(t, outage.Is(fmt.Errorf("read: %w", err)), "%v", err)
	}
	for _, err := range []error{
		nil, stateError("23505"), stateError("40001"), stateError("42601"), stateError("57014"), context.Canceled, errors.New("other"),
		fmt.Errorf("conn closed: %w", context.Canceled),
	} {
		assert.False(t, outage.Is(err), "%v", err)
	}
}
