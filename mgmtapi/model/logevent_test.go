package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/model"
)

func TestLogEventsAreOrderedAsTheyWereMade(t *testing.T) {
	at := time.UnixMilli(1_772_600_767_890)
	first, last := "", ""
	for range 1000 {
		before := time.Now()
		id := model.NewLogID(at)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		if time.Now().UnixNano() > before.UnixNano() { // nobody has set the clock of the computer meanwhile
			require.Greater(t, id, last, "a clock that stands still does not mix events up")
		}
		last = id
		if first == "" {
			first = id
		}
	}
	require.Less(t, last, model.LogTime(at.Add(time.Millisecond)))
	require.Less(t, model.LogTime(at), first)
}
