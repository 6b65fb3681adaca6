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

// journalVersion is the number in the first line of a journal. A reader refuses others.
const journalVersion = 1

// A journal line. The first line of a file carries the header fields, every other one an Op about one entry.
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

// A journal is the list of what a run is about to create, has created and has removed, written line by line before the
// next request goes out, so that what a killed run left behind can be found. It holds names and ids, no bodies and no
// credentials. A journal without a path keeps nothing.
type journal struct {
	path    string
	header  journalLine
	started func(path string)
	file    *os.File
	last    int
	open    map[int]openEntry // what is announced and not said to be created or gone
	places  map[place]bool    // where anything was announced
}

// A place is where the run's marker stands in what a run creates: an attribute of the objects of a collection.
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

// unsettled returns what was announced and of which nobody knows what became, in order.
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

// probe tells before anything is sent whether the journal can come into being.
func (j *journal) probe() error {
	if j.path == "" {
		return nil
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(j.path))
	}
	if err != nil {
		return &UsageError{Problem: fmt.Sprintf("the journal cannot be written, it must be a new file in a directory that is there: %v", err)}
	}
	return nil
}

func (j *journal) append(line journalLine) error {
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("conformance: the journal cannot be written: %w", err)
	}
	// One write per line: what the process has written survives its end.
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("conformance: the journal cannot be written: %w", err)
	}
	return nil
}

// close ends the journal and removes the file unless something is left behind. It returns the path of a file that stays.
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

// An openEntry is an object that a journal announces or lists and does not say to be gone.
type openEntry struct {
	entry           int
	collection      string
	attribute, name string // what it is to be found by
	id              string // what the request called it, "" when the target was to choose
	created         string // what the target calls it, "" when it has not said so
}

// readJournal returns the header of a journal, what is still open in it, and all places that it announces objects in. A last
// line that a crash cut short is ignored.
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
