package check

import (
	_ "embed"
	"slices"
	"strings"
)

// zoneList holds the names in Go's embedded zone database, one a line, sorted.
// The API server has the same database. time.LoadLocation alone is no judge: it
// also takes what it finds in the zone folders of the machine, so that names
// such as posixrules or europe/berlin would be good on one and bad on another.
//
//go:embed zones.txt
var zoneList string

var zones = strings.Fields(zoneList)

const zoneField = "spec.schedule.timeZone"

// A zone is used as it is named or refused, and never replaced by a default
// (A15).
func timeZone(in Input) []Finding {
	spec := in.Agent.Spec.Schedule
	if spec == nil || spec.TimeZone == nil || knownZone(*spec.TimeZone) {
		return nil
	}
	name := *spec.TimeZone
	switch near, ok := nearZone(name); {
	case name == "":
		return []Finding{broken(zoneField, "The time zone is empty. Name one, such as Europe/Berlin, or leave out timeZone.")}
	case ok:
		return []Finding{broken(zoneField, "%s is not a time zone. Write %s.", quote(name), near)}
	}
	return []Finding{broken(zoneField, "%s is not a time zone of the IANA database. Use a name such as Europe/Berlin or Etc/UTC.", quote(name))}
}

func knownZone(name string) bool {
	_, found := slices.BinarySearch(zones, name)
	return found
}

// nearZone finds the zone that the user most likely meant.
func nearZone(name string) (string, bool) {
	trimmed := strings.ReplaceAll(strings.Trim(name, " /"), " ", "_")
	i := slices.IndexFunc(zones, func(zone string) bool { return strings.EqualFold(zone, trimmed) })
	if i < 0 {
		return "", false
	}
	return zones[i], true
}

// No input at all is allowed: the run then has no input file.
func scheduleInput(in Input) []Finding {
	spec := in.Agent.Spec.Schedule
	if spec == nil || spec.Input == nil || spec.Input.Text == nil || spec.Input.ConfigMapKeyRef == nil {
		return nil
	}
	return []Finding{broken("spec.schedule.input", "Both text and configMapKeyRef are given. Keep one of them.")}
}
