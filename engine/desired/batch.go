package desired

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/scimwright/scimwright/engine/mapping"
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
// Batch writes 1000 lines, or lines with 2 MiB, in one transaction with their marks, and reads the next ones meanwhile. The length of the
// input is not limited, and the memory does not grow with it. An invalid line fails alone. An error of Batch means that the lines which the
// report counts are written and no others; the batch can be repeated as a whole, because repetitions have no effect.
func (s *Store) Batch(ctx context.Context, app string, r io.Reader, o BatchOptions) (BatchReport, error) {
	b := &batch{s: s, app: app, options: o, written: make(chan error, 1)}
	if _, err := s.attached(); err != nil {
		return b.report, err
	}
	row, err := existing(ctx, s.db.Reader(), app)
	if err == nil {
		err = notPulled(&row)
	}
	if err != nil {
		return b.report, err
	}
	c, err := s.compiledRow(app, &row)
	if err != nil {
		return b.report, err
	}
	b.rules = c.rules
	err = b.read(ctx, r)
	if failed := b.wait(); failed != nil {
		err = failed
	}
	return b.report, err
}

// batch is the state of a Batch. While lines are written, the next ones are read.
type batch struct {
	s       *Store
	app     string
	options BatchOptions
	report  BatchReport
	rules   *mapping.Mapping // of the app at the start
	lines   int              // read, with blank lines

	pending []pendingLine
	bytes   int

	writing bool
	written chan error // the result of the lines that are being written
}

// read reads the lines, and starts to write all of them. At the end of the input, the last ones are still being written.
func (b *batch) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		data, long, err := readLine(in)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return fmt.Errorf("desired: read line %d of the batch: %w", b.lines+1, err)
		}
		b.lines++
		if len(bytes.TrimSpace(data)) > 0 {
			b.add(data, long)
		}
		if ended || len(b.pending) >= batchLines || b.bytes >= batchBytes {
			if err := b.flush(ctx); err != nil || ended {
				return err
			}
		}
	}
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
		if u, ok := p.change.(User); ok {
			p.change = prepare(u, b.rules)
		}
	}
	if len(p.id) > MaxID { // for the report only
		p.id = string([]rune(p.id)[:min(MaxID, len([]rune(p.id)))])
	}
	b.pending = append(b.pending, p)
	b.bytes += len(data)
}

// flush waits until the lines before are written, and starts to write the pending ones.
func (b *batch) flush(ctx context.Context) error {
	if err := b.wait(); err != nil {
		return err
	}
	lines := b.pending
	b.pending, b.bytes, b.writing = make([]pendingLine, 0, len(lines)), 0, true
	go func() { b.written <- b.write(ctx, lines) }()
	return nil
}

// wait waits until the lines that are being written are in the report.
func (b *batch) wait() error {
	if !b.writing {
		return nil
	}
	b.writing = false
	return <-b.written
}

// write writes lines in one transaction, and adds them to the report.
func (b *batch) write(ctx context.Context, lines []pendingLine) error {
	var changes []Change
	for _, p := range lines {
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
	for _, p := range lines {
		o := Outcome{Err: p.err}
		if p.change != nil {
			o, outcomes = outcomes[0], outcomes[1:]
		}
		b.report.count(&p, o)
	}
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
