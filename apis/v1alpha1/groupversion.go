package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of the LoomAgent.
	Group = "loom.beyond10x.dev"
	// Version is the served and stored version.
	Version = "v1alpha1"
	// Kind is the kind of the only resource in the group.
	Kind = "LoomAgent"
)

var (
	// GroupVersion identifies this version of the API.
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}
	// SchemeBuilder collects the functions that add this version to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds this version to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &LoomAgent{}, &LoomAgentList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
