package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

func TestUsage_RateAndInFlight(t *testing.T) {
	now := time.Unix(1000, 0)
	u := newUsage(Limits{Rate: 2, Burst: 3, InFlight: 2}, func() time.Time { return now })
	take := func(tenant string) (func(), *rest.Error) {
		release, err := u.take(tenant)
		if err == nil {
			return release, nil
		}
		return nil, err.(*rest.Error) //nolint:errorlint // take returns no other type
	}
	first, err := take("a")
	require.Nil(t, err)
	second, err := take("a")
	require.Nil(t, err)
	_, err = take("a")
	require.NotNil(t, err, "two requests are in flight")
	assert.Equal(t, "1", err.Header.Get("Retry-After"))
	other, err := take("b")
	require.Nil(t, err, "another tenant has its own limits")
	other()
	first()
	second()
	third, err := take("a")
	require.Nil(t, err, "a rejected request does not count")
	third()
	_, err = take("a")
	require.NotNil(t, err, "the burst is used")
	now = now.Add(499 * time.Millisecond)
	_, err = take("a")
	require.NotNil(t, err)
	now = now.Add(2 * time.Millisecond)
	last, err := take("a")
	require.Nil(t, err)
	last()
	now = now.Add(time.Hour)
	u.forget(now)
	assert.Empty(t, u.by)
}
