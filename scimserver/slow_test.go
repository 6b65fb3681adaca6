package scimserver_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// TestSlowReaders_HoldNoConnection starts more clients that do not read their response than the store has connections.
func TestSlowReaders_HoldNoConnection(t *testing.T) {
	const clients, users, size = 100, 400, 8 << 10 // a response is larger than the buffers of a connection
	db, err := sqlopen.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), sqlopen.Options{MaxConns: 2, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store := storeOn(t, db)
	fill(t, store, users, size)
	h := serve(t, store)
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSuffix(h.url, prefix), "http://"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = fmt.Fprintf(conn, "GET %s/Users?count=%d HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", prefix, users, token)
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1<<10)) // the response has begun
		require.NoError(t, err)
	}
	unused := func() { // a response may continue as long as the buffers of its connection have space
		t.Helper()
		require.Eventually(t, func() bool { return db.Readers().Stats().InUse == 0 }, time.Minute, time.Millisecond,
			"no connection is in use although no client has read its response")
	}
	unused()
	for i := range 10 {
		h.get(t, "/Users/"+grownUser(i).ID)
		h.do(t, http.MethodGet, "/Users?count=1", nil).want(t, http.StatusOK)
	}
	unused()
}
