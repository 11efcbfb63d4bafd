package stages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkStages reports everything wrong with the stages, or returns them in their order.
func checkStages[T client.Object](stages []*Stage[T]) ([]step[T], error) {
	var errs []error
	conditions := map[string]string{Ready: "the runtime"}
	nodes := make([]node, 0, len(stages))
	steps := map[string]step[T]{}
	for _, s := range stages {
		if owner, taken := conditions[s.Condition]; taken {
			errs = append(errs, fmt.Errorf("stage %q establishes %s, which is reserved for %s", s.Name, s.Condition, owner))
		}
		if problems := validation.IsQualifiedName(s.Condition); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("stage %q establishes %q, which is no condition type: %s", s.Name, s.Condition, strings.Join(problems, "; ")))
		}
		conditions[s.Condition] = fmt.Sprintf("stage %q", s.Name)
		run, err := s.compile()
		errs = append(errs, err)
		nodes = append(nodes, node{s.Name, s.Dependencies})
		steps[s.Name] = step[T]{name: s.Name, condition: s.Condition, run: run}
	}
	order, err := uniqueOrder("stage", nodes)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	sorted := make([]step[T], 0, len(order))
	for _, name := range order {
		sorted = append(sorted, steps[name])
	}
	return sorted, nil
}

func (s *Stage[T]) compile() (Handler[T], error) {
	switch {
	case s.Handler != nil && len(s.Cases) > 0:
		return nil, fmt.Errorf("stage %q has both a handler and cases", s.Name)
	case s.doubled:
		return nil, fmt.Errorf("stage %q has more than one handler", s.Name)
	case len(s.Cases) > 0:
		return compileCases(fmt.Sprintf("stage %q", s.Name), s.Cases)
	case s.Handler == nil:
		return nil, fmt.Errorf("stage %q has neither a handler nor cases", s.Name)
	}
	return s.Handler, nil
}

// checkCases reports everything wrong with the cases of owner, or returns them in their order without the otherwise.
func checkCases[T client.Object](owner string, cases []Case[T]) (branches []Case[T], fallback Handler[T], err error) {
	var errs []error
	var otherwises []string
	var nodes []node
	for _, c := range cases {
		if c.Do == nil {
			errs = append(errs, fmt.Errorf("case %q has no handler", c.Name))
		}
		if c.When == nil {
			otherwises, fallback = append(otherwises, c.Name), c.Do
			continue
		}
		nodes = append(nodes, node{c.Name, c.After})
	}
	if len(otherwises) != 1 {
		errs = append(errs, fmt.Errorf("exactly one otherwise is needed, found %q", otherwises))
	}
	order, err := uniqueOrder("case", nodes)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, nil, fmt.Errorf("cases of %s: %w", owner, err)
	}
	for _, name := range order {
		branches = append(branches, cases[slices.IndexFunc(cases, func(c Case[T]) bool { return c.Name == name })])
	}
	return branches, fallback, nil
}

type node struct {
	name  string
	after []string
}

// uniqueOrder sorts the nodes so that each comes after those it names. It refuses every graph that allows more than
// one order, so that the order of registration never matters.
func uniqueOrder(kind string, nodes []node) (order []string, err error) {
	var errs []error
	known := map[string]bool{"": true}
	for _, n := range nodes {
		if known[n.name] {
			errs = append(errs, fmt.Errorf("the %s name %q is empty or used twice", kind, n.name))
		}
		known[n.name] = true
	}
	for _, n := range nodes {
		for _, after := range n.after {
			if after == "" || !known[after] {
				errs = append(errs, fmt.Errorf("%s %q comes after %q, which does not exist", kind, n.name, after))
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for len(order) < len(nodes) {
		var ready, blocked []string
		for _, n := range nodes {
			switch placed := func(name string) bool { return slices.Contains(order, name) }; {
			case placed(n.name):
			case all(n.after, placed):
				ready = append(ready, n.name)
			default:
				blocked = append(blocked, n.name)
			}
		}
		switch slices.Sort(ready); len(ready) {
		case 0:
			return nil, fmt.Errorf("the order of the %ss has a cycle among %q", kind, slices.Sorted(slices.Values(blocked)))
		case 1:
			order = append(order, ready...)
		default:
			return nil, fmt.Errorf("the order of the %ss %q is open: say which one comes after the other", kind, ready)
		}
	}
	return order, nil
}

func all(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
}
