package controllers

// The operator's permissions, from which config/rbac/role.yaml is generated.
// There are no wildcards. Secrets are read one by one and only to tell whether
// they exist and have changed; lists and watches of them ask for metadata only.
//
// +kubebuilder:rbac:groups=loom.beyond10x.dev,resources=loomagents,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=loom.beyond10x.dev,resources=loomagents/status,verbs=update
// +kubebuilder:rbac:groups=loom.beyond10x.dev,resources=loomagents/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs;cronjobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods;persistentvolumeclaims;secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
