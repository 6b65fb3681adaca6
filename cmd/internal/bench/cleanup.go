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
	cleanupTime   = 10 * time.Minute // the time limit of the cleanup of a target is this time, and removalTime for each object
	removalTime   = 10 * time.Millisecond
	searchAgain   = time.Second // the pause before the second search for an object without an id
	giveUpAfter   = 20          // the number of consecutive objects that cannot be removed, after which cleanup stops
	deletes       = 3           // the number of attempts of a DELETE
	firstPause    = 200 * time.Millisecond
	maxRetryAfter = 10 * time.Second
)

// cleanup removes the created objects and verifies that they are absent. Objects without an id are searched for afterwards, so that the
// server has time to complete their creation.
func (s *session) cleanup(ctx context.Context, clients int) Cleanup {
	ctx, cancel := context.WithTimeout(ctx, cleanupTime+time.Duration(len(s.made))*removalTime)
	defer cancel()
	left := s.removeGroupsFirst(ctx, s.made, clients)
	found, missing, unclear := s.findUnsure(ctx, s.unsure)
	if len(missing) > 0 && pause(ctx, searchAgain) {
		var late []resource
		var failed []Left
		late, missing, failed = s.findUnsure(ctx, missing)
		found, unclear = append(found, late...), append(unclear, failed...)
	}
	left = append(left, s.removeGroupsFirst(ctx, found, clients)...)
	left = append(left, unclear...)
	created := len(s.made) + len(found) + len(unclear)
	return Cleanup{Created: created, Removed: created - len(left), NotFound: len(missing), Remaining: left}
}

// removeGroupsFirst removes groups before users, because the deletion of a user also changes the groups of the user.
func (s *session) removeGroupsFirst(ctx context.Context, objects []resource, clients int) (left []Left) {
	for _, path := range []string{"/Groups", "/Users"} {
		some := slices.DeleteFunc(slices.Clone(objects), func(r resource) bool { return r.path != path })
		left = append(left, s.removeAll(ctx, some, clients)...)
	}
	return left
}

// findUnsure searches for objects without an id by their names. It returns those that exist, with their ids, those that were not found, and
// those for which the search failed.
func (s *session) findUnsure(ctx context.Context, unsure []resource) (found, missing []resource, failed []Left) {
	w := newWorker(0)
	failures := 0
	for _, r := range unsure {
		err := errStopped
		if failures < giveUpAfter {
			r.id, err = s.findCreated(ctx, w, r)
		}
		switch {
		case err != nil:
			failures++
			failed = append(failed, Left{Name: r.name, Reason: "the create returned no id, and the search by name failed: " + err.Error()})
			continue
		case r.id != "":
			found = append(found, r)
		default:
			missing = append(missing, r)
		}
		failures = 0
	}
	return found, missing, failed
}

// errStopped is the reason why an object remains after others could not be removed.
var errStopped = fmt.Errorf("cleanup stopped after %d consecutive failures", giveUpAfter)

// findCreated searches for an object by its name and returns its id, or "" if it does not exist.
func (s *session) findCreated(ctx context.Context, w *worker, r resource) (id string, err error) {
	path := byUserName(r.name)
	if r.path == "/Groups" {
		path = byName("/Groups", "displayName", r.name)
	}
	var list list
	if err := s.get(ctx, w, path, &list); err != nil {
		return "", err
	}
	switch len(list.Resources) {
	case 0:
		return "", nil
	case 1:
		r.id = list.Resources[0].ID
		return r.id, s.named(ctx, w, r)
	}
	return "", errors.New("several objects match") // the server has ignored the filter
}

// named returns an error unless the object with the id has the name, so that cleanup never removes an object that it did not create.
func (s *session) named(ctx context.Context, w *worker, r resource) error {
	var got struct {
		UserName    string `json:"userName"`
		DisplayName string `json:"displayName"`
	}
	if err := s.get(ctx, w, r.url(), &got); err != nil {
		return fmt.Errorf("the found object cannot be read: %w", err)
	}
	if r.id == "" || got.UserName != r.name && got.DisplayName != r.name {
		return errors.New("the found object has another name")
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
				reason := errStopped
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
		return errors.New("a GET still returns the object after a DELETE that succeeded")
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
