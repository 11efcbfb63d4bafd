package lifecycle

// Command is one of the six commands of this package, passed by value. The
// interface is sealed: no other type is a command.
type Command interface{ command() }

// ApplyLoomAgent says that the resource exists in this generation.
type ApplyLoomAgent struct {
	Name       string
	Generation int64
}

// RecordCheck says what the spec check answered for this generation.
type RecordCheck struct {
	Name       string
	Generation int64
	ExitCode   int32
	Message    string
	Variant    Variant
}

// ObserveDeployment says whether the child Deployment is available.
type ObserveDeployment struct {
	Name         string
	Availability Availability
}

// ObserveRun says how far the child Job of a Command agent has come. End is
// read only when the phase is RunSucceeded or RunFailed.
type ObserveRun struct {
	Name  string
	Phase RunPhase
	End   RunEnd
}

// ObserveScheduledRun says how far one Job of a schedule has come. End is read
// only when the phase is RunSucceeded or RunFailed.
type ObserveScheduledRun struct {
	Name  string
	Phase RunPhase
	End   RunEnd
}

// DeleteLoomAgent says that the resource is gone.
type DeleteLoomAgent struct {
	Name string
}

func (ApplyLoomAgent) command()      {}
func (RecordCheck) command()         {}
func (ObserveDeployment) command()   {}
func (ObserveRun) command()          {}
func (ObserveScheduledRun) command() {}
func (DeleteLoomAgent) command()     {}

// The names the commands have in the table.
const (
	applyLoomAgent      = "ApplyLoomAgent"
	recordCheck         = "RecordCheck"
	observeDeployment   = "ObserveDeployment"
	observeRun          = "ObserveRun"
	observeScheduledRun = "ObserveScheduledRun"
	deleteLoomAgent     = "DeleteLoomAgent"
)

// input is any command in one shape, so that the rules of the table need no
// type of their own for each command.
type input struct {
	command      string
	name         string
	generation   int64
	check        Check
	variant      Variant
	availability Availability
	phase        RunPhase
	end          RunEnd
}

// inputOf returns the zero input for nil, for a pointer to a command and for a
// foreign type that embeds one: the table has no rule for those.
func inputOf(command Command) input {
	switch c := command.(type) {
	case ApplyLoomAgent:
		return input{command: applyLoomAgent, name: c.Name, generation: c.Generation}
	case RecordCheck:
		check := Check{ExitCode: c.ExitCode, Message: c.Message}
		return input{command: recordCheck, name: c.Name, generation: c.Generation, check: check, variant: c.Variant}
	case ObserveDeployment:
		return input{command: observeDeployment, name: c.Name, availability: c.Availability}
	case ObserveRun:
		return input{command: observeRun, name: c.Name, phase: c.Phase, end: c.End}
	case ObserveScheduledRun:
		return input{command: observeScheduledRun, name: c.Name, phase: c.Phase, end: c.End}
	case DeleteLoomAgent:
		return input{command: deleteLoomAgent, name: c.Name}
	default:
		return input{}
	}
}
