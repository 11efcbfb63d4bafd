package lifecycle

import "slices"

// Rule is one outcome of one command.
type Rule struct {
	Command string
	Outcome Outcome
	// Absent rules answer when no record carries the name, all others when one does.
	Absent bool
	// From lists the states the rule starts from. Nil is any state, also one
	// this version does not know.
	From []State
	// When says in words what else must hold; empty means nothing else.
	When string
	// Move and To name the move and where it ends. Both are empty when the
	// state stays; Move alone is empty when the record is created.
	Move string
	To   State
	// Sets lists every field the outcome writes, and thereby what its event carries.
	Sets []Setting
	// Removes says that no record exists afterwards.
	Removes bool
	// Event is empty when nothing happened.
	Event EventType
	// Error is the zero Failure when the command was answered.
	Error Failure
	// Reach says how a test reaches the outcome.
	Reach string

	guard func(*Record, input) bool
}

// Setting is one field an outcome writes, in words and in code.
type Setting struct {
	Field string
	Value string
	set   func(*Record, input)
}

// Failure is an error an outcome reports, in words and in code.
type Failure struct {
	Name    string
	Carries string
	fail    func(*Record, input) error
}

// Decide answers a command. The record is the one that carries the command's
// name, or nil; a record of another name is treated as nil.
//
// Decide is total: any record and any command get an answer. A state this
// version does not know allows nothing but a newer generation, which starts
// again from Pending, and deletion. On an error the decision still names the
// outcome and holds the unchanged record; the errors are [*NotFoundError],
// [*StaleGenerationError], [*StateConflictError] and [ErrUnknownCommand]. The
// arguments are never written to, and the answer shares no memory with them.
func Decide(record *Record, command Command) (Decision, error) {
	in := inputOf(command)
	if record != nil && record.Name != in.name {
		record = nil
	}
	for _, rule := range table {
		if rule.answers(record, in) {
			return rule.take(record, in)
		}
	}
	return Decision{Record: record.clone()}, ErrUnknownCommand
}

// answers reports whether the rule speaks of this record and command. The
// first rule of the table that does is the outcome.
func (r Rule) answers(record *Record, in input) bool {
	return r.Command == in.command &&
		r.Absent == (record == nil) &&
		(r.From == nil || slices.Contains(r.From, record.State)) &&
		(r.guard == nil || r.guard(record, in))
}

func (r Rule) take(record *Record, in input) (Decision, error) {
	decision := Decision{Outcome: r.Outcome, Record: record.clone()}
	if r.Error.fail != nil {
		return decision, r.Error.fail(record, in)
	}
	if r.Event != "" {
		decision.Events = []Event{r.event(in)}
	}
	if r.Removes {
		decision.Record = nil
		return decision, nil
	}
	if r.Absent {
		decision.Record = &Record{Name: in.name}
	}
	if r.To != "" {
		decision.Record.State = r.To
	}
	for _, setting := range r.Sets {
		setting.set(decision.Record, in)
	}
	return decision, nil
}

// event writes the settings into an empty record, so that the event carries
// them and nothing that was known before.
func (r Rule) event(in input) Event {
	var news Record
	for _, setting := range r.Sets {
		setting.set(&news, in)
	}
	return Event{
		Type:       r.Event,
		Name:       in.name,
		Generation: news.ObservedGeneration,
		Check:      news.Check,
		Deployment: news.Deployment,
		Variant:    news.Variant,
		Run:        news.Run,
		LastRun:    news.LastRun,
	}
}

// Move is one arrow of the state diagram.
type Move struct {
	Name     string
	From, To State
	// By lists the outcomes that take the move, as Command/outcome.
	By []string
}

// Moves lists every move there is, read off the table in its order. A change
// of state that is not among them does not exist.
func Moves() []Move {
	var moves []Move
	for _, rule := range table {
		if rule.Move == "" {
			continue
		}
		from := rule.From
		if from == nil {
			from = States()
		}
		by := rule.Command + "/" + string(rule.Outcome)
		for _, state := range from {
			moves = addMove(moves, Move{Name: rule.Move, From: state, To: rule.To, By: []string{by}})
		}
	}
	return moves
}

// addMove adds a move, or only its outcome when the move is there already.
func addMove(moves []Move, move Move) []Move {
	for i, known := range moves {
		if known.Name == move.Name && known.From == move.From && known.To == move.To {
			moves[i].By = append(known.By, move.By...)
			return moves
		}
	}
	return append(moves, move)
}
