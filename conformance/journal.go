package conformance

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// journalVersion is the number in the first line of a journal. Journals of other versions are rejected.
const journalVersion = 1

// A journalLine is a line of a journal. The first line of a file contains the header fields, every other line an Op on an entry.
type journalLine struct {
	Journal int       `json:"journal,omitempty"`
	Target  string    `json:"target,omitempty"`
	Run     string    `json:"run,omitempty"`
	Started time.Time `json:"started,omitzero"`

	Op         string `json:"op,omitempty"` // "intent", "created" or "gone"
	Entry      int    `json:"entry,omitempty"`
	Collection string `json:"collection,omitempty"`
	Attribute  string `json:"attribute,omitempty"`
	Name       string `json:"name,omitempty"`
	ID         string `json:"id,omitempty"`
}

// A journal lists the objects that a run is about to create, has created and has removed. Each line is written before the next request is
// sent, so that the objects of an aborted run can be found. A journal contains names and ids, but no bodies and no credentials. A journal
// without a path writes no file.
type journal struct {
	path    string
	header  journalLine
	started func(path string)
	file    *os.File
	last    int
	open    map[int]openEntry // entries that are neither confirmed as created nor gone
	places  map[place]bool    // the places of all announced objects
}

// A place is a collection and the attribute of its objects that contains the run's marker.
type place struct{ collection, attribute string }

// next announces an object before the request that may create it, and returns the number of its entry.
func (j *journal) next(e openEntry) (int, error) {
	j.last++
	e.entry = j.last
	if j.open == nil {
		j.open, j.places = map[int]openEntry{}, map[place]bool{}
	}
	j.open[e.entry], j.places[place{e.collection, e.attribute}] = e, true
	return e.entry, j.write(
		journalLine{Op: "intent", Entry: e.entry, Collection: e.collection, Attribute: e.attribute, Name: e.name, ID: e.id})
}

func (j *journal) created(entry int, collection, id string) error {
	delete(j.open, entry)
	return j.write(journalLine{Op: "created", Entry: entry, Collection: collection, ID: id})
}

func (j *journal) gone(entry int) error {
	delete(j.open, entry)
	return j.write(journalLine{Op: "gone", Entry: entry})
}

// unsettled returns the announced objects for which it is unknown whether the target created them, in order.
func (j *journal) unsettled() []openEntry {
	return slices.SortedFunc(maps.Values(j.open), func(a, b openEntry) int { return cmp.Compare(a.entry, b.entry) })
}

func (j *journal) write(line journalLine) error {
	if j.path == "" {
		return nil
	}
	if j.file == nil {
		file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("conformance: the journal cannot be written: %w", err)
		}
		j.file = file
		if err := j.append(j.header); err != nil {
			return err
		}
		if j.started != nil {
			j.started(j.path)
		}
	}
	return j.append(line)
}

// probe returns an error if the journal cannot be created. It is called before any request is sent.
func (j *journal) probe() error {
	if j.path == "" {
		return nil
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(j.path))
	}
	if err != nil {
		return &UsageError{Problem: fmt.Sprintf("the journal cannot be written, it must be a new file in an existing directory: %v", err)}
	}
	return nil
}

func (j *journal) append(line journalLine) error {
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("conformance: the journal cannot be written: %w", err)
	}
	// One write per line: a line that is written survives a crash of the process.
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("conformance: the journal cannot be written: %w", err)
	}
	return nil
}

// close closes the journal, and removes the file if leftovers is false. It returns the path of the file if it was not removed.
func (j *journal) close(leftovers bool) (string, error) {
	if j.file == nil {
		return "", nil
	}
	err := j.file.Close()
	j.file = nil
	if leftovers {
		return j.path, err
	}
	return "", errors.Join(err, os.Remove(j.path))
}

// An openEntry is an object that a journal announces and that no later line lists as gone.
type openEntry struct {
	entry           int
	collection      string
	attribute, name string // the naming attribute and its value; the run searches for the object by this value
	id              string // the id in the request, "" if the target assigns it
	created         string // the id that the target returned, "" if it returned none
}

// readJournal returns the header of a journal, its open entries, and the places of all announced objects. It ignores a last line that a
// crash truncated.
func readJournal(path string) (header journalLine, open []openEntry, places map[place]bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return header, nil, nil, &UsageError{Problem: fmt.Sprintf("the journal cannot be read: %v", err)}
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &header) != nil || header.Journal != journalVersion || header.Run == "" {
		return header, nil, nil, &UsageError{Problem: path + " is not a journal of this version of the conformance suite"}
	}
	entries := map[int]*openEntry{}
	places = map[place]bool{}
	var order []int
	for lines.Scan() {
		var line journalLine
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			break
		}
		switch e := entries[line.Entry]; {
		case line.Op == "intent":
			entries[line.Entry] = &openEntry{entry: line.Entry, collection: line.Collection, attribute: line.Attribute, name: line.Name, id: line.ID}
			order = append(order, line.Entry)
			places[place{line.Collection, line.Attribute}] = true
		case e == nil:
		case line.Op == "created":
			e.created = line.ID
		case line.Op == "gone":
			delete(entries, line.Entry)
		}
	}
	if err := lines.Err(); err != nil {
		return header, nil, nil, fmt.Errorf("conformance: the journal cannot be read: %w", err)
	}
	for _, n := range order {
		if e := entries[n]; e != nil {
			open = append(open, *e)
		}
	}
	return header, open, places, nil
}
