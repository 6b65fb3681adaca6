package control

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) fleetRoutes() []rest.Route {
	return []rest.Route{
		rest.Needs(
			all(a, "showFleet", "GET /engine/fleet", "Show the processes that share the engine's database, and the parts of their work", a.fleet),
			engine.AccessFleet,
		),
		rest.Needs(all(a, "listJobs", "GET /engine/jobs", "List jobs, such as imports, newest first", a.jobs), engine.AccessFleet),
	}
}

type fleetRequest struct{}

func (a *api) fleet(ctx context.Context, _ *fleetRequest) (client.Fleet, error) {
	found, err := a.o.Engine.Processes(ctx)
	if err != nil {
		return client.Fleet{}, err
	}
	f := client.Fleet{Processes: make([]client.Process, 0, len(found))}
	for _, p := range found {
		if p.State == engine.ProcessAlive {
			f.Alive++
			f.Running += p.Running
			f.Shared = f.Shared || !p.Until.IsZero()
		}
		f.Lanes += p.Lanes
		f.InFlight += p.InFlight
	}
	for _, p := range found {
		shown := client.Process{
			ID: p.ID, Name: p.Name, State: p.State, Started: p.Started, Age: seconds(p.Now.Sub(p.Started)), Lanes: p.Lanes, Running: p.Running,
			InFlight: p.InFlight, Takeovers: p.Takeovers, Rechecks: p.Rechecks,
		}
		if !p.Until.IsZero() {
			shown.Seen, shown.Heartbeat = p.Seen, seconds(p.Now.Sub(p.Seen))
		}
		if p.State == engine.ProcessAlive && f.Running > 0 {
			shown.Share = p.Running / f.Running
		}
		f.Processes = append(f.Processes, shown)
	}
	return f, nil
}

// seconds returns a duration between two times of a database in seconds. The clock of the database may have been set back.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }

type jobsRequest struct {
	Kind  string     `query:"kind" doc:"only jobs of this kind"`
	State jobs.State `query:"state" enum:"waiting,running,finished,failed" doc:"default: all but finished"`
	Limit int        `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"of each state"`
}

func (a *api) jobs(ctx context.Context, r *jobsRequest) ([]client.Job, error) {
	states := []jobs.State{jobs.Running, jobs.Waiting, jobs.Failed}
	if r.State != "" {
		states = []jobs.State{r.State}
	}
	shown := []client.Job{}
	for _, state := range states {
		found, err := a.o.Engine.Jobs(ctx, jobs.Query{Kind: r.Kind, State: state, Limit: r.Limit})
		if err != nil {
			return nil, err
		}
		if state == jobs.Waiting {
			slices.SortStableFunc(found, func(x, y jobs.Info) int { return x.At.Compare(y.At) })
		}
		for _, j := range found {
			shown = append(shown, client.Job{Kind: j.Kind, Key: j.Key, State: string(j.State), Attempt: j.Attempt, At: j.At, Error: j.Error})
		}
	}
	return shown, nil
}

var fleetWords = rest.Words{
	reflect.TypeFor[client.Fleet](): {Served: true, Members: map[string]reflect.StructTag{
		"shared":    `doc:"whether several processes can share the database; false: it belongs to one process"`,
		"alive":     `doc:"number of processes that are alive"`,
		"lanes":     `doc:"number of leased lanes"`,
		"running":   `doc:"mean number of running lanes of the processes that are alive, before their last heartbeats"`,
		"inFlight":  `doc:"number of principals that are being processed"`,
		"processes": `doc:"the processes by their start, including those that ended within the last minute"`,
	}},
	reflect.TypeFor[client.Process](): {Served: true, Members: map[string]reflect.StructTag{
		"id":   `doc:"id of this incarnation: an engine that continues after its death has a new one"`,
		"name": `doc:"name of the engine"`,
		"state": `enum:"alive,dead,taken,left" doc:"dead: no heartbeat in time, and it still has lanes; taken: dead, and other processes have ` +
			`taken over all its lanes; left: stopped, or replaced by an engine with the same name"`,
		"started":          `doc:"start, by the clock of the database"`,
		"ageSeconds":       `doc:"time since the start"`,
		"seen":             `doc:"last heartbeat, by the clock of the database; absent if the database belongs to one process"`,
		"heartbeatSeconds": `doc:"time since the last heartbeat; 0 if the database belongs to one process"`,
		"lanes":            `doc:"number of leased lanes"`,
		"running":          `doc:"mean number of running lanes in the time between the last two heartbeats"`,
		"share":            `doc:"part of the running lanes of all processes that are alive, between 0 and 1"`,
		"inFlight":         `doc:"number of principals that were being processed at the last heartbeat"`,
		"takeovers":        `doc:"number of lanes that this process has taken over from dead ones"`,
		"rechecks":         `doc:"number of principals that this process has requeued because they were in flight when their process died"`,
	}},
	reflect.TypeFor[client.Job](): {Served: true, Members: map[string]reflect.StructTag{
		"kind":    `doc:"kind of the job, such as engine.import"`,
		"key":     `doc:"what the job is for; absent for periodic jobs"`,
		"state":   `enum:"waiting,running,finished,failed"`,
		"attempt": `doc:"number of the last attempt"`,
		"at":      `doc:"start of the running or the next attempt, or end of the job"`,
		"error":   `doc:"error of the last attempt that failed"`,
	}},
}
