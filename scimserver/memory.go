package scimserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/scimwright/scimwright/scim"
)

// Memory limits the memory that the requests in progress of several servers use together, such as the tenants of a process. See
// [Options.Memory].
type Memory struct {
	size int64
	free *semaphore.Weighted
}

// NewMemory returns a limit of that many bytes.
func NewMemory(bytes int64) *Memory { return &Memory{bytes, semaphore.NewWeighted(bytes)} }

// memoryWait is the time that a request waits for memory that other requests of the same server use.
const memoryWait = time.Second

// retryAfter is the value of Retry-After in responses to requests that may succeed later, in seconds.
const retryAfter = "1"

var (
	errMemory       = errors.New("the requests in progress use all memory that this service provider may use; try again")
	errSharedMemory = errors.New("the requests in progress use all memory of the server; try again")
)

// reservation is the memory of one request. Only the goroutine of the request uses it.
type reservation struct {
	own, shared *Memory // shared may be nil
	reserved    int64
}

// reserve adds bytes to the reservation. If the server's own memory is in use, it waits for at most memoryWait. It does not wait for shared
// memory, so that a request does not wait for requests of other tenants. After an error, the reservation has its previous size.
func (m *reservation) reserve(ctx context.Context, bytes int64) error {
	if m.reserved+bytes > m.own.size {
		return scim.Errorf(http.StatusRequestEntityTooLarge, "", "the body has too many or too large values; the limit is %d bytes of memory",
			m.own.size)
	}
	if !m.own.free.TryAcquire(bytes) {
		waiting, cancel := context.WithTimeout(ctx, memoryWait)
		defer cancel()
		if m.own.free.Acquire(waiting, bytes) != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return errMemory
		}
	}
	if m.shared != nil && !m.shared.free.TryAcquire(bytes) {
		m.own.free.Release(bytes)
		return errSharedMemory
	}
	m.reserved += bytes
	return nil
}

// release returns all memory of the request.
func (m *reservation) release() {
	if m.reserved == 0 {
		return
	}
	m.own.free.Release(m.reserved)
	if m.shared != nil {
		m.shared.free.Release(m.reserved)
	}
	m.reserved = 0
}

// firstRead is the initial size of the buffer for a body.
const firstRead = 4 << 10

// read reads a body. announced is its Content-Length, or negative if the client has not sent one. read reserves memory as the body arrives,
// because a client that announces a long body and sends nothing must not take memory from others.
func (m *reservation) read(ctx context.Context, body io.Reader, announced int64) ([]byte, error) {
	first := int64(firstRead)
	if announced >= 0 {
		first = min(first, announced+1) // the last byte is for the end of the body
	}
	if err := m.reserve(ctx, first); err != nil {
		return nil, err
	}
	buf := make([]byte, 0, first)
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return nil, err
		}
		if len(buf) == cap(buf) {
			if err := m.reserve(ctx, int64(cap(buf))); err != nil {
				return nil, err
			}
			larger := make([]byte, len(buf), 2*cap(buf))
			copy(larger, buf)
			buf = larger
		}
	}
}

// valueCost is the memory in bytes of a decoded value and of its cleaned copy, in addition to its text.
const valueCost = 64

// decodedSize returns an upper bound of the memory of a decoded JSON text.
func decodedSize(text []byte) int64 {
	values := 1
	for _, c := range text {
		switch c {
		case ',', ':', '[', '{':
			values++
		}
	}
	return int64(len(text)) + valueCost*int64(values)
}
