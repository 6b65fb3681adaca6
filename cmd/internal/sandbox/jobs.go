package sandbox

import (
	"context"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/mgmtapi"
)

// managementJobs runs the jobs of the management API.
type managementJobs struct{ scheduler jobs.Scheduler }

var _ mgmtapi.Jobs = managementJobs{}

// Register implements mgmtapi.Jobs.
func (m managementJobs) Register(k mgmtapi.JobKind) error {
	return m.scheduler.Register(jobs.Kind{Name: k.Name, Every: k.Every, Long: k.Long, Work: func(ctx context.Context, j jobs.Job) error {
		again, err := k.Work(ctx, j.Key, j.Stopping)
		if err == nil && again > 0 {
			err = jobs.Snooze(again)
		}
		return err
	}})
}

// Insert implements mgmtapi.Jobs.
func (m managementJobs) Insert(ctx context.Context, kind, key string) error {
	return m.scheduler.Insert(ctx, kind, key, 0)
}
