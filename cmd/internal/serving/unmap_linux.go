package serving

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// returnProgram removes the pages of the program file from the resident memory of the process. Linux maps a page again, from its page
// cache, when the process uses the page the next time: code and constants that only the start has used do not return. Pages that were
// written, such as those that the dynamic linker has relocated, remain. If /proc cannot be read, returnProgram has no effect.
func returnProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unwritten(text, program) {
		// An error, such as for pages that are locked in memory, leaves the pages as they are.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unwritten returns the mappings of a file in a text of the form of /proc/PID/smaps that are read-only and whose pages are those of the
// file.
func unwritten(smaps []byte, file string) (out []mapping) {
	var last *mapping // the mapping of the current line, if it is read-only
	lines := bufio.NewScanner(bytes.NewReader(smaps))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			last = nil
			_, path, _ := strings.Cut(lines.Text(), "/")
			if m, ok := parseRange(fields[0]); ok && strings.HasPrefix(fields[1], "r-") && "/"+path == file {
				last = &m
			}
		case last != nil && len(fields) == 3 && fields[0] == "Anonymous:":
			if fields[1] == "0" {
				out = append(out, *last)
			}
			last = nil
		}
	}
	return out
}

// parseRange parses a range of addresses in hexadecimal notation, such as "400000-452000".
func parseRange(text string) (m mapping, ok bool) {
	from, to, _ := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 16, strconv.IntSize)
	if err != nil {
		return m, false
	}
	end, err := strconv.ParseUint(to, 16, strconv.IntSize)
	return mapping{uintptr(first), uintptr(end)}, err == nil && first < end
}
