package check

import (
	"time"
	_ "time/tzdata" // The released image has no zone files (A14).

	"github.com/robfig/cron/v3"

	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// NextRun tells when a schedule is due next after a time, in UTC. A schedule
// without a time zone is read in UTC, the zone of most controller managers.
// Whether the schedule is suspended is not looked at.
//
// It returns false when there is no schedule or the check would refuse it, and
// for @every: that one counts from its last run, which the text does not tell
// (A65).
func NextRun(schedule *v1alpha1.ScheduleSpec, after time.Time) (time.Time, bool) {
	dates, ok := cronSchedule(schedule).(*cron.SpecSchedule)
	if !ok || !fires(dates) {
		return time.Time{}, false
	}
	zone, ok := zoneOf(schedule)
	if !ok {
		return time.Time{}, false
	}
	next := dates.Next(after.In(zone))
	return next.UTC(), !next.IsZero()
}

func zoneOf(schedule *v1alpha1.ScheduleSpec) (*time.Location, bool) {
	if schedule.TimeZone == nil {
		return time.UTC, true
	}
	if !knownZone(*schedule.TimeZone) {
		return nil, false
	}
	zone, err := time.LoadLocation(*schedule.TimeZone)
	return zone, err == nil
}
