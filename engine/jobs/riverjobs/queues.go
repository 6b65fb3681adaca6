package riverjobs

import (
	"context"
	"sync"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// queueTime is the time for which the state of a queue is cached.
const queueTime = time.Minute

// queues is an executor of River that caches the states of queues. Otherwise an idle process reads the state of each queue every two
// seconds.
type queues struct {
	riverdriver.Executor

	mu    sync.Mutex
	known map[string]knownQueue
}

type knownQueue struct {
	queue rivertype.Queue
	at    time.Time
}

// QueueGet implements riverdriver.Executor.
func (q *queues) QueueGet(ctx context.Context, params *riverdriver.QueueGetParams) (*rivertype.Queue, error) {
	q.mu.Lock()
	known, ok := q.known[params.Name]
	q.mu.Unlock()
	if ok && time.Since(known.at) < queueTime {
		queue := known.queue
		return &queue, nil
	}
	queue, err := q.Executor.QueueGet(ctx, params)
	if err == nil {
		q.mu.Lock()
		q.known[params.Name] = knownQueue{*queue, time.Now()}
		q.mu.Unlock()
	}
	return queue, err
}
