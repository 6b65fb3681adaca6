package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	cleanupTime   = 10 * time.Minute // the time limit of the cleanup of a target
	giveUpAfter   = 20               // the number of consecutive objects that cannot be removed, after which cleanup stops
	deletes       = 3                // the number of attempts of a DELETE
	firstPause    = 200 * time.Millisecond
	maxRetryAfter = 10 * time.Second
)

// cleanup removes the created objects and verifies that they are absent. Groups are removed first.
func (s *session) cleanup(ctx context.Context, clients int) Cleanup {
	ctx, cancel := context.WithTimeout(ctx, cleanupTime)
	defer cancel()
	left := s.findUnsure(ctx)
	slices.Reverse(s.made) // the group was created after its members
	slices.SortStableFunc(s.made, func(a, b resource) int { return groupsFirst(a) - groupsFirst(b) })
	groups := slices.IndexFunc(s.made, func(r resource) bool { return r.path != "/Groups" })
	if groups < 0 {
		groups = len(s.made)
	}
	left = append(left, s.removeAll(ctx, s.made[:groups], 1)...)
	left = append(left, s.removeAll(ctx, s.made[groups:], clients)...)
	total := len(s.made)
	for _, l := range left {
		if l.Path == "" { // not among the created objects with an id
			total++
		}
	}
	return Cleanup{Created: total, Removed: total - len(left), Remaining: left}
}

func groupsFirst(r resource) int {
	if r.path == "/Groups" {
		return 0
	}
	return 1
}

// findUnsure adds the objects without an id that exist to the created ones. It returns those for which the search failed.
func (s *session) findUnsure(ctx context.Context) (left []Left) {
	w := newWorker(0)
	failures := 0
	for _, r := range s.unsure {
		reason := errors.New("cleanup stopped after consecutive failures")
		if failures < giveUpAfter {
			reason = s.findCreated(ctx, w, r)
		}
		if failures++; reason == nil {
			failures = 0
			continue
		}
		left = append(left, Left{Name: r.name, Reason: reason.Error()})
	}
	return left
}

// findCreated searches for an object by its name and adds it to the created objects if it exists.
func (s *session) findCreated(ctx context.Context, w *worker, r resource) error {
	path := byUserName(r.name)
	if r.path == "/Groups" {
		path = byName("/Groups", "displayName", r.name)
	}
	var found list
	if err := s.get(ctx, w, path, &found); err != nil {
		return fmt.Errorf("the create returned no id, and a search by name fails: %w", err)
	}
	if len(found.Resources) > 1 { // the server has ignored the filter; it must not delete other objects
		return errors.New("the create returned no id, and a search by name finds several objects")
	}
	for _, one := range found.Resources {
		r.id = one.ID
		if err := s.named(ctx, w, r); err != nil {
			return err
		}
		s.made = append(s.made, r)
	}
	return nil
}

// named returns an error unless the object with the id has the name, so that cleanup never removes an object that it did not create.
func (s *session) named(ctx context.Context, w *worker, r resource) error {
	var got struct {
		UserName    string `json:"userName"`
		DisplayName string `json:"displayName"`
	}
	if err := s.get(ctx, w, r.url(), &got); err != nil {
		return fmt.Errorf("the create returned no id, and the found object cannot be read: %w", err)
	}
	if r.id == "" || got.UserName != r.name && got.DisplayName != r.name {
		return errors.New("the create returned no id, and a search by name finds another object")
	}
	return nil
}

// removeAll removes objects with concurrent requests and returns those that remain. It stops after giveUpAfter consecutive failures.
func (s *session) removeAll(ctx context.Context, objects []resource, clients int) (left []Left) {
	var next, failures atomic.Int64
	var mu sync.Mutex
	var running sync.WaitGroup
	for n := range clients {
		running.Go(func() {
			w := newWorker(n)
			for i := int(next.Add(1)) - 1; i < len(objects); i = int(next.Add(1)) - 1 {
				reason := fmt.Errorf("cleanup stopped after %d consecutive failures", giveUpAfter)
				if failures.Load() < giveUpAfter {
					reason = s.remove(ctx, w, objects[i])
				}
				if reason == nil {
					failures.Store(0)
					continue
				}
				failures.Add(1)
				mu.Lock()
				left = append(left, Left{Path: objects[i].url(), Name: objects[i].name, Reason: reason.Error()})
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return left
}

// remove removes one object. Its absence after the DELETE decides, not the response to it.
func (s *session) remove(ctx context.Context, w *worker, r resource) error {
	deleted := s.deleteOnce(ctx, w, r)
	for attempt := 1; attempt < deletes && isTransient(deleted) && pause(ctx, waitAfter(deleted, attempt)); attempt++ {
		deleted = s.deleteOnce(ctx, w, r)
	}
	err := s.send(ctx, w, http.MethodGet, r.url(), nil)
	switch status := statusOf(err); {
	case status == http.StatusNotFound || status == http.StatusGone:
		return nil
	case deleted != nil:
		return fmt.Errorf("DELETE: %w", deleted)
	case err == nil:
		return errors.New("a GET still returns it after a DELETE that succeeded")
	}
	return fmt.Errorf("GET after a DELETE that succeeded: %w", err)
}

func (s *session) deleteOnce(ctx context.Context, w *worker, r resource) error {
	return s.send(ctx, w, http.MethodDelete, r.url(), nil)
}

// isTransient reports whether a later attempt may succeed.
func isTransient(err error) bool {
	status := statusOf(err)
	return err != nil && (status == 0 || status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented)
}

// waitAfter returns the pause before the next attempt.
func waitAfter(err error, attempt int) time.Duration {
	if wrong, ok := errors.AsType[*statusError](err); ok {
		if seconds, err := strconv.ParseUint(wrong.after, 10, 31); err == nil {
			return min(time.Duration(seconds)*time.Second, maxRetryAfter)
		}
	}
	return firstPause << (attempt - 1)
}
