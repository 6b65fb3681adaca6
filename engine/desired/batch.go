package desired

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// BatchOptions configure Batch.
type BatchOptions struct {
	// Snapshot is the number of the snapshot whose upload the batch belongs to. Default: none.
	Snapshot int64
}

// BatchReport is the result of a batch. Blank lines are not counted.
type BatchReport struct {
	Lines     int
	Applied   int
	Unchanged int // repetitions, higher versions with the same content, and lines with the op presentUser or presentGroup
	Stale     int // a higher version is stored
	Failed    int // rejected for another reason
	// StaleLines and FailedLines are the first MaxReported lines of each kind.
	StaleLines, FailedLines []LineError
}

// LineError is a line that was not applied.
type LineError struct {
	Line int // from 1
	ID   string
	Err  error // as in Outcome
}

// Batch writes changes of an app from lines of JSON (NDJSON). Each line is an object with the member op: putUser, deleteUser,
// presentUser, putGroup, deleteGroup, presentGroup, putMembers or changeMembers. Its other members are id, version and the fields of
// User, Group, Members and MemberDelta in lower camel case; the users of Members are in members.
//
// Batch writes 1000 lines, or lines with 2 MiB, in one transaction with their marks. The length of the input is not limited, and the
// memory does not grow with it. An invalid line fails alone. An error of Batch means that the lines which the report counts are written
// and no others; the batch can be repeated as a whole, because repetitions have no effect.
func (s *Store) Batch(ctx context.Context, app string, r io.Reader, o BatchOptions) (BatchReport, error) {
	b := &batch{s: s, app: app, options: o}
	if _, err := s.attached(); err != nil {
		return b.report, err
	}
	if err := s.storing(ctx, s.db.Reader(), app); err != nil {
		return b.report, err
	}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		data, long, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return b.report, fmt.Errorf("desired: read line %d of the batch: %w", b.lines+1, err)
		}
		b.lines++
		if len(bytes.TrimSpace(data)) > 0 {
			b.add(data, long)
		}
		if ended := err != nil; ended || len(b.pending) >= batchLines || b.bytes >= batchBytes {
			if err := b.flush(ctx); err != nil || ended {
				return b.report, err
			}
		}
	}
}

// batch is the state of a Batch.
type batch struct {
	s       *Store
	app     string
	options BatchOptions
	report  BatchReport
	lines   int // read, with blank lines

	pending []pendingLine
	bytes   int
}

// pendingLine is a line that is not written yet.
type pendingLine struct {
	number int
	id     string
	change Change // nil if the line is invalid and its user or group is not known
	err    error
}

func (b *batch) add(data []byte, long bool) {
	p := pendingLine{number: b.lines}
	if long {
		p.err = &InputError{"", fmt.Sprintf("the line is longer than %d bytes", MaxLine)}
	} else {
		p.change, p.id, p.err = parseLine(data)
	}
	if len(p.id) > MaxID { // for the report only
		p.id = string([]rune(p.id)[:min(MaxID, len([]rune(p.id)))])
	}
	b.pending = append(b.pending, p)
	b.bytes += len(data)
}

// flush writes the pending lines and adds them to the report.
func (b *batch) flush(ctx context.Context) error {
	var changes []Change
	for _, p := range b.pending {
		if p.change != nil {
			changes = append(changes, p.change)
		}
	}
	var outcomes []Outcome
	if len(changes) > 0 {
		var err error
		if outcomes, err = b.s.write(ctx, b.app, changes, b.options.Snapshot); err != nil {
			return err
		}
	}
	for _, p := range b.pending {
		o := Outcome{Err: p.err}
		if p.change != nil {
			o, outcomes = outcomes[0], outcomes[1:]
		}
		b.report.count(&p, o)
	}
	clear(b.pending) // so that the changes can be freed
	b.pending, b.bytes = b.pending[:0], 0
	return nil
}

func (r *BatchReport) count(p *pendingLine, o Outcome) {
	r.Lines++
	list := &r.FailedLines
	switch o.Result {
	case Applied:
		r.Applied++
		return
	case Unchanged:
		r.Unchanged++
		return
	case Stale:
		r.Stale++
		list = &r.StaleLines
	default:
		r.Failed++
	}
	if len(*list) < MaxReported {
		*list = append(*list, LineError{Line: p.number, ID: p.id, Err: o.Err})
	}
}

// readLine returns the next line without its end, and io.EOF with the last line. long reports that the line exceeds MaxLine: its text is
// then discarded, except for a part that is not empty.
func readLine(in *bufio.Reader) (data []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			data = append(data, part...)
		}
		if len(data) > MaxLine+1 {
			data, long = data[:1], true
			data[0] = '?' // the line is not blank
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(data, []byte("\n")), long, err
		}
	}
}
