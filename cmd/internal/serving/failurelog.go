package serving

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// repeatWindow is the time within which an identical warning or error is logged once.
	repeatWindow = time.Minute
	// maxRepeats is the maximum number of different records that are counted within a window.
	maxRepeats = 1000
	// labelTimeout is the maximum time to search for the label of an app.
	labelTimeout = time.Second
)

// FailureLog adds the label of the app to log records that contain the id of an app. It logs identical warnings and errors once a minute,
// with the number of omitted records. Records that differ only in times, durations or numbers are identical.
type FailureLog struct {
	next   slog.Handler
	with   string // attributes of the logger
	shared *repeats
}

// repeats is shared by the handlers of one program.
type repeats struct {
	mu     sync.Mutex
	label  func(ctx context.Context, app string) string // nil until Labels sets it
	seen   map[string]*repeated
	closed bool
}

// repeated is a record that was logged within the last window.
type repeated struct {
	timer   *time.Timer
	omitted int
	last    slog.Record
	next    slog.Handler
}

// NewFailureLog returns a FailureLog whose records go to next.
func NewFailureLog(next slog.Handler) *FailureLog {
	return &FailureLog{next: next, shared: &repeats{seen: map[string]*repeated{}}}
}

// Labels sets the function that returns the label of an app, "" for an unknown one.
func (f *FailureLog) Labels(label func(ctx context.Context, app string) string) {
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	f.shared.label = label
}

// Enabled implements slog.Handler.
func (f *FailureLog) Enabled(ctx context.Context, level slog.Level) bool {
	return f.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (f *FailureLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *f
	c.next = f.next.WithAttrs(attrs)
	for _, a := range attrs {
		c.with += keyOf(a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (f *FailureLog) WithGroup(name string) slog.Handler {
	c := *f
	c.next, c.with = f.next.WithGroup(name), f.with+name+"."
	return &c
}

// Handle implements slog.Handler.
func (f *FailureLog) Handle(ctx context.Context, r slog.Record) error {
	r = f.labeled(ctx, r)
	if r.Level >= slog.LevelWarn && !f.shared.first(f.key(r), r, f.next) {
		return nil
	}
	return f.next.Handle(ctx, r)
}

// labeled adds the label of the app that a record is about.
func (f *FailureLog) labeled(ctx context.Context, r slog.Record) slog.Record {
	f.shared.mu.Lock()
	label := f.shared.label
	f.shared.mu.Unlock()
	app := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "app" && a.Value.Kind() == slog.KindString {
			app = a.Value.String()
		}
		return app == ""
	})
	if app == "" || label == nil {
		return r
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), labelTimeout)
	defer cancel()
	if text := label(ctx, app); text != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("label", text))
	}
	return r
}

// key returns the same string for identical records.
func (f *FailureLog) key(r slog.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %s", r.Level, r.Message, f.with)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(keyOf(a))
		return true
	})
	return b.String()
}

func keyOf(a slog.Attr) string {
	switch a.Value.Kind() {
	case slog.KindTime, slog.KindDuration, slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		return ""
	default:
		return fmt.Sprintf("%s=%q ", a.Key, localPort.ReplaceAllString(a.Value.Resolve().String(), "->"))
	}
}

// localPort matches the port of this end in the error of a connection, such as in "read tcp 127.0.0.1:59168->127.0.0.1:5432: EOF". Each
// connection has another one.
var localPort = regexp.MustCompile(`:[0-9]{1,5}->`)

// first reports whether a record must be logged now. If not, it counts the record.
func (s *repeats) first(key string, r slog.Record, next slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.seen[key]; was != nil {
		was.omitted++
		was.last, was.next = r.Clone(), next
		return false
	}
	if s.closed || len(s.seen) >= maxRepeats {
		return true
	}
	s.seen[key] = &repeated{timer: time.AfterFunc(repeatWindow, func() { s.expire(key) })}
	return true
}

// expire closes a window. If records were omitted in it, the last one is logged and another window starts.
func (s *repeats) expire(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.seen[key]
	switch {
	case was == nil:
	case was.omitted == 0:
		delete(s.seen, key)
	default:
		was.flush()
		was.timer.Reset(repeatWindow)
	}
}

// flush logs the last omitted record, with the number of omitted records.
func (r *repeated) flush() {
	record := r.last
	record.AddAttrs(slog.Int("repeated", r.omitted))
	_ = r.next.Handle(context.Background(), record)
	r.omitted = 0
}

// Close logs the records omitted so far and closes all windows.
func (f *FailureLog) Close(context.Context) error {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for key, was := range s.seen {
		was.timer.Stop()
		if was.omitted > 0 {
			was.flush()
		}
		delete(s.seen, key)
	}
	return nil
}
