package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A process is the id of a process on this machine. Its numbers come from /proc of Linux and do not include child processes.
type process int

// tick is the unit of times in /proc; see proc_pid_stat(5). USER_HZ is 100 on all platforms of Go.
const tick = time.Second / 100

// cpu returns the processor time that the process has used.
func (p process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

// parseStat returns the sum of utime and stime, which are the fields 14 and 15. The name of the program, field 2, is in parentheses and can
// contain spaces and parentheses.
func parseStat(stat string) (time.Duration, error) {
	const utime, stime = 14 - 3, 15 - 3 // positions after the name
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= stime {
		return 0, errors.New("the stat file has too few fields")
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	return time.Duration(user+system) * tick, err
}

// memory returns the resident memory of the process and its maximum, in bytes.
func (p process) memory() (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	if err != nil {
		return 0, 0, err
	}
	return statusBytes(string(status), "VmRSS"), statusBytes(string(status), "VmHWM"), nil
}

// statusBytes returns a size in a status file, or 0 if the file does not contain it.
func statusBytes(status, name string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kB, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kB << 10
		}
	}
	return 0
}
