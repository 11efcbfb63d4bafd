package controllers_test

import (
	"github.com/beyond10x/loom-operator/apis/v1alpha1"
)

// demo is a small valid document.
func demo() *v1alpha1.AgentDocument {
	return v1alpha1.NewAgentDocument(`{"schema":"loom.agent/1","model":"default","instructions":"Say hello."}`)
}

func image(tag string) *v1alpha1.ImageRef {
	return &v1alpha1.ImageRef{Repository: "registry.test/agent", Tag: tag}
}

// serving is base object S of the cases.
func serving() v1alpha1.LoomAgentSpec {
	return v1alpha1.LoomAgentSpec{Agent: demo(), Image: image("1")}
}

// command is base object C of the cases.
func command() v1alpha1.LoomAgentSpec {
	spec := serving()
	spec.Command = &v1alpha1.CommandSpec{Entrypoint: []string{"/bin/sh"}, Args: []string{"-c", "exit 0"}}
	return spec
}

// scheduled is base object T of the cases. It starts no run while a test lasts,
// except on the last day of a February of 29 days.
func scheduled() v1alpha1.LoomAgentSpec {
	spec := serving()
	spec.Schedule = &v1alpha1.ScheduleSpec{Cron: "0 0 29 2 *", Input: &v1alpha1.ScheduleInput{Text: new("hi")}}
	return spec
}

// refused is a document that the check refuses.
func refused() v1alpha1.LoomAgentSpec { return v1alpha1.LoomAgentSpec{Image: image("1")} }

// variants are the three ways to run an agent.
func variants() map[string]func() v1alpha1.LoomAgentSpec {
	return map[string]func() v1alpha1.LoomAgentSpec{"serve": serving, "command": command, "schedule": scheduled}
}

// kinds are the kinds of their workloads.
var kinds = map[string]string{"serve": "Deployment", "command": "Job", "schedule": "CronJob"}
