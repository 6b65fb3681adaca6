package scimserver_test

import (
	"slices"
	"testing"
	"time"

	"github.com/scimwright/scimwright/internal/processor"
)

// contender is one of the functions that a benchmark compares.
type contender struct {
	name string
	run  func(b *testing.B)
}

// turnTime is the minimum duration of a contender's turn. A turn has at least one call.
const turnTime = 20 * time.Millisecond

// compete runs the contenders in turns, so that other load on the machine affects all equally, and compares each with the first. The metric
// "us" is the cost in microseconds, "growth" is that cost divided by the cost of the first, and "cpu-growth" is the same ratio for
// processor time only, without waiting for the disk. All are medians of all turns.
func compete(b *testing.B, all []contender) {
	costs, growth, cpuGrowth := make([][]float64, len(all)), make([][]float64, len(all)), make([][]float64, len(all))
	took, used := make([]float64, len(all)), make([]float64, len(all))
	for round := 0; b.Loop(); round++ {
		for k := range all {
			i := (round + k) % len(all) // another contender starts in each round
			n, started, busy := 0, time.Now(), processor.Used()
			for n == 0 || time.Since(started) < turnTime {
				all[i].run(b)
				n++
			}
			took[i], used[i] = time.Since(started).Seconds()/float64(n), (processor.Used()-busy).Seconds()/float64(n)
		}
		for i := range all {
			costs[i] = append(costs[i], took[i]*1e6)
			growth[i] = append(growth[i], took[i]/took[0])
			cpuGrowth[i] = append(cpuGrowth[i], used[i]/used[0])
		}
	}
	b.ReportMetric(0, "ns/op") // removes the default metric, which would combine all contenders
	for i, c := range all {
		b.ReportMetric(median(costs[i]), "us/"+c.name)
		if i > 0 {
			b.ReportMetric(median(growth[i]), "growth/"+c.name)
			b.ReportMetric(median(cpuGrowth[i]), "cpu-growth/"+c.name)
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
